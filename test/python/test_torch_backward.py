# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of backward passes: gradients against float64, beside eager's own, and what becomes a call."""

import copy
import re

import pytest
import tenon.torch
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

HOSTED = {"target": "cpu", "rest": "inductor"}
pytestmark = pytest.mark.usefixtures("bare_products")
ROWS, K, N = 48, 40, 24


class Scaled(nn.Module):
    """A linear layer, a scale a feature, and batch norm."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(K, N), nn.BatchNorm1d(N)
        self.scale = nn.Parameter(torch.randn(N))

    def forward(self, x):
        return self.norm(self.linear(x) * self.scale)


class Doubled(nn.Module):
    """A linear layer, a number, and leaky ReLU."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(K, N)

    def forward(self, x):
        return F.leaky_relu(self.linear(x) * 2.0, 0.1)


class Gated(nn.Module):
    """SwiGLU."""

    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(K, 32), nn.Linear(K, 32, bias=False), nn.Linear(32, N)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """Layers of a module of one's own, which Dynamo compiles by itself."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


class Checkpointed(nn.Module):
    """Layers of which the first are computed once more in backward."""

    def __init__(self, *first):
        super().__init__()
        self.mlp, self.last = nn.Sequential(*first), nn.Linear(N, N)

    def forward(self, x):
        return self.last(checkpoint(self.mlp, x, use_reentrant=False))


def mlp():
    return nn.Sequential(nn.Linear(K, 32), nn.GELU(), nn.Linear(32, N))


MODELS = {
    "linear": lambda: nn.Linear(K, N),
    "no_bias": lambda: nn.Linear(K, N, bias=False),
    "mlp": mlp,
    "relu": lambda: nn.Sequential(nn.Linear(K, N), nn.ReLU()),
    "doubled": Doubled,
    "scaled": Scaled,
    "gated": Gated,
    "checkpointed": lambda: Checkpointed(*mlp()),
    "checkpointed_norm": lambda: Checkpointed(nn.Linear(K, N), nn.LayerNorm(N), nn.SiLU()),
}


def gradients(call, model, x, target):
    """Return the gradients of one step; the last is the input's."""
    x = x.clone().requires_grad_()
    model.zero_grad()
    (call(x) - target).square().mean().backward()
    return [p.grad for p in model.parameters()] + [x.grad]


def error(got, exact):
    """Return the largest relative error; what batch norm cancels has no digits in any precision."""
    least = 1e-9 * max(e.norm() for e in exact)
    pairs = [(a, e) for a, e in zip(got, exact, strict=True) if e.norm() > least]
    return max(((a.double() - e).norm() / e.norm()).item() for a, e in pairs)


def layouts(compiled):
    return sorted(re.findall(r"layout<(\w+)>", "".join(compiled.sources)))


@pytest.mark.parametrize("shape", [(ROWS,), (1,), (4, 12)])
@pytest.mark.parametrize("name", MODELS)
def test_gradients(compiled, name, shape):
    if name == "scaled" and shape != (ROWS,):
        pytest.skip("batch norm is of [batch, features] here, and of more than one row")
    torch.manual_seed(0)
    model = MODELS[name]()
    twin, wide = copy.deepcopy(model), copy.deepcopy(model).double()
    x, target = torch.randn(*shape, K), torch.randn(*shape, N)
    fast = torch.compile(model, backend="tenon", options=HOSTED)
    exact = gradients(wide, wide, x.double(), target.double())
    got = gradients(fast, model, x, target)
    assert error(got, exact) <= 2 * error(gradients(twin, twin, x, target), exact) + 1e-6
    again = gradients(fast, model, x, target)
    assert all(torch.equal(a, b) for a, b in zip(got, again, strict=True))
    linears = sum(isinstance(m, nn.Linear) for m in model.modules())
    if shape == (1,):
        # The transpose of one row is a column as it lies.
        assert layouts(compiled).count("mk_kn") == linears
    else:
        assert layouts(compiled) == ["km_kn"] * linears + ["mk_kn"] * linears


def test_gradcheck(compiled):
    model = Gated().double()
    fast = torch.compile(model, backend="tenon", options=HOSTED)
    x = torch.randn(3, K, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(fast, (x,), fast_mode=True)
    assert layouts(compiled)


def test_gradients_with_no_memory_of_their_own(compiled):
    model = nn.Linear(N, K)
    x = torch.randn(ROWS, N, requires_grad=True)
    torch.compile(model, backend="tenon", options=HOSTED)(x).sum().backward()
    torch.testing.assert_close(x.grad, model.weight.sum(0).expand(ROWS, N))
    torch.testing.assert_close(model.weight.grad, x.detach().sum(0).expand(K, N))
    assert layouts(compiled) == ["km_kn", "mk_kn"]


def test_weights_that_change_with_each_step():
    model = mlp()
    twin = copy.deepcopy(model)
    fast = torch.compile(model, backend="tenon", options=HOSTED)
    x, target = torch.randn(ROWS, K), torch.randn(ROWS, N)
    for m, call in ((model, fast), (twin, twin)):
        optimizer = torch.optim.SGD(m.parameters(), lr=0.5)
        for _ in range(5):
            optimizer.zero_grad()
            (call(x) - target).square().mean().backward()
            optimizer.step()
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p, q)


