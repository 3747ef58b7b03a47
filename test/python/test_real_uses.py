# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What people do with models beside calling them: generation, transforms, autocast, checkpoints, processes, copies."""

import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon")
from real_models import FRONT_ENDS, ZOO, backend_options, relative_error  # noqa: E402
from real_models.own import Block  # noqa: E402
from real_models.processes import group_of_one, run_two, step  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


@pytest.fixture(params=FRONT_ENDS)
def front_end(request):
    return FRONT_ENDS[request.param]


@pytest.fixture(autouse=True)
def modes_are_left_alone():
    """Check that a compilation leaves no mode behind, whether it failed or not."""
    torch.set_grad_enabled(True)
    yield
    left, _ = torch.is_grad_enabled(), torch.set_grad_enabled(True)
    assert left


@pytest.fixture
def block():
    torch.manual_seed(0)
    return Block()


@pytest.fixture
def x():
    return torch.randn(2, 16, 32, generator=torch.Generator().manual_seed(1))


def compile_function(function):
    return torch.compile(function, backend="tenon", options=backend_options())


def assert_near(got, expected, error=1e-6):
    got, expected = ([t] if isinstance(t, torch.Tensor) else list(t) for t in (got, expected))
    assert relative_error(got, expected) < error


# Generation


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generate(cache):
    """A cache grows, or is written in place, while each step's forward is compiled."""
    pytest.importorskip("transformers")
    from real_models.hub import causal_llama

    torch.manual_seed(0)
    model = causal_llama().eval()
    prompt = torch.randint(2, 64, (2, 5))
    options = {"max_new_tokens": 5, "do_sample": False, "cache_implementation": cache, "disable_compile": True}
    expected = model.generate(prompt, **options)
    model.forward = compile_function(model.forward)
    assert torch.equal(model.generate(prompt, **options), expected)


def test_generate_by_optimize():
    pytest.importorskip("transformers")
    from real_models.hub import causal_llama

    torch.manual_seed(0)
    model = causal_llama().eval()
    prompt = torch.randint(2, 64, (2, 5))
    expected = model.generate(prompt, max_new_tokens=4, do_sample=False)
    optimized = FRONT_ENDS["optimize"](model)
    assert torch.equal(optimized.generate(prompt, max_new_tokens=4, do_sample=False), expected)


# Transforms


def loss_of(block):
    return lambda p, x: torch.func.functional_call(block, p, (x,)).square().mean()


@pytest.mark.parametrize("transform", ["grad", "vmap", "jvp", "per_sample"])
def test_functional_transforms_inside(transform, block, x):
    """torch.func within what is compiled."""
    parameters = {name: p.detach() for name, p in block.named_parameters()}
    tangent = torch.randn_like(x)
    functions = {
        "grad": lambda p, x: list(torch.func.grad(loss_of(block))(p, x).values()),
        "vmap": lambda p, x: torch.vmap(lambda one: torch.func.functional_call(block, p, (one[None],)))(x),
        "jvp": lambda p, x: torch.func.jvp(block.mlp, (x,), (tangent,)),  # Dynamo fails on jvp of a layer norm
        "per_sample": lambda p, x: list(
            torch.vmap(torch.func.grad(loss_of(block)), in_dims=(None, 0))(p, x[:, None]).values()
        ),
    }
    function = functions[transform]
    assert_near(compile_function(function)(parameters, x), function(parameters, x), 1e-5)


def test_functional_transforms_outside(block, x):
    """torch.func around an optimized module."""
    optimized = FRONT_ENDS["optimize"](block)
    parameters = {name: p.detach() for name, p in block.named_parameters()}
    expected = torch.func.grad(loss_of(block))(parameters, x)
    assert_near(torch.func.grad(loss_of(optimized))(parameters, x).values(), expected.values(), 1e-5)


def test_functional_call_with_other_parameters(front_end, block, x):
    compiled = front_end(copy.deepcopy(block)) if front_end is FRONT_ENDS["optimize"] else front_end(block)
    names = dict(compiled.named_parameters())
    others = {name: torch.randn_like(p) * 0.1 for name, p in names.items()}
    plain = {name.removeprefix("_orig_mod."): p for name, p in others.items()}
    with torch.no_grad():
        expected = torch.func.functional_call(block, plain, (x,))
        compiled(x)
        assert_near(torch.func.functional_call(compiled, others, (x,)), expected)


def test_zero_tensors(x):
    """A tangent that is known to be zero has no storage."""
    layer = nn.Sequential(nn.Linear(32, 16), nn.GELU())
    zero = torch._efficientzerotensor(2, 16, 32)
    with torch.no_grad():
        expected = layer(torch.zeros(2, 16, 32))
        assert_near(FRONT_ENDS["optimize"](copy.deepcopy(layer))(zero), expected)
        assert_near(compile_function(copy.deepcopy(layer))(zero), expected)


