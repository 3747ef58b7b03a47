# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm over several processes on CPUs, by gloo, beside one process that has the whole batch."""

import operator
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
import torch.distributed as dist  # noqa: E402
from sync_batch_norm_cases import CASES, build, expected, run  # noqa: E402
from tenon.torch import Options, SyncBatchNorm, sync_batch_norm  # noqa: E402
from tenon.torch.backend import compile_graph  # noqa: E402
from tenon.torch.calls.call import FusedCall  # noqa: E402
from tenon.torch.capture import capture_inference  # noqa: E402
from torch import nn  # noqa: E402

MODES = {"eager": False, "compiled": True}
# Of results of about 1; and of statistics, relative to them. bf16 rounds the layer's result before the norm.
TOLERANCE = {torch.float32: (1e-5, 1e-6), torch.bfloat16: (5e-2, 1e-2), torch.float64: (1e-12, 1e-13)}


def _work(rank, world, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    torch.set_num_threads(1)
    found = {
        (str(case), mode): run(case, rank, compiled)
        for case in CASES
        if len(case.rows) == world
        for mode, compiled in MODES.items()
    }
    torch.save(found, f"{folder}/rank{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Return a function that runs all cases of a world at once, and returns what each process found."""
    found = {}

    def of(world):
        if world not in found:
            folder = tmp_path_factory.mktemp(f"world{world}")
            torch.multiprocessing.spawn(_work, (world, str(folder)), world)
            found[world] = [torch.load(folder / f"rank{rank}.pt") for rank in range(world)]
        return found[world]

    return of


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_one_process_with_the_whole_batch(processes, case, mode):
    found = [rank[str(case), mode] for rank in processes(len(case.rows))]
    near, relative = TOLERANCE[case.dtype]
    near *= 1000 if case.far else 1  # the product's own rounding, of a thousand deviations
    for rank, (results, kept) in enumerate(found):
        wanted, wanted_kept = expected(case, rank)
        for got, want in zip(results, wanted, strict=True):
            assert got.dtype == case.dtype
            assert got.shape == want.shape
            assert (got.double() - want).abs().max() <= near if got.numel() else True
        for got, want in zip(kept, wanted_kept, strict=True):
            assert (got.double() - want).abs().max() <= relative * want.double().abs().max() + (1e-3 * case.far)


@pytest.mark.parametrize("case", [c for c in CASES if c.track and not c.group], ids=str)
def test_all_processes_keep_the_same_bits(processes, case):
    found = [rank[str(case), "compiled"][1] for rank in processes(len(case.rows))]
    for kept in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], kept, strict=True))


