# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm over two GPUs, by NCCL, beside one process in float64 and beside torch.nn.SyncBatchNorm; times printed."""

import datetime
import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
import torch.distributed as dist  # noqa: E402
from sync_batch_norm_cases import CASES, build, draw, expected, rows_of, run, statistics  # noqa: E402
from tenon.torch import SyncBatchNorm  # noqa: E402
from torch import nn  # noqa: E402

WORLD = 2
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < WORLD, reason="it takes two GPUs"),
]
MODES = ("eager", "compiled", "of_torch", "of_torch_compiled")
BOTH = [case for case in CASES if len(case.rows) == WORLD]
TOLERANCE = {torch.float32: (2e-5, 2e-6), torch.bfloat16: (5e-2, 1e-2), torch.float64: (1e-12, 1e-13)}
SIZES = [(16384, 4096, 4096), (1024, 4096, 4096)]  # M of each GPU, N, K


def run_of_torch(case, rank, compiled):
    """Return what torch.nn.SyncBatchNorm computes, alone or in a model that Tenon compiles."""
    model = nn.SyncBatchNorm.convert_sync_batchnorm(build(case)).cuda()
    function = torch.compile(model, backend="tenon") if compiled else model
    with torch.no_grad():
        results = [function(draw(case, step)[rows_of(case, rank)].cuda()).cpu() for step in range(case.steps)]
    torch.compiler.reset()
    return results, statistics(model)


def measure(function, x, repeats=30):
    """Return the milliseconds of a call, the median, with both GPUs at work."""
    for _ in range(5):
        function(x)
    times = []
    for _ in range(repeats):
        dist.barrier()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(2_000_000)  # the host gets ahead
        start.record()
        function(x)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[repeats // 2]


def time_all(m, n, k):
    """Return the times of a linear layer with batch norm over both GPUs and GELU, in bf16."""
    torch.manual_seed(0)

    def model(convert):
        layers = nn.Sequential(nn.Linear(k, n, bias=False), nn.BatchNorm1d(n), nn.GELU())
        return convert(layers).requires_grad_(False).to("cuda", torch.bfloat16).train()

    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    own, torchs = SyncBatchNorm.convert_sync_batchnorm, nn.SyncBatchNorm.convert_sync_batchnorm
    functions = {
        "torch.nn.SyncBatchNorm": model(torchs),
        "torch.nn.SyncBatchNorm, torch.compile": torch.compile(model(torchs)),
        "tenon.torch.SyncBatchNorm, eager": model(own),
        "tenon.torch.SyncBatchNorm, torch.compile": torch.compile(model(own)),
        "tenon.torch.SyncBatchNorm, tenon": torch.compile(model(own), backend="tenon"),
        "tenon.torch.SyncBatchNorm, tenon, two_phase": torch.compile(
            model(own), backend="tenon", options={"strategy": "tiled", "reduction": "two_phase"}
        ),
    }
    times = {}
    with torch.no_grad():
        for name, function in functions.items():
            try:
                times[name] = measure(function, x)
            except Exception as error:
                if "tenon" in name.rpartition(", ")[2] or "two_phase" in name:
                    raise
                times[name] = f"{type(error).__name__}: {str(error)[:200]}"
    torch.compiler.reset()
    return times


def _work(rank, folder):
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=WORLD,
        timeout=datetime.timedelta(seconds=120),
    )
    found = {}
    for case in BOTH:
        found[str(case), "eager"] = run(case, rank, False, "cuda")
        found[str(case), "compiled"] = run(case, rank, True, "cuda")
        if case.rows != (1, 1):
            found[str(case), "of_torch"] = run_of_torch(case, rank, False)
            try:
                found[str(case), "of_torch_compiled"] = run_of_torch(case, rank, True)
            except Exception as error:  # its own test tells; the others need not fail with it
                found[str(case), "of_torch_compiled"] = f"{type(error).__name__}: {error}"[:2000]
    times = {"x".join(map(str, size)): time_all(*size) for size in SIZES}
    torch.save((found, times), f"{folder}/rank{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Return what each process found, and the times of each."""
    folder = tmp_path_factory.mktemp("world")
    torch.multiprocessing.spawn(_work, (str(folder),), WORLD)
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(WORLD)]


def worst(found, case):
    """Return the largest error of results, and of statistics relative to the largest one."""
    errors, relative = [0.0], [0.0]
    for rank, (results, kept) in enumerate(found):
        wanted, wanted_kept = expected(case, rank)
        for got, want in zip(results, wanted, strict=True):
            assert got.shape == want.shape
            assert got.dtype == case.dtype
            errors += [(got.double() - want).abs().max().item()] if got.numel() else []
        for got, want in zip(kept, wanted_kept, strict=True):
            relative.append(((got.double() - want).abs().max() / want.double().abs().max()).item())
    return max(errors), max(relative)


@pytest.mark.parametrize("case", BOTH, ids=str)
def test_as_one_process_with_the_whole_batch(processes, case):
    near, relative = TOLERANCE[case.dtype]
    scale = 1000 if case.far else 1  # the product's own rounding, of a thousand deviations
    for mode in MODES:
        found = [of_rank[0].get((str(case), mode)) for of_rank in processes]
        if found[0] is None or isinstance(found[0], str):
            continue
        error, kept = worst(found, case)
        print(f"{case} {mode}: results {error:.2e}, statistics {kept:.2e}")
        if not mode.startswith("of_torch"):
            assert error <= near * scale
            assert kept <= relative * scale
        assert all(torch.equal(a, b) for a, b in zip(found[0][1], found[1][1], strict=True))


@pytest.mark.parametrize("case", [c for c in BOTH if c.rows != (1, 1)], ids=str)
def test_a_graph_with_torchs_own_module_is_right(processes, case):
    """Dynamo breaks the graph there, and PyTorch runs it."""
    near, relative = TOLERANCE[case.dtype]
    scale = 1000 if case.far else 1
    for rank in range(WORLD):
        found = processes[rank][0][str(case), "of_torch_compiled"]
        assert not isinstance(found, str), found
        results, kept = found
        wanted, wanted_kept = processes[rank][0][str(case), "of_torch"]
        for got, want in zip(results, wanted, strict=True):
            assert (got.double() - want.double()).abs().max() <= near * scale if got.numel() else True
        for got, want in zip(kept, wanted_kept, strict=True):
            assert (got.double() - want.double()).abs().max() <= relative * scale * want.double().abs().max()


@pytest.mark.parametrize("size", ["x".join(map(str, size)) for size in SIZES])
def test_times(processes, size):
    """Prints them, and the layer in two parts has to be faster than PyTorch's module."""
    for rank in range(WORLD):
        print(json.dumps({"rank": rank, "MxNxK": size, "milliseconds": processes[rank][1][size]}, indent=2))
    times = processes[0][1][size]
    assert times["tenon.torch.SyncBatchNorm, tenon"] < times["torch.nn.SyncBatchNorm"]
