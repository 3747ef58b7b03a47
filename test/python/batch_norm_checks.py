# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds of every kernel that computes training batch norm with the product, on torch tensors."""

from __future__ import annotations

import torch
from tenon_graphs.batch_norm import draw
from tenon_graphs.devices import assert_same_bits, to_device, to_host
from tenon_graphs.execute import bind_entry, describe_misses, excess
from tenon_graphs.graph import Graph
from tenon_graphs.memory import Guarded
from tenon_graphs.oracle import Bounded, evaluate
from tenon_model import Call, Model
from tiled_layers import Tensors, same_bits

# Every fourth column of what is normalised gets this mean and deviation, by the last of the product's terms.
LARGE_MEAN, SMALL_DEVIATION = 1e4, 1e-2
ALLOWED = 1.1  # of PyTorch's error


def check_results(model: Model, graph: Graph, memory: Guarded, what: str) -> None:
    """Call a graph's function twice; fail unless the results are right, of the same bits, and nothing else written."""
    inputs = draw(graph)
    call = bind_entry(model, graph.name, memory.copy(to_device(inputs, "cuda")), memory)
    got = to_host(call())
    for output in call.outputs:
        output.fill_(float("nan"))
    assert_same_bits(got, to_host(call()), f"{what}, {graph.name}, {graph.extents}")
    memory.check()
    misses = describe_misses(graph, got, evaluate(graph, inputs))
    assert not misses, f"{what}, {graph.extents}: {misses}"


def check_in_place(model: Model, graph: Graph) -> None:
    """Write the new running statistics over the old ones, as a training loop does; three steps in a row."""
    inputs = draw(graph)
    call = bind_entry(model, graph.name, to_device(inputs, "cuda"))
    (run,) = [e["run"] for e in model.manifest["entries"] if e["name"] == graph.name]
    at = {i["name"]: number for number, i in enumerate(model.functions[run]["inputs"])}
    outputs = list(call.outputs)
    for number, name in ((1, "mean"), (2, "var")):
        outputs[number] = call.inputs[at[name]]
    in_place = model.bind(run, call.inputs, outputs)
    for step in range(3):
        for name in ("mean", "var"):
            inputs[name] = call.inputs[at[name]].cpu().numpy().copy()
        got = to_host(in_place())
        misses = describe_misses(graph, got, evaluate(graph, inputs))
        assert not misses, f"step {step}: {misses}"


def clones(call: Call) -> list[torch.Tensor]:
    """Run a call, and return copies of its results."""
    for output in call.outputs:
        output.fill_(float("nan"))
    made = [output.clone() for output in call()]
    torch.cuda.synchronize()
    return made


def check_replays(model: Model, graph: Graph) -> None:
    """Fail unless each replay of a captured call gives what a call gives, with x as it is then."""
    tensors = to_device(draw(graph), "cuda")
    call = bind_entry(model, graph.name, tensors)
    clones(call)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        call()
    for seed in (0, 1, 2, 0):
        tensors["x"].copy_(to_device(draw(graph, seed), "cuda")["x"])
        expected = clones(bind_entry(model, graph.name, tensors))
        for output in call.outputs:
            output.fill_(float("nan"))
        captured.replay()
        torch.cuda.synchronize()
        assert all(map(same_bits, call.outputs, expected)), f"{graph.name}: other bits when replayed"


def check_two_streams(model: Model, graph: Graph) -> None:
    """Fail where calls on two streams at once, each with its own workspace, disturb each other."""
    made, expected, streams = [], [], [torch.cuda.Stream(), torch.cuda.Stream()]
    for seed in (0, 1):
        made.append(bind_entry(model, graph.name, to_device(draw(graph, seed), "cuda")))
        expected.append(clones(made[-1]))
    for _ in range(5):
        for call in made:
            for output in call.outputs:
                output.fill_(float("nan"))
        torch.cuda.synchronize()
        for _ in range(10):
            for call, stream in zip(made, streams, strict=True):
                with torch.cuda.stream(stream):
                    call()
        torch.cuda.synchronize()
        for call, wanted in zip(made, expected, strict=True):
            assert all(map(same_bits, call.outputs, wanted)), f"{graph.name}: other bits beside another stream"