@pytest.fixture
def pretended_world():
    """Two processes, of which the other one does nothing."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    yield
    dist.destroy_process_group()


def compiled_nodes(model, x):
    """Return the nodes of the graph that Tenon makes of a model."""
    nodes = []

    def compiler(graph, inputs):
        compile_graph(graph, set(), Options())
        nodes.extend(graph.graph.nodes)
        return graph.forward

    def backend(graph, inputs):
        return capture_inference(graph, inputs, compiler)

    with torch.no_grad():
        torch.compile(model, backend=backend, fullgraph=True)(x)
    torch.compiler.reset()
    return nodes


def test_one_collective_between_two_calls(pretended_world):
    """The product and its moments are one call, the rest is another; nothing of [M, N] is left to PyTorch."""
    case = CASES[0]
    model = SyncBatchNorm.convert_sync_batchnorm(build(case))
    nodes = compiled_nodes(model, torch.randn(7, case.features[0]))
    calls = [n for n in nodes if isinstance(n.target, FusedCall)]
    assert [n.target.function.name for n in calls] == ["linear_batch_moments", "batch_norm_inference_gelu"]
    collectives = [n for n in nodes if "_c10d_functional.all_gather" in str(n.target)]
    assert len(collectives) == 1
    order = {n: i for i, n in enumerate(nodes)}
    assert order[calls[0]] < order[collectives[0]] < order[calls[1]]
    rest = [n for n in nodes if n.op == "call_function" and n not in calls and n.target is not operator.getitem]
    assert all(n.meta["val"].shape[:1] != (7,) for n in rest if isinstance(n.meta.get("val"), torch.Tensor))


def test_the_next_product_follows_the_norm_in_one_call(pretended_world):
    case = next(c for c in CASES if c.two)
    nodes = compiled_nodes(SyncBatchNorm.convert_sync_batchnorm(build(case)), torch.randn(8, case.features[0]))
    names = [n.target.function.name for n in nodes if isinstance(n.target, FusedCall)]
    assert names == [
        "linear_batch_moments",
        "batch_norm_inference_gelu_linear_batch_moments",
        "batch_norm_inference_relu",
    ]


def test_eval_needs_no_collective(pretended_world):
    case = CASES[0]
    model = SyncBatchNorm.convert_sync_batchnorm(build(case)).eval()
    nodes = compiled_nodes(model, torch.randn(7, case.features[0]))
    assert [n.target.function.name for n in nodes if isinstance(n.target, FusedCall)] == [
        "linear_batch_norm_inference_gelu"
    ]
    assert not any("c10d" in str(n.target) for n in nodes)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_fewer_than_two_rows_move_no_running_statistics(pretended_world, monkeypatch, momentum):
    """They have no unbiased variance, and what is not a number would stay in the statistics for good."""
    layer = SyncBatchNorm(4, momentum=momentum)
    for rows in (torch.zeros(0, 4), torch.ones(1, 4)):
        monkeypatch.setattr(sync_batch_norm, "_all_gather", lambda own, group: torch.cat([own, torch.zeros_like(own)]))
        with torch.no_grad():
            assert layer(rows).isfinite().all()
        assert torch.equal(layer.running_mean, torch.zeros(4))
        assert torch.equal(layer.running_var, torch.ones(4))
        assert layer.num_batches_tracked == 0


def test_a_process_outside_of_the_group(pretended_world):
    layer = SyncBatchNorm(4, process_group=dist.GroupMember.NON_GROUP_MEMBER)
    with torch.no_grad(), pytest.raises(ValueError, match="this process is not in the batch norm's process_group"):
        layer(torch.ones(3, 4))


def test_without_a_world_it_is_batch_norm():
    x = torch.randn(9, CASES[0].features[0])
    plain, sync = build(CASES[0]), SyncBatchNorm.convert_sync_batchnorm(build(CASES[0]))
    with torch.no_grad():
        assert torch.equal(sync(x), plain(x))
        got, want = torch.compile(sync, backend="tenon")(x), plain(x)
    torch.testing.assert_close(got, want)
    assert torch.equal(sync[1].num_batches_tracked, plain[1].num_batches_tracked)


def test_conversion_keeps_tensors_and_groups():
    """All kinds of batch norm are replaced; a module that was converted before has its own group still."""
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm2d(4)), nn.SyncBatchNorm(5), nn.LayerNorm(3))
    model[2].process_group = "its own"
    model[1].eval()
    before = dict(model.named_parameters()) | dict(model.named_buffers())
    converted = SyncBatchNorm.convert_sync_batchnorm(model, "given")
    assert converted is model
    assert [type(m) for m in (model[0], model[1][0], model[2])] == [SyncBatchNorm] * 3
    assert [m.process_group for m in (model[0], model[1][0], model[2])] == ["given", "given", "its own"]
    assert not model[1][0].training
    after = dict(model.named_parameters()) | dict(model.named_buffers())
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)
    assert SyncBatchNorm.convert_sync_batchnorm(model[0]) is model[0]


def test_conversion_keeps_what_stands_twice():
    norm = nn.BatchNorm1d(3)
    model = SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(norm, nn.ReLU(), norm, nn.Sequential(norm)))
    assert type(model[0]) is SyncBatchNorm
    assert model[0] is model[2] is model[3][0]


def test_more_dimensions():
    """What is not a matrix is normalised by PyTorch's own kernels, over all but dimension 1."""
    x = torch.randn(4, 3, 5, 6)
    mean, m2 = torch.ops.tenon.batch_moments(x.movedim(1, -1).reshape(-1, 3))
    y = torch.ops.tenon.normalize(x, mean, m2 / 120, None, None, 1e-5)
    torch.testing.assert_close(y, nn.BatchNorm2d(3, affine=False)(x))


def test_the_example_of_the_docs(tmp_path):
    page = Path(__file__).resolve().parents[2] / "docs/PyTorch.md"
    if not page.exists():
        pytest.skip("no docs here")
    (code,) = re.findall(r"```python\n(# sync\.py.*?)```", page.read_text(), re.DOTALL)
    script = tmp_path / "sync.py"
    script.write_text(code)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    # Rarely PyTorch aborts while Python ends: Dynamo keeps the process group, so gloo's threads outlive
    # destroy_process_group, and one may still want the interpreter's lock (pytorch/pytorch#179291).
    for _ in range(3):
        output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        if "terminate called without an active exception" not in output.stderr:
            break
    assert output.returncode == 0, output.stdout + output.stderr
    found = sorted(re.findall(r"([01]): \((\d+), 128\), (\S+)", output.stdout))
    assert [line[:2] for line in found] == [("0", "32"), ("1", "33")], output.stdout + output.stderr
    assert found[0][2] == found[1][2]  # the same running mean
