# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a model compiled and eagerly, and compares what comes of it with float64."""

import copy

import torch
from whole_models.exact import Wide

# A compiled model's error is at most as many times eager's, and a little for where eager's is small by chance.
TIMES_EAGER = 2.0
LITTLE = {torch.float32: 5e-7, torch.bfloat16: 4e-3}


def backend_options():
    """Return the options of backend="tenon" with which the CPU has code too, and no C++ compiler is needed."""
    return {"target": "cpu", "rest": "eager"}


def compile_by_default(module):
    return torch.compile(module, backend="tenon")


def optimize_by_default(module):
    import tenon.torch

    return tenon.torch.optimize(module)


def compile_module(module, **options):
    return torch.compile(module, backend="tenon", options=backend_options(), **options)


def optimize_module(module):
    import tenon.torch

    return tenon.torch.optimize(module, options=backend_options())


FRONT_ENDS = {"compile": compile_module, "optimize": optimize_module}
DEFAULT_FRONT_ENDS = {"compile": compile_by_default, "optimize": optimize_by_default}


def relative_error(got, exact):
    """Return the norm of all differences over that of all exact numbers."""
    pairs = list(zip(got, exact, strict=True))
    difference = sum((a.detach().double() - b.detach()).square().sum().item() for a, b in pairs)
    return (difference / max(sum(b.detach().square().sum().item() for _, b in pairs), 1e-60)) ** 0.5


class InFloat64:
    """Has tensors that are made meanwhile be float64, and code that asks for float32 get that."""

    def __enter__(self):
        torch.set_default_dtype(torch.float64)
        self._wide = Wide()
        self._wide.__enter__()

    def __exit__(self, *error):
        self._wide.__exit__(*error)
        torch.set_default_dtype(torch.float32)


def widened(module, inputs):
    """Return a module and inputs in float64, for which transformers' grouped products of experts are not."""
    wide = copy.deepcopy(module).double()
    for part in wide.modules():
        if hasattr(getattr(part, "config", None), "_experts_implementation"):
            part.config._experts_implementation = "eager"
    return wide, [t.double() if t.is_floating_point() else t for t in inputs]


def assert_as_near(got, eager, exact, dtype, what):
    """Raise AssertionError where a result is farther from float64 than eager's, but for a little."""
    for a, b in zip(got, eager, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
    ours, theirs = relative_error(got, exact), relative_error(eager, exact)
    assert ours <= TIMES_EAGER * theirs + LITTLE[dtype], f"{what}: error {ours:.2e}, eager's {theirs:.2e}"


def compare_inference(kind, front_end, dtype, device="cpu"):
    """Compare three calls without gradients; the last has new parameters."""
    eager = kind.build(dtype).eval().to(device)
    copied = copy.deepcopy(eager)
    compiled = front_end(copied)
    for seed in (1, 2, 3):
        if seed == 3:
            for module in (eager, copied):
                move_parameters(module)
        inputs = [t.to(device) for t in kind.inputs(dtype, seed)]
        wide, wide_inputs = widened(eager, inputs)
        with torch.no_grad():
            expected, got = eager(*inputs), compiled(*inputs)
            with InFloat64():
                exact = wide(*wide_inputs)
        assert_as_near([got], [expected], [exact], dtype, f"call {seed}")


def move_parameters(module):
    """Change parameters as an optimizer does."""
    with torch.no_grad():
        for p in module.parameters():
            p.mul_(1.25)


def train(call, module, inputs, target):
    """Run a training step; return its output, its gradients and the buffers behind it."""
    module.zero_grad(set_to_none=True)
    output = call(*inputs)
    (output.to(target.dtype) - target).square().mean().backward()
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    buffers = [b for b in module.buffers() if b.is_floating_point()]
    return [output.detach()], [g.clone() for g in gradients], [b.clone() for b in buffers]


def compare_training(kind, front_end, dtype, device="cpu"):
    """Compare two training steps: outputs, gradients and buffers; parameters change between them."""
    eager = kind.build(dtype).train().to(device)
    copied = copy.deepcopy(eager)
    compiled = front_end(copied)
    for seed in (1, 2):
        inputs = [t.to(device) for t in kind.inputs(dtype, seed)]
        with torch.no_grad():
            target = torch.randn_like(copy.deepcopy(eager)(*inputs), dtype=torch.float32)
        wide, wide_inputs = widened(eager, inputs)
        expected, got = train(eager, eager, inputs, target), train(compiled, copied, inputs, target)
        with InFloat64():
            exact = train(wide, wide, wide_inputs, target.double())
        for what, *seen in zip(("output", "gradients", "buffers"), got, expected, exact, strict=True):
            assert len(seen[0]) == len(seen[1]) == len(seen[2]), what
            assert_as_near(*seen, dtype, f"{what} of step {seed}")
        for module in (eager, copied):
            move_parameters(module)
