# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs on the CPU: fused, op by op and in float64, against numpy; and fusion undone.

The bounds are those of tenon_graphs/oracle.py. Every tensor is cut out of a larger one whose rest
must stay as it was, and outputs and workspace hold NaN before the call.
"""

import hashlib
import re

import numpy as np
import pytest
from tenon_graphs.checks import fused_misses, reference_misses, stages_misses
from tenon_graphs.dtypes import decode, round_to
from tenon_graphs.execute import (
    TENON_OPT,
    bind_entry,
    compile_graphs,
    excess,
    open_model,
    tool,
    write_module,
)
from tenon_graphs.generate import DTYPES, random_graph
from tenon_graphs.graph import Graph, Op, Value, draw_inputs, stages
from tenon_graphs.oracle import evaluate, round_results

# Each module holds this many graphs: one run of tenon-compile.
GRAPHS_PER_MODULE = 40
SEEDS = [range(start, start + GRAPHS_PER_MODULE) for start in range(0, 240, GRAPHS_PER_MODULE)]


@pytest.fixture(scope="module", params=SEEDS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def compiled(request, tmp_path_factory):
    """Give graphs and the model that they were compiled to."""
    graphs = [random_graph(seed) for seed in request.param]
    model = open_model(compile_graphs(graphs, tmp_path_factory.mktemp("numerics") / "graphs"))
    yield graphs, model
    model.close()


def test_fused_against_oracle(compiled):
    graphs, model = compiled
    misses = [fused_misses(graph, model) for graph in graphs]
    assert not any(misses), "\n".join(filter(None, misses))


def test_reference_against_oracle(compiled):
    """The references that tenon-run --check trusts are right to float64's last digits."""
    graphs, model = compiled
    misses = [reference_misses(graph, model) for graph in graphs]
    assert not any(misses), "\n".join(filter(None, misses))


def test_again_gives_the_same_bits(compiled):
    graphs, model = compiled
    for graph in graphs[:10]:
        call = bind_entry(model, graph.name, draw_inputs(graph))
        first = [tensor.copy() for tensor in call()]
        for before, after in zip(first, call(), strict=True):
            np.testing.assert_array_equal(before.view(np.uint8), after.view(np.uint8))


def test_reductions_of_rows(tmp_path):
    graphs = [random_graph(f"rows {i}", f"r{i}", rows=True) for i in range(GRAPHS_PER_MODULE)]
    assert sum(op.kind == "reduce_row" for graph in graphs for op in graph.ops) > GRAPHS_PER_MODULE // 2
    model = open_model(compile_graphs(graphs, tmp_path / "rows"))
    misses = [miss(graph, model) for graph in graphs for miss in (fused_misses, reference_misses)]
    assert not any(misses), "\n".join(filter(None, misses))


@pytest.mark.parametrize("dtype", DTYPES)
def test_op_by_op_against_oracle(dtype, tmp_path):
    """Each op as a function of its own computes, unfused, what its graph does."""
    graphs = [random_graph(f"op by op {i}", f"s{i}", dtype) for i in range(10)]
    model = open_model(compile_graphs([part for g in graphs for part in stages(g)], tmp_path / "stages"))
    misses = [stages_misses(graph, model) for graph in graphs]
    assert not any(misses), "\n".join(filter(None, misses))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_fused_rounds_once(dtype, tmp_path):
    """A chain that fuses as a whole keeps f32 between its ops: nearly every element is the right one."""
    graphs = [g for g in (random_graph(f"once {i}", f"o{i}", dtype) for i in range(1000)) if is_chain(g)][:20]
    assert len(graphs) == 20
    model = open_model(compile_graphs(graphs, tmp_path / "once"))
    for graph in graphs:
        inputs = draw_inputs(graph)
        (got,), (expected,) = bind_entry(model, graph.name, inputs)(), evaluate(graph, inputs)
        right = round_to(expected.value, dtype)
        share = np.mean(decode(got, dtype) == right)
        assert share > 0.97, f"{share:.3f} of the elements are correctly rounded\n{graph.mlir()}"


