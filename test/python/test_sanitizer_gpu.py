# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compute-sanitizer finds nothing in a call of each kind of kernel: memory out of bounds, races in shared memory."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("tenon", reason="the package compiles the layers")
from tenon_graphs import fp32
from tenon_graphs.batch_norm import RESIDENT, TWO_PHASE, compile_norms, norm_graph
from tenon_graphs.devices import require_hopper
from tenon_graphs.execute import TENON_RUN
from tenon_graphs.modules import compiled_module, has_statistics, modules
from tenon_graphs.tiled import compile_tiled, operand_graph
from tenon_graphs.wgmma import SCHEDULES, compile_wgmma

pytestmark = pytest.mark.gpu
SANITIZER = shutil.which("compute-sanitizer")
# What each tool says in the end where it found nothing.
TOOLS = {"memcheck": "ERROR SUMMARY: 0 errors", "racecheck": "RACECHECK SUMMARY: 0 hazards"}
LIMIT_S = 60
MMA_SYNC = "mma_sync,tile=64x64x{k},warps=2x2,stages=3,swizzle=128,raster=8,blocks=1,stream_k=true"
# Kind, N, K, M, schedule: its text, or the name of one of family wgmma or of f32.
TILED = {
    "aligned": ("bf16", 136, 200, 100, ""),
    "ragged": ("f16", 201, 100, 67, ""),
    "unaligned": ("bf16", 65, 33, 70, ""),
    "stream_k": ("f16", 128, 1032, 65, MMA_SYNC.format(k=64)),
    "one_row": ("tf32", 72, 136, 1, ""),
    "tf32_stream_k": ("tf32", 128, 520, 40, MMA_SYNC.format(k=32)),
    "wgmma": ("bf16", 264, 200, 100, "wgmma_128x256"),
    "wgmma_stream_k": ("f16", 136, 1032, 65, "wgmma_64x64_stream_k"),
    "wgmma_ping_pong": ("bf16", 520, 136, 129, "wgmma_64x256_ping_pong_stream_k"),
    "wgmma_clusters": ("tf32", 257, 264, 150, "wgmma_128x256_2x1_stream_k"),
    "fp32": ("fp32", 136, 131, 70, "mma_sync_128x128"),
    "fp32_stream_k": ("fp32", 72, 520, 65, "mma_sync_128x64_stream_k"),
    "fp32_fma": ("fp32", 72, 131, 70, "fma_64x64"),
    "wgmma_fp32": ("fp32", 257, 200, 150, "wgmma_128x168_stream_k"),
    "wgmma_fp32_clusters": ("fp32", 400, 520, 130, "wgmma_128x192_2x1"),
    "wgmma_fp16": ("tf32", 257, 200, 150, "wgmma_fp16_128x256_stream_k"),
}

# Batch norm with the product: reduction, schedule, N, K, M; of a resident one the compiler knows M.
BATCH_NORM = {
    "wgmma_two_phase": (TWO_PHASE, "wgmma_bf16_128x256_2x1", 264, 72, 150),
    "wgmma_two_phase_stream_k": (TWO_PHASE, "wgmma_tf32_64x256_ping_pong_stream_k", 136, 1032, 67),
    "wgmma_two_phase_fp32": (TWO_PHASE, "wgmma_fp32_128x168_stream_k", 260, 131, 130),
    "two_phase": (TWO_PHASE, "mma_sync_bf16_16x128", 137, 72, 70),
    "two_phase_fp32": (TWO_PHASE, "mma_sync_fp32_128x64_stream_k", 65, 131, 130),
    "wgmma_resident": (RESIDENT, "wgmma_bf16_128x256_2x1", 264, 136, 300),
    "wgmma_resident_tf32": (RESIDENT, "wgmma_tf32_128x128", 1028, 72, 129),
    "resident": (RESIDENT, "mma_sync_bf16_128x256", 264, 136, 300),
    "resident_fp32": (RESIDENT, "mma_sync_fp32_128x128", 137, 72, 129),
}