def test_a_dynamic_batch_leaves_the_sums_over_it(compiled):
    model = nn.Linear(K, N)
    fast = torch.compile(model, backend="tenon", options=HOSTED, dynamic=True)
    for rows in (5, 9, 32):
        x, target = torch.randn(rows, K), torch.randn(rows, N)
        expected = gradients(model, model, x, target)
        for a, b in zip(gradients(fast, model, x, target), expected, strict=True):
            torch.testing.assert_close(a, b)
    assert layouts(compiled) == ["mk_kn"]


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_lower_precisions(precision):
    model, x, target = mlp(), torch.randn(ROWS, K), torch.randn(ROWS, N)
    expected = gradients(model, model, x, target)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        got = gradients(torch.compile(model, backend="tenon", options=HOSTED), model, x, target)
    finally:
        torch.set_float32_matmul_precision(before)
    assert error(got, [t.double() for t in expected]) <= 2e-2


def test_autocast():
    model, x, target = mlp(), torch.randn(ROWS, K), torch.randn(ROWS, N)
    fast = torch.compile(model, backend="tenon", options=HOSTED)

    def under_autocast(call):
        def run(x):
            with torch.autocast("cpu", torch.bfloat16):
                return call(x)

        return run

    exact = [t.double() for t in gradients(model, model, x, target)]
    eager = error(gradients(under_autocast(model), model, x, target), exact)
    assert error(gradients(under_autocast(fast), model, x, target), exact) <= 2 * eager


@pytest.mark.parametrize(
    ("function", "shapes", "layout"),
    [
        (lambda a, b: F.relu(a @ b), [(6, 8), (8, 4)], "mk_kn"),
        (lambda a, b: F.relu(a.t() @ b), [(8, 6), (8, 4)], "km_kn"),
        (lambda a, b: F.relu(a.t() @ b.t()), [(8, 6), (4, 8)], "km_nk"),
        (lambda a, b: F.relu(a @ b.t()), [(6, 8), (4, 8)], None),
        (lambda a, b, c: torch.addmm(c, a.t(), b), [(8, 6), (8, 4), (6, 4)], "km_kn"),
        (lambda a, b, c: torch.addmm(c, a.t(), b, beta=0.5, alpha=2.0), [(8, 6), (8, 4), (6, 4)], "km_kn"),
        (lambda a, b: F.relu(a.view(8, 6).t() @ b), [(4, 2, 6), (8, 4)], "km_kn"),
        (lambda a, b: F.relu(a.t() @ b), [(8, 1), (8, 4)], None),
    ],
)
def test_transposes_of_any_operand(compiled, function, shapes, layout):
    tensors = [torch.randn(shape) for shape in shapes]
    got = torch.compile(function, backend="tenon", options=HOSTED)(*tensors)
    torch.testing.assert_close(got, function(*tensors))
    if layout:
        assert layouts(compiled) == [layout]
    assert compiled.linears == 1


def test_columns_that_are_not_contiguous(compiled):
    a, b = torch.randn(8, 12)[:, ::2], torch.randn(4, 8).t()
    got = torch.compile(lambda a, b: F.relu(a.t() @ b), backend="tenon", options=HOSTED)(a, b)
    torch.testing.assert_close(got, F.relu(a.t() @ b))
    assert compiled.linears == 1


def test_the_explanation_names_what_was_taken():
    x, w = torch.randn(ROWS, K), torch.randn(ROWS, N)
    text = str(tenon.torch.explain(lambda x, w: F.gelu(x.t() @ w), x, w, options={"target": "cpu"}))
    assert "linear, gelu" in text


def _step(rank, world, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = mlp()
    x, target = torch.randn(ROWS, K), torch.randn(ROWS, N)
    own = slice(rank * ROWS // world, (rank + 1) * ROWS // world)
    fast = torch.compile(nn.parallel.DistributedDataParallel(model), backend="tenon", options=HOSTED)
    got = gradients(fast, model, x[own], target[own])[:-1]
    if rank == 0:
        twin = copy.deepcopy(model)
        torch.save([got, gradients(twin, twin, x, target)[:-1]], f"{folder}/gradients.pt")
    dist.barrier()
    dist.destroy_process_group()


def test_several_processes(tmp_path):
    torch.multiprocessing.spawn(_step, (2, str(tmp_path)), 2)
    got, expected = torch.load(tmp_path / "gradients.pt")
    assert len(got) == 4
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_gradients_that_accumulate():
    model = mlp()
    twin = copy.deepcopy(model)
    fast = torch.compile(model, backend="tenon", options=HOSTED)
    for m, call in ((model, fast), (twin, twin)):
        for seed in range(3):
            torch.manual_seed(seed)
            (call(torch.randn(ROWS, K)) - torch.randn(ROWS, N)).square().mean().backward()
        assert all(p.grad is not None for p in m.parameters())
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


def test_fully_sharded(compiled, tmp_path):
    """FSDP2 of one process: parameters and gradients are DTensors outside of the step."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = nn.Sequential(Block(*mlp()), Block(nn.Linear(N, K), nn.BatchNorm1d(K)), Block(*mlp()))
    twin = copy.deepcopy(model)
    x, target = torch.randn(ROWS, K), torch.randn(ROWS, N)
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        for block in model:
            block.compile(backend="tenon", options=HOSTED)
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        for call in (model, twin):
            for _ in range(2):
                (call(x) - target).square().mean().backward()
        for p, q in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(p.grad.full_tensor(), q.grad, rtol=1e-4, atol=1e-6)
    finally:
        dist.destroy_process_group()
    assert set(layouts(compiled)) == {"km_kn", "mk_kn"}
