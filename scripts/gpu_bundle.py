#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make build/gpu-bundle: all that the GPU tests and benchmarks need on a machine without a build.

Holds models compiled for sm_80 and sm_90a (random graphs, the examples), the
runtime, tenon-run, the wheel that `make wheel` put into dist, the tests and the benchmarks' scripts
and configurations, laid out as in a checkout. The machine needs Python 3.11 or later with torch,
numpy and pytest, and for the wheel, which compiles the tests of tiled kernels there, CUDA's ptxas
and fatbinary; with compute-sanitizer, memory accesses are checked. There, run.sh runs the tests,
bench.sh runs tenon-bench, bench_fp32.sh all that is measured of products of f32, and bench_torch.sh
measures PyTorch models. To carry fewer files, models
may be an archive instead: tar czf models.tgz models && rm -rf models.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "test/python"))
from tenon_graphs.execute import TENON_COMPILE, tool  # noqa: E402
from tenon_graphs.modules import GPU_TARGETS, compile_modules  # noqa: E402

LIMIT_MIB = 60
PATTERNS = [
    "pyproject.toml",
    "benchmarks/*.py",
    "benchmarks/configs/*.json",
    "benchmarks/peers/*.py",
    "benchmarks/whole_models/*.py",
    "docs/Precision.md",
    "examples/*.py",
    "test/python/*.py",
    "test/python/fuzz/*.py",
    "test/python/ptx_emulator/*.py",
    "test/python/tenon_graphs/*.py",
    "test/python/torch_models/*.py",
]
# Examples whose float64 reference takes no more than seconds on a CPU, with the extents they leave open.
SMALL_EXAMPLES = {
    "dynamic_batch": " --dim m=100",
    "inference_batch_norm": " --dim m=100",
    "multi_use": "",
    "residual": "",
    "two_linears": "",
}

RUN = """\
#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the GPU tests of this bundle. Exits 1 if one failed.
#
#   run.sh                                      everything
#   run.sh -k wgmma                             tests by name
#   run.sh test/python/test_tiled_values_gpu.py -s
#
# Arguments go to pytest, and nothing but pytest runs then.

set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
export TENON_BUILD=$PWD TENON_GPU_MODELS=$PWD/models PYTHONDONTWRITEBYTECODE=1
{install}
failed=0

tests() {{ # seconds pytest-argument...
  local seconds=$1 begun=$SECONDS status
  shift
  timeout --kill-after=10 "$seconds" python3 -m pytest -q -p no:cacheprovider -m gpu "$@"
  status=$?
  [[ $status == 124 || $status == 137 ]] && echo "FAILED: not done after $seconds s"
  echo "$((SECONDS - begun)) s: pytest $*"
  [[ $status == 0 || $status == 5 ]] # 5: no test was selected
}}

if [ $# -gt 0 ]; then
  tests 570 "$@"
  exit
fi

# In processes of their own: after a bad access or a deadlock nothing else runs in that process. Most of their
# time goes into compilation, so they run at once; but some files need the GPU to themselves.
alone=(test/python/test_{{tiled_stream_k,wgmma_chain,batch_norm_resident}}_gpu.py)
own=(test/python/test_{{tiled,wgmma,split,fp32,batch_norm}}_*gpu.py test/python/test_sanitizer_gpu.py)
families=("not wgmma" wgmma)
started=()
for file in "${{own[@]}}"; do
  [[ " ${{alone[*]}} " == *" $file "* ]] && continue
  for family in "${{families[@]}}"; do
    tests 180 "$file" -k "$family" > "$site/$(basename "$file") $family.log" 2>&1 &
    started+=($!)
  done
done
for process in "${{started[@]}}"; do
  wait "$process" || failed=1
done
cat "$site"/*.log
for file in "${{alone[@]}}"; do
  for family in "${{families[@]}}"; do
    tests 120 "$file" -k "$family" || failed=1
  done
done
tests 240 test/python "${{own[@]/#/--ignore=}}" || failed=1

for call in {examples}; do # unquoted: a name and perhaps an option
  if ! bin/tenon-run examples/$call --target=cuda --check > /tmp/gpu-bundle.log 2>&1; then
    failed=1
    echo "FAILED: tenon-run examples/$call"
    tail -40 /tmp/gpu-bundle.log
  fi
done
exit $failed
"""