@pytest.mark.parametrize("flags", [[], ["--target=sm_80", "--strategy=tiled"]], ids=["cpu", "rounded_for_tiled"])
def test_powers_amplify_what_a_precision_leaves_open(flags, tmp_path):
    """Six squarings of a product, up to 1e34, make 64 times its relative error: of f32's roundings or of tf32's."""
    x, w = Value("x", ("m", 64), "f32", "unit"), Value("w", (33, 64), "f32", "weight", is_param=True)
    value = Value("product", ("m", 33), "f32")
    graph = Graph("powers", {"m": 5}, dynamic=False, inputs=[x, w])
    graph.ops.append(Op("linear", [x, w], [value], {"precision": "tf32"}))
    for i in range(7):
        power = Value(f"v{i}", ("m", 33), "f32")
        graph.ops.append(Op("mul", [value], [power], {"scalar": 2.1}) if i == 0 else Op("mul", [value, value], [power]))
        value = power
    graph.returns = [value]
    model = open_model(compile_graphs([graph], tmp_path / "powers", *flags))
    inputs = draw_inputs(graph)
    (got,), (expected,) = bind_entry(model, graph.name, inputs)(), evaluate(graph, inputs)
    assert np.max(abs(expected.value)) > 1e34
    assert excess(decode(got, "f32"), expected) <= 1.0
    relative = np.sqrt(np.mean((got - expected.value) ** 2) / np.mean(expected.value**2))
    assert 1e-4 < relative < 64 * 2.0**-11 if flags else 64 * 2.0**-25 < relative < 64 * 2.0**-22, relative


def is_chain(graph: Graph) -> bool:
    """Tell whether a graph is a linear and a chain of at least two more ops, all of one 16-bit type.

    None is an exact gelu, which by gelu-R3 may err by a quarter of a rounding; the oracle bounds it. None is a log,
    before which a number was added, whose size sets what a norm that subtracts it again can resolve.
    """
    values = [v for op in graph.ops for v in op.results]
    return (
        len(graph.ops) >= 3
        and [op.kind == "linear" for op in graph.ops] == [True] + [False] * (len(graph.ops) - 1)
        and all(len(v.shape) == 2 and v.dtype == graph.ops[0].results[0].dtype for v in values)
        and graph.ops[0].results[0].dtype != "f32"
        and all(before.results[0] in after.operands for before, after in zip(graph.ops, graph.ops[1:], strict=False))
        and graph.returns == graph.ops[-1].results[:1]
        and all(op.kind != "log" and (op.kind != "gelu" or op.attributes["tanh"]) for op in graph.ops)
    )


def test_bounds_notice_mistakes():
    """An op left out, or f32 values rounded to 16 bits, exceeds a bound wherever it changes a result at all."""
    dropped, rounded = [], []
    for seed in range(140):
        graph = random_graph(seed, dtype="f32")
        inputs = draw_inputs(graph)
        expected = evaluate(graph, inputs)
        is_precise = all(op.attributes.get("precision", "fp32") == "fp32" for op in graph.ops) and all(
            value.dtype == "f32" for op in graph.ops for value in op.results
        )

        def worst(change, graph=graph, inputs=inputs, expected=expected):
            with np.errstate(all="ignore"):
                got = evaluate(graph, inputs, change)
            return max(excess(g.value, e) for g, e in zip(got, expected, strict=True))

        for op in live_ops(graph):
            same = [v for v in op.operands if v.shape == op.results[0].shape]
            if same and op.kind != "linear" and changes(graph, inputs, op, same[0]):
                dropped.append(worst({op: lambda results, known, v=same[0]: [known[v], *results[1:]]}))
            if is_precise:
                rounded.append(worst({op: lambda results, known: round_results(results, "f16")}))
    for excesses in (dropped, rounded):
        effective = [x for x in excesses if x > 0.0]
        noticed = np.mean([x > 1.0 for x in effective])
        assert len(effective) > 200 and noticed > 0.95, f"{noticed:.3f} of {len(effective)}"