@pytest.fixture(scope="module")
def sanitizer():
    """Give the command."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    if not SANITIZER:
        pytest.skip("compute-sanitizer is not on the PATH: memory accesses were not checked")
    return SANITIZER


def sanitize(sanitizer, tool, library, name, dims):
    """Run a function under a tool; fail where that reports anything or takes too long."""
    command = [sanitizer, "--tool", tool, "--error-exitcode", "1"]
    if tool == "memcheck":
        # The runtime tells errors of CUDA's calls itself, and asks for a global that only models with split rows have.
        command += ["--report-api-errors", "no"]
    command += [TENON_RUN, library, "--target=cuda"]
    command += ["--function", name, *(word for dim in dims for word in ("--dim", dim))]
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    text = done.stdout + done.stderr
    if "Device not supported" in text:  # by some virtual machines
        pytest.skip("compute-sanitizer does not support this machine's GPU: memory accesses were not checked")
    assert done.returncode == 0 and TOOLS[tool] in text, text[-6000:]


def compile_case(name, folder):
    """Compile a layer with operands of every shape; return the shared object and the function's name."""
    kind, n, k, _, schedule = TILED[name]
    graph = operand_graph(kind, "f32", "f16", n, k)
    if schedule in fp32.SCHEDULES:
        fp32.compile_fp32([graph], folder / name, "cpu", schedule)
    elif schedule in SCHEDULES:
        compile_wgmma([graph], folder / name, "cpu", kind, schedule)
    else:
        compiled = compile_tiled([graph], folder / name, "cpu", schedule)
        assert (compiled.tiled, compiled.library) == (1, 0)
    return folder / f"{name}.so", graph.name


@pytest.fixture(scope="module")
def tiled(sanitizer, tmp_path_factory):
    """Give all models, compiled at once."""
    folder = tmp_path_factory.mktemp("sanitizer")
    with ThreadPoolExecutor(len(TILED)) as pool:
        made = pool.map(lambda name: compile_case(name, folder), TILED)
        return dict(zip(TILED, made, strict=True))


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("case", list(TILED))
def test_tiled_kernels(sanitizer, tiled, case, tool):
    if TILED[case][4].startswith("wgmma_"):
        require_hopper()
    library, name = tiled[case]
    sanitize(sanitizer, tool, library, name, [f"m={TILED[case][3]}"])


def batch_norm_graph(name):
    """Return a layer with everything around batch norm, and its schedule."""
    schedules, schedule, n, k, m = BATCH_NORM[name]
    return norm_graph(schedules[schedule].kind, "bsaprAR", n, k, m if schedules is RESIDENT else None), schedules[
        schedule
    ]


@pytest.fixture(scope="module")
def batch_norms(sanitizer, tmp_path_factory):
    """Give all of these models, compiled at once."""
    folder = tmp_path_factory.mktemp("batch_norm")

    def compile_one(name):
        graph, schedule = batch_norm_graph(name)
        compile_norms([graph], folder / name, "cpu", schedule)
        return folder / f"{name}-{graph.name}.so", graph

    with ThreadPoolExecutor(len(BATCH_NORM)) as pool:
        return dict(zip(BATCH_NORM, pool.map(compile_one, BATCH_NORM), strict=True))


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("case", list(BATCH_NORM))
def test_batch_norm(sanitizer, batch_norms, case, tool):
    if case.startswith("wgmma_"):
        require_hopper()
    library, graph = batch_norms[case]
    sanitize(sanitizer, tool, library, graph.name, [f"m={BATCH_NORM[case][-1]}"] if graph.dynamic else [])


def other_graphs():
    """Return random graphs for each tool, by name: with statistics, whose kernels share memory, and of each type.

    Of static shapes: tenon-run then knows every extent. The tiled models above have a dynamic one.
    """
    graphs = [g for g in modules()["graphs0"] if not g.dynamic]
    reducing = [g for g in graphs if has_statistics(g)][:3]
    rest = [g for g in graphs if g not in reducing]
    others = [next(g for g in rest if g.inputs[0].dtype == dtype) for dtype in ("f32", "f16", "bf16", "f64")]
    return [("memcheck", g) for g in reducing + others] + [("racecheck", g) for g in reducing]


@pytest.fixture(scope="module")
def random_model(sanitizer, tmp_path_factory):
    return compiled_module("graphs0", "cuda", tmp_path_factory.mktemp("graphs0"))[1]


@pytest.mark.parametrize(("tool", "graph"), [pytest.param(t, g, id=f"{t}-{g.name}") for t, g in other_graphs()])
def test_other_kernels(sanitizer, random_model, tool, graph):
    sanitize(sanitizer, tool, random_model, graph.name, [])