# Behind the bundle's folder, so that no test or benchmark finds the package elsewhere.
INSTALL = """\
[[ ! -e $here/models.tgz || -d $here/models ]] || tar xzf "$here/models.tgz" -C "$here" || exit
site=$(mktemp -d) || exit
trap 'rm -rf "$site"' EXIT
python3 -m pip install -q --no-index --no-deps --target="$site" "$here"/dist/*.whl || exit
export PYTHONPATH=$site PATH=$site/bin:$PATH TENON_CACHE_DIR=$site/cache
python3 -c "import torch._dynamo; torch._dynamo.lookup_backend('tenon')" || exit # its entry point"""

BENCH = """\
#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the wheel and runs tenon-bench: bench.sh benchmarks/configs/sm80.json -o RESULTS.json --table

set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
{install}
python3 -m tenon.bench "$@"
"""

BENCH_FP32 = """\
#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the wheel and measures products of f32: bench_fp32.sh RESULTS_DIR [STEP...]. Steps, all of them by
# default: precision fp32 fp32_schedules fp32_compile.

set -uo pipefail
results=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- precision fp32 fp32_schedules fp32_compile
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
{install}
for step in "$@"; do
  begun=$SECONDS
  case $step in
    precision) python3 benchmarks/bench_precision.py "$results/precision.json" ;;
    *) python3 -m tenon.bench "benchmarks/configs/$step.json" -o "$results/$step.json" --table ;;
  esac
  echo "$((SECONDS - begun)) s: $step"
done
"""

BENCH_TORCH = """\
#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the wheel and measures whole models: bench_torch.sh RESULTS_DIR [BUDGET_S]

set -uo pipefail
results=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
{install}
set -x
python3 benchmarks/bench_whole_models.py --workers 8 --budget-seconds "${{2:-540}}" \\
  --output "$results/whole_models.json"
"""


def copy_files(bundle: Path, build: Path) -> None:
    """Copy what needs no compilation; exit where there is not one wheel."""
    wheels = sorted((SOURCE / "dist").glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"gpu_bundle.py: error: expected one wheel in dist, but found {len(wheels)}; run 'make wheel'")
    for path in [*(path for pattern in PATTERNS for path in SOURCE.glob(pattern)), *wheels]:
        target = bundle / path.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for name in ("lib/libtenon_runtime.so.0", "bin/tenon-run"):
        (bundle / name).parent.mkdir(exist_ok=True)
        shutil.copy(build / name, bundle / name)


def write_script(path: Path, text: str) -> None:
    """Write a shell script."""
    path.write_text(text)
    path.chmod(0o755)


def write_scripts(bundle: Path) -> None:
    """Write what is run there."""
    examples = " ".join(f'"{name}.so{dims}"' for name, dims in SMALL_EXAMPLES.items())
    write_script(bundle / "run.sh", RUN.format(install=INSTALL, examples=examples))
    write_script(bundle / "bench.sh", BENCH.format(install=INSTALL))
    write_script(bundle / "bench_fp32.sh", BENCH_FP32.format(install=INSTALL))
    write_script(bundle / "bench_torch.sh", BENCH_TORCH.format(install=INSTALL))


def compile_models(bundle: Path) -> None:
    """Compile the random graphs and the examples."""
    compile_modules(bundle / "models", GPU_TARGETS)
    (bundle / "examples").mkdir(exist_ok=True)
    for source in sorted((SOURCE / "examples").glob("*.mlir")):
        flags = ["--reference"] if source.stem in SMALL_EXAMPLES else []
        tool(TENON_COMPILE, source, GPU_TARGETS, *flags, "-o", bundle / "examples" / f"{source.stem}.so")


def main() -> int:
    """Make the bundle anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=SOURCE / "build", help="build folder")
    build = parser.parse_args().build.resolve()
    bundle = build / "gpu-bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    copy_files(bundle, build)
    compile_models(bundle)
    write_scripts(bundle)
    size = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file()) / 2**20
    subprocess.run(["du", "-sh", *sorted(bundle.iterdir())], check=False)
    print(f"{bundle}: {size:.1f} MiB; there: ./run.sh, and for the benchmarks:")
    print("  ./bench.sh benchmarks/configs/sm80.json -o results.json --table")
    print("  ./bench_fp32.sh RESULTS_DIR [STEP...]")
    print("  ./bench_torch.sh RESULTS_DIR")
    if size > LIMIT_MIB:
        print(f"gpu_bundle.py: error: larger than {LIMIT_MIB} MiB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