def live_ops(graph: Graph) -> list:
    """Return the ops that a result depends on."""
    needed, live = set(graph.returns), []
    for op in reversed(graph.ops):
        if needed.intersection(op.results):
            live.append(op)
            needed.update(op.operands)
    return live


def changes(graph: Graph, inputs: dict, op, operand) -> bool:
    """Tell whether an op's result differs from its operand in more than a few elements."""
    probe = Graph(graph.name, graph.extents, graph.dynamic, graph.inputs, graph.ops, [op.results[0], operand])
    result, source = evaluate(probe, inputs)
    return np.mean(abs(result.value - source.value) > 0.01 * np.max(abs(source.value))) > 0.2


# Fusion and its inverse

OP = re.compile(r'(?P<results>(?:%[\w#:, ]+) = )?"(?P<name>[\w.]+)"\((?P<operands>[^)]*)\)(?P<rest>.*)')


def digest(text: str) -> dict[str, list[str]]:
    """Return, for each function in MLIR's generic form, what its results are made of, as hashes.

    Independent of names and of the order of ops; a linear's bias counts as an add after it.
    """
    functions, known = {}, {}
    name = ""
    for line in text.splitlines():
        if found := re.search(r'sym_name = "(\w+)"', line):
            name = found.group(1)
        if block := re.match(r"\s*\^bb0\((.*)\):", line):
            known = {v: f"argument {i}" for i, v in enumerate(re.findall(r"(%\w+):", block.group(1)))}
        op = OP.search(line)
        if not op or op["name"] in ("builtin.module", "func.func"):
            continue
        operands = [known[v.strip()] for v in op["operands"].split(",") if v.strip()]
        if op["name"] == "func.return":
            functions[name] = operands
            continue
        results, count = re.match(r"(%\w+)(?::(\d+))?", op["results"]).groups()
        signature = [op["name"], attributes(op["rest"]), types(op["rest"])]
        made = [hashed(*signature, *operands, i) for i in range(int(count or 1))]
        if op["name"] == "tenon.linear":
            product = hashed(op["name"], signature[1], signature[2][-1], *operands[:2])
            made = [hashed("tenon.add", "", product, operands[2]) if len(operands) == 3 else product]
        elif op["name"] == "tenon.add" and not signature[1]:
            made = [hashed("tenon.add", "", *operands)]
        known.update({results if count is None else f"{results}#{i}": m for i, m in enumerate(made)})
    return functions


def attributes(rest: str) -> str:
    """Return an op's attributes but for the segment sizes."""
    found = re.search(r"<\{(.*)\}>", rest)
    return re.sub(r"(, )?operandSegmentSizes = array<[^>]*>(, )?", "", found.group(1)) if found else ""


def types(rest: str) -> list[str]:
    """Return the types of an op's operands and results."""
    return re.findall(r"tensor<[^>]*>", rest)


def hashed(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@pytest.mark.parametrize("seeds", [range(0, 200), range(200, 400)], ids=str)
def test_unfuse_undoes_fuse(seeds, tmp_path):
    source = write_module([random_graph(seed) for seed in seeds], tmp_path / "graphs.mlir")
    before = tool(TENON_OPT, source, "--canonicalize", "--cse", "--mlir-print-op-generic")
    passes = ["--canonicalize", "--cse", "--tenon-fuse-epilogue"]
    after = tool(TENON_OPT, source, *passes, "--tenon-unfuse", "--mlir-print-op-generic")
    expected, got = digest(before), digest(after)
    assert "tenon.fused_linear" in tool(TENON_OPT, source, *passes)
    assert len(expected) == len(seeds)
    assert {name for name in expected if expected[name] != got.get(name)} == set()
