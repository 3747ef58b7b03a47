#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shows what Tenon does with the models it was made for. usage: demo.sh BUILD_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(realpath "${1:-build}")/bin out=$(realpath "${1:-build}")/demo
mkdir -p "$out"

heading() { printf '\n\033[1m%s\033[0m\n\n' "$*" | { [[ -t 1 ]] && cat || sed 's/\x1b\[[0-9;]*m//g'; }; }
# The lines of the example's comment that are PyTorch.
pytorch() { sed -n '/^\/\/ In PyTorch/,/^\/\/$/s/^\/\/   //p' "$1"; }
body() { sed -n '/^func.func/,$p' "$1"; }
show() { printf '$ %s\n' "$*"; }

models=(linear_leaky_relu linear_scale_batch_norm_1024 linear_scale_batch_norm_16384)
shown=${models[0]}

heading "1. A model: Linear, x 2, LeakyReLU, in PyTorch and in MLIR (examples/$shown.mlir)"
pytorch "examples/$shown.mlir"
echo
body "examples/$shown.mlir"

heading "2. The same after fusion: one op, and the ops that followed are in its region"
show "tenon-compile examples/$shown.mlir --stop-after=fuse"
"$bin/tenon-compile" "examples/$shown.mlir" --stop-after=fuse

heading "3. What fusion saves: bytes of intermediate results that are neither written nor read"
for model in "${models[@]}"; do
  "$bin/tenon-compile" "examples/$model.mlir" --stop-after=fuse -o /dev/null \
    --remarks-filter-passed='tenon-fuse-epilogue' 2>&1 |
    awk -v model="$model" '
      match($0, /\[Passed\] [A-Za-z]+/) { fused++ }
      match($0, /BytesSaved=[0-9]+/) { bytes += substr($0, RSTART + 11, RLENGTH - 11) }
      END { printf "  %-32s %d ops fused, %.0f MB of traffic saved a call\n", model, fused, bytes / 1e6 }'
done

heading "4. GPU binaries for sm_80 and sm_90a, and the kernels in them"
for model in "${models[@]}"; do
  start=$(date +%s.%N)
  "$bin/tenon-compile" "examples/$model.mlir" --target=sm_80,sm_90a -o "$out/lib$model.so"
  printf '  lib%s.so: %s bytes, compiled in %.2f s\n' "$model" \
    "$(stat -c %s "$out/lib$model.so")" "$(awk "BEGIN { print $(date +%s.%N) - $start }")"
  "$bin/tenon-run" "$out/lib$model.so" --manifest | sed -n 's/^/    /; /GPU code\|kernel/p'
done
echo
printf '  %s\n' "tiled: product and epilogue; guard: tiles of rows that a split does not hold, once more; split: f32 as f16 halves" \
  "combine, map: what is left of a batch norm, or of an epilogue, column by column and element by element" \
  "_v4: 16-byte vectors; _v1: single elements, for unaligned pointers; one of the two runs a call"

heading "5. The first model on this machine's CPU, checked against float64"
show "tenon-run examples/$shown.mlir --target=cpu --check --time=3"
"$bin/tenon-run" "examples/$shown.mlir" --target=cpu --check --time=3

heading "6. A transformer in an ONNX file, imported, and compared with onnxruntime (examples/import_onnx.py)"
PYTHONPATH="${bin%/bin}/python" .deps/venv/bin/python examples/import_onnx.py 2> "$out/import_onnx.log" ||
  { cat "$out/import_onnx.log" >&2; exit 1; }

heading "Done. The models and their C headers are in ${out#"$PWD"/}. Next:"
printf '  %s\n' "docs/UserGuide.md: compile and call a model of yours, see why something was not fused" \
  "${bin#"$PWD"/}/tenon-run ${out#"$PWD"/}/lib$shown.so --time=3: run one of the models; --help has more"