# Contexts


@pytest.mark.parametrize("wanted", [False, True], ids=["inference", "training"])
def test_autocast(front_end, wanted, block, x):
    compiled = front_end(copied := copy.deepcopy(block))
    with torch.set_grad_enabled(wanted), torch.autocast("cpu", torch.bfloat16):
        expected, got = block(x), compiled(x)
        assert expected.dtype == got.dtype
        assert_near(got, expected, 1e-2)
    if wanted:
        assert_near(step(compiled, copied, x), step(block, block, x), 2e-2)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_around_compiled(front_end, reentrant, block, x):
    compiled = front_end(copied := copy.deepcopy(block))
    x.requires_grad_()
    got = step(lambda x: checkpoint(compiled, x, use_reentrant=reentrant), copied, x)
    assert_near(got, step(block, block, x), 1e-5)


def test_checkpoint_inside(block, x):
    function = lambda x: checkpoint(block, x, use_reentrant=False)  # noqa: E731
    assert_near(step(compile_function(function), block, x), step(block, block, x), 1e-5)


def test_checkpointing_of_transformers(front_end):
    pytest.importorskip("transformers")
    kind = ZOO["gpt2"]
    model = kind.build().train()
    model.model.gradient_checkpointing_enable({"use_reentrant": False})
    (ids,) = kind.inputs()
    compiled = front_end(copied := copy.deepcopy(model))
    assert_near(step(compiled, copied, ids), step(model, model, ids), 1e-5)


def test_training_goes_as_it_would(front_end, block, x):
    """Ten steps of AdamW, with a schedule's worth of weight changes between calls."""
    losses = []
    for module in (block, copied := copy.deepcopy(block)):
        call = front_end(copied) if module is copied else module
        optimizer = torch.optim.AdamW(module.parameters(), 1e-3)
        for _ in range(10):
            optimizer.zero_grad()
            loss = (call(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.detach())
    assert_near(losses[1], losses[0], 1e-4)


# Processes


@pytest.mark.parametrize("order", ["compile(ddp)", "ddp(compile)", "ddp(optimize)"])
def test_ddp_of_one(order, block, x, tmp_path):
    with group_of_one(tmp_path):
        expected = step(block, block, x)
        if order == "compile(ddp)":
            call = FRONT_ENDS["compile"](nn.parallel.DistributedDataParallel(block))
        else:
            call = nn.parallel.DistributedDataParallel(FRONT_ENDS[order[4:-1]](block))
        assert_near(step(call, block, x), expected, 1e-5)


def test_ddp_of_two(tmp_path):
    run_two(tmp_path, "compile")


def test_fully_sharded(block, x, tmp_path):
    """FSDP2 of one process: parameters are DTensors outside of forward."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    reference = copy.deepcopy(block)
    expected = step(reference, reference, x)
    with group_of_one(tmp_path):
        fully_shard(block, mesh=init_device_mesh("cpu", (1,)))
        got = [g.full_tensor() for g in step(FRONT_ENDS["compile"](block), block, x)]
        assert_near(got, expected, 1e-5)


# Copies and files


def test_state_dict(front_end, block, x):
    """A compiled model loads what another saved, after it has been called, and saves what the other loads."""
    compiled = front_end(copied := copy.deepcopy(block))
    prefix = "_orig_mod." if front_end is FRONT_ENDS["compile"] else ""
    with torch.no_grad():
        compiled(x)
        for p in block.parameters():
            p.add_(0.05)
        state = {prefix + name: t for name, t in block.state_dict().items()}
        assert list(compiled.state_dict()) == list(state)
        compiled.load_state_dict(state)
        assert_near(compiled(x), block(x))
    assert list(copied.state_dict()) == list(block.state_dict())


def test_deepcopy(front_end, block, x):
    """A copy has parameters of its own."""
    compiled = front_end(block)
    with torch.no_grad():
        before = compiled(x).clone()
        copied = copy.deepcopy(compiled)
        for p in block.parameters():
            p.mul_(1.5)
        assert_near(copied(x), before)
        assert relative_error([compiled(x)], [before]) > 1e-3


def test_pickle(front_end, block, x):
    compiled = front_end(block)
    with torch.no_grad():
        expected = compiled(x)
        assert_near(pickle.loads(pickle.dumps(compiled))(x), expected)
        file = io.BytesIO()
        torch.save(compiled, file)
        file.seek(0)
        assert_near(torch.load(file, weights_only=False)(x), expected)


def test_exported_program(front_end, block, x):
    program = torch.export.export(block.eval(), (x,))
    with torch.no_grad():
        assert_near(front_end(program.module())(x), block(x))


def test_export_of_optimized(block, x):
    optimized = FRONT_ENDS["optimize"](block.eval())
    with torch.no_grad():
        optimized(x)
        program = torch.export.export(optimized, (x,))
        assert_near(program.module()(x), block(x))