def is_near(found: torch.Tensor, wanted: Bounded, columns: torch.Tensor) -> bool:
    """Tell whether a result's columns keep the bounds on their errors."""
    chosen = columns.cpu().numpy()
    bounds = Bounded(wanted.value[..., chosen], wanted.error[..., chosen])
    return excess(found[..., columns].cpu().double().numpy(), bounds) <= 1.0


def check_special_values(model: Model, graph: Graph, split: bool = False) -> None:
    """Fail unless rows of w with NaN or infinity make their columns NaN and no others, and a row of x makes all so.

    `split`: other columns of their tiles come from the guarded kernel then, in other bits, but as near to what they
    should be as any right kernel's.
    """
    tensors = to_device(draw(graph), "cuda")
    before = clones(bind_entry(model, graph.name, tensors))
    columns = [0, before[0].shape[1] - 1]
    expected = evaluate(graph, draw(graph)) if split else [None] * len(before)
    for value in (float("nan"), float("inf"), float("-inf")):
        changed = tensors | {"w": tensors["w"].clone()}
        changed["w"][columns, 3] = value
        after = clones(bind_entry(model, graph.name, changed))
        for old, new, wanted in zip(before, after, expected, strict=True):
            assert bool(new[..., columns].isnan().all() if old.dim() == 2 else not new[columns].isfinite().any())
            kept = torch.ones(old.shape[-1], dtype=torch.bool, device="cuda")
            kept[columns] = False
            agree = is_near(new, wanted, kept) if split else same_bits(new[..., kept], old[..., kept])
            assert agree, f"{graph.name}: {value} in two rows of w"
        changed = tensors | {"x": tensors["x"].clone()}
        changed["x"][-1, 5] = value
        y, *statistics = clones(bind_entry(model, graph.name, changed))
        assert bool(y.isnan().all()) and not any(bool(s.isfinite().any()) for s in statistics)


def eager(tensors: Tensors) -> list[torch.Tensor]:
    """Return what PyTorch gives of form "bsr" in the tensors' types: y and new running statistics."""
    mean, var = tensors["mean"].clone(), tensors["var"].clone()
    z = torch.nn.functional.linear(tensors["x"], tensors["w"], tensors["bias"]) * tensors["scale"]
    return [torch.nn.functional.batch_norm(z, mean, var, training=True), mean, var]


def draw_large_means(graph: Graph) -> Tensors:
    """Return inputs of which every fourth column has a large mean and a small deviation."""
    tensors = to_device(draw(graph), "cuda")
    tensors["x"][:, -1] = 1.0
    x, w = tensors["x"].double(), tensors["w"].double()
    deviation = (x[:, :-1] @ w[::4, :-1].T).std(0)
    tensors["w"][::4] = (w[::4] * (SMALL_DEVIATION / deviation)[:, None]).to(w.dtype)
    tensors["w"][::4, -1] = LARGE_MEAN
    tensors["scale"] = torch.ones_like(tensors["scale"])
    return tensors


def check_errors_beside_pytorch(model: Model, graph: Graph, precision: str) -> None:
    """Fail where an rms error, of y or new running statistics, is above 1.1 of PyTorch's, on columns of either kind."""
    tensors = draw_large_means(graph)
    exact = eager({name: tensor.double() for name, tensor in tensors.items()})
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        theirs = eager(tensors)
    finally:
        torch.set_float32_matmul_precision(before)
    ours = clones(bind_entry(model, graph.name, tensors))
    large = torch.arange(exact[0].shape[1], device="cuda") % 4 == 0
    worse = []
    for name, wanted, mine, other in zip(("y", "mean", "variance"), exact, ours, theirs, strict=True):
        for kind, chosen in (("large means", large), ("other", ~large)):
            found = [(one.double() - wanted)[..., chosen].square().mean().sqrt().item() for one in (mine, other)]
            print(f"{graph.name} {name}, {kind} columns: {found[0]:.3e}, PyTorch {found[1]:.3e}")
            if not found[0] <= ALLOWED * found[1]:
                worse.append(f"{name}, {kind} columns: rms error {found[0]:.3e}, PyTorch's {found[1]:.3e}")
    assert not worse, "\n".join([graph.name, *worse])
