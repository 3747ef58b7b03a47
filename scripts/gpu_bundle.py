#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make build/gpu-bundle: all that the GPU tests and benchmarks need on a machine without a compiler.

Holds models compiled for sm_80 and sm_90a (random graphs, the examples, the benchmark's), the
runtime, tenon-run, the tests and the benchmarks' scripts, laid out as in a checkout. The machine
needs Python 3.11 or later with torch, numpy and pytest. run.sh there runs the tests.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "test/python"))
from tenon_graphs.execute import TENON_COMPILE, tool  # noqa: E402
from tenon_graphs.graph import Graph  # noqa: E402
from tenon_graphs.modules import GPU_TARGETS, compile_modules, has_statistics, modules  # noqa: E402

LIMIT_MIB = 50
FILES = [
    "pyproject.toml",
    "benchmarks/bench_gpu.py",
    "benchmarks/tenon_model.py",
    "test/python/conftest.py",
    "test/python/test_calls.py",
    "test/python/test_gpu.py",
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
# Runs the GPU tests of this bundle; arguments go to pytest. Exits 1 if one failed.

set -uo pipefail
cd "$(dirname "$0")"
export TENON_BUILD=$PWD TENON_GPU_MODELS=$PWD/models PYTHONDONTWRITEBYTECODE=1
failed=0

try() {{ # command...
  "$@" > /tmp/gpu-bundle.log 2>&1 && return
  failed=1
  echo "FAILED: $*"
  tail -40 /tmp/gpu-bundle.log
}}

python3 -m pytest -q -p no:cacheprovider -m gpu test/python "$@" || failed=1
for call in {examples}; do # unquoted: a name and perhaps an option
  try bin/tenon-run examples/$call --target=cuda --check
done
if command -v compute-sanitizer > /dev/null; then
  for call in {functions}; do
    try compute-sanitizer --tool memcheck --error-exitcode 1 \\
      bin/tenon-run models/graphs0.so --target=cuda --function $call
  done
  for call in {reducing}; do
    try compute-sanitizer --tool racecheck --error-exitcode 1 \\
      bin/tenon-run models/graphs0.so --target=cuda --function $call
  done
else
  echo "compute-sanitizer is not on the PATH: memory accesses were not checked"
fi
exit $failed
"""


def copy_files(bundle: Path, build: Path) -> None:
    """Copy what needs no compilation."""
    for name in FILES:
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, bundle / name)
    shutil.copytree(
        SOURCE / "test/python/tenon_graphs",
        bundle / "test/python/tenon_graphs",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("lib/libtenon_runtime.so.0", "bin/tenon-run"):
        (bundle / name).parent.mkdir(exist_ok=True)
        shutil.copy(build / name, bundle / name)


def quoted_calls(graphs: list[Graph]) -> str:
    """Spell tenon-run's arguments for functions, at sizes where blocks have a remainder."""

    def arguments(graph: Graph) -> str:
        names = ["m", "m1"][: len(graph.extents)] if graph.dynamic else []  # the manifest's names
        return " ".join([graph.name, *(f"--dim {name}=130" for name in names)])

    return " ".join(f'"{arguments(graph)}"' for graph in graphs)


def write_run(bundle: Path) -> None:
    """Write run.sh, which sanitizes a call of each kind of graph."""
    graphs = modules()["graphs0"]
    reducing = [g for g in graphs if has_statistics(g)][:3]
    rest = [g for g in graphs if g not in reducing]
    others = [next(g for g in rest if g.inputs[0].dtype == dtype) for dtype in ("f32", "f16", "bf16", "f64")]
    script = bundle / "run.sh"
    script.write_text(
        RUN.format(
            examples=" ".join(f'"{name}.so{dims}"' for name, dims in SMALL_EXAMPLES.items()),
            functions=quoted_calls([*reducing, *others]),
            reducing=quoted_calls(reducing),
        )
    )
    script.chmod(0o755)


def compile_models(bundle: Path, build: Path) -> None:
    """Compile the random graphs, the examples and the benchmark's models."""
    compile_modules(bundle / "models", GPU_TARGETS)
    (bundle / "examples").mkdir()
    for source in sorted((SOURCE / "examples").glob("*.mlir")):
        flags = ["--reference"] if source.stem in SMALL_EXAMPLES else []
        tool(TENON_COMPILE, source, GPU_TARGETS, *flags, "-o", bundle / "examples" / f"{source.stem}.so")
    script = SOURCE / "benchmarks/compile_models.py"
    tool(sys.executable, script, bundle / "bench", "--build", build, "--targets", "sm_80,sm_90a")


def main() -> int:
    """Make the bundle anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=SOURCE / "build", help="build folder")
    build = parser.parse_args().build.resolve()
    bundle = build / "gpu-bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    copy_files(bundle, build)
    compile_models(bundle, build)
    write_run(bundle)
    size = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file()) / 2**20
    subprocess.run(["du", "-sh", *sorted(bundle.iterdir())], check=False)
    print(f"{bundle}: {size:.1f} MiB; there: ./run.sh, and for the benchmarks:")
    print("  python3 benchmarks/bench_gpu.py bench lib/libtenon_runtime.so.0 results.json")
    if size > LIMIT_MIB:
        print(f"gpu_bundle.py: error: larger than {LIMIT_MIB} MiB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
