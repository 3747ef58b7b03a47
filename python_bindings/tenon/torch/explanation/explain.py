# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tenon.torch.explain`: what is fused, what is not, and why."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from tenon.torch.calls.call import FusedCall
from tenon.torch.capture import capture_inference
from tenon.torch.choice.judge import Judge
from tenon.torch.explanation.diagram import diagram
from tenon.torch.explanation.quantisation import quantised_layers, relative_error
from tenon.torch.explanation.report import (
    Report,
    Step,
    count,
    format_rows,
    read_steps,
    rows_of_calls,
    sentence,
    summary,
)
from tenon.torch.fusion.padding import pad_products
from tenon.torch.fusion.partition import missed_of, partition
from tenon.torch.fusion.scales import scale_weights
from tenon.torch.fusion.unread import leave_unread
from tenon.torch.fusion.views import op_name
from tenon.torch.fusion.words import find_words
from tenon.torch.inductor.decompositions import spell_out_vectors
from tenon.torch.options import Options


class Explanation:
    """What Tenon makes of a model; printing it gives the table, a notebook shows the picture.

    Attributes:
        table: the explanation as text.
        reports: one for each graph that Dynamo captured, in the order in which they ran.

    """

    def __init__(self, name: str, target: str, reports: Sequence[Report]) -> None:
        """Explain a model called `name` from what was captured of it."""
        self.name, self.target, self.reports = name, target, list(reports)
        self.table = self._table()

    def _table(self) -> str:
        parts = [f"{self.name} on {self.target}: {summary(self.reports)}"]
        layers = 0
        for number, report in enumerate(self.reports, 1):
            if len(self.reports) > 1:
                parts.append(f"Graph {number} of {len(self.reports)}")
            if report.error is not None:
                parts.append(f"Precision fp8: what it computes is off by {report.error:.1e} of its norm")
            parts.append(format_rows(report.rows(layers)))
            parts.append("\n".join(map(sentence, report.notes)))
            layers += len(report.layers)
        return "\n\n".join(part for part in parts if part)

    def __str__(self) -> str:
        """Return the table."""
        return self.table

    __repr__ = __str__

    def to_svg(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the picture of the graph before and after to `path`, as SVG; without one, return it."""
        return _written(diagram(self.name, self.target, self.reports), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write a page with the picture and the table to `path`; without one, return it."""
        page = (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
            f"<title>{escape(self.name)}, explained by Tenon</title></head>\n"
            f'<body style="margin:0;background:#ffffff">\n{self._repr_html_()}\n</body></html>\n'
        )
        return _written(page, path)

    def _repr_html_(self) -> str:
        style = "margin:8px 36px 36px;font:12px/1.5 'JetBrains Mono',Menlo,Consolas,monospace;color:#1f2430"
        return f'{self.to_svg()}\n<pre style="{style}">{escape(self.table)}</pre>'


def explain(
    model: torch.nn.Module | Callable[..., Any],
    *inputs: Any,
    options: Options | Mapping[str, Any] | None = None,
) -> Explanation:
    """Explain what `torch.compile(model, backend="tenon")` makes of a model.

    The model runs once, by PyTorch's own kernels; its buffers and the random state are put back.
    On a GPU layers are timed as for torch.compile, and what is not worth a call stays with PyTorch. No GPU is needed:
    `options={"target": "sm_90a"}` explains what could run there.

    Args:
        model: a module or function, in training mode or not.
        *inputs: what to call it with; sizes in the explanation are those of this call.
        options: as for torch.compile; see `tenon.torch.Options`.

    Raises:
        TypeError: the inputs are given as a tuple, which the model does not take.
        ValueError: an option that is not known, or a model that computes nothing.

    """
    options = Options.of(options)
    reports: list[Report] = []
    targets = [options.target] if isinstance(options.target, str) else list(options.target or [])

    def backend(graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        parameters = {i for i, t in enumerate(example_inputs) if isinstance(t, torch.nn.Parameter)}

        def compiler(aten: fx.GraphModule, fakes: Sequence[Any]) -> Callable[..., Any]:
            known = parameters if len(fakes) == len(example_inputs) else set()
            whole = fx.GraphModule(aten, copy.deepcopy(aten.graph))  # as it is before it is cut
            placeholders = aten.graph.find_nodes(op="placeholder")
            layers = quantised_layers(aten.graph, {placeholders[i].name for i in known})
            inputs = [node.name for node in graph.graph.find_nodes(op="placeholder")]
            report = _report(aten, known, inputs if known else [], options, targets)
            reports.append(report)

            def run(*given: Any) -> Any:
                results = whole.forward(*given)
                if options.precision == "fp8":
                    report.error = relative_error(whole, layers, given, results)
                return results

            return run

        return capture_inference(graph, example_inputs, compiler)

    model = getattr(model, "_orig_mod", model)  # what torch.compile was given
    with torch.no_grad(), _unchanged(model), _one_by_one(inputs):
        torch.compile(model, backend=backend, dynamic=False)(*inputs)
    if not reports:
        raise ValueError("tenon: there is nothing to explain: the model computes nothing with tensors")
    name = type(model).__name__ if isinstance(model, torch.nn.Module) else getattr(model, "__name__", "model")
    return Explanation(name, ", ".join(targets), reports)


def format_table(calls: Sequence[FusedCall], options: Options) -> str:
    """Return as text what became of a graph's partitions, once they are compiled with options."""
    title = f"tenon: a graph with {count(len(calls), 'fused call')}"
    if not calls:
        return title
    names = ", ".join(call.function.name for call in calls)
    return f"{title}: {names}\n\n{format_rows(rows_of_calls(calls, options))}"


def _report(
    aten: fx.GraphModule, parameters: set[int], inputs: Sequence[str], options: Options, targets: list[str]
) -> Report:
    """Cut a graph, and report on it; `inputs` are Dynamo's names, if they are known."""
    placeholders = aten.graph.find_nodes(op="placeholder")
    for node, name in zip(placeholders, inputs, strict=False):
        node._rename(re.sub(r"^l_(.+?)_*$", r"\1", name, flags=re.IGNORECASE))
    names = {node.name for i, node in enumerate(placeholders) if i in parameters}
    tensors = [node.meta["val"] for node in placeholders if isinstance(node.meta.get("val"), torch.Tensor)]
    if not targets:
        targets.extend(options.targets_for(tensors[0].device) if tensors else ["cpu"])
    devices = {tensor.device for tensor in tensors}
    options = functools.reduce(Options.fitting, devices, options)
    judge = Judge(options)
    timed = any(map(judge.measures, devices))
    notes = []
    if timed:
        scale_weights(aten.graph)
        notes = [*leave_unread(aten.graph), *spell_out_vectors(aten.graph), *pad_products(aten.graph)]
    steps: list[Step] = read_steps(aten.graph, names)
    with unset_fake_temporarily():  # as in `partition`: under a fake mode, a constant has no value
        words = find_words(aten.graph, names)
    reasons = {node.name: _why(node, reason) for node, reason in words[1].items()}
    given = options.of_partition()
    partitions = partition(aten, names, options.linear_precision(), judge if timed else None, timed, **given)
    remaining = {node.name for node in aten.graph.nodes}
    chosen = {part.source: options.with_settings(judge.call_of(part)[1]) for part in partitions if timed}
    return Report(steps, partitions, missed_of(aten), reasons, remaining, targets, options, chosen, notes)


def _why(node: fx.Node, reason: str) -> str:
    """Return why Tenon has no word for a node."""
    gives_several = isinstance(node.meta.get("val"), tuple | list)
    return sentence(f"Tenon has no word for {op_name(node)}" if gives_several else reason)


@contextlib.contextmanager
def _unchanged(model: Any) -> Iterator[None]:
    """Put a module's buffers, the random state and Dynamo's limits back afterwards."""
    buffers = list(model.buffers()) if isinstance(model, torch.nn.Module) else []
    before = [buffer.detach().clone() for buffer in buffers]
    # Each explanation is one more compilation of the same code.
    unlimited = torch._dynamo.config.patch(recompile_limit=1 << 30, accumulated_recompile_limit=1 << 30)
    with torch.random.fork_rng(), unlimited:
        try:
            yield
        finally:
            for buffer, value in zip(buffers, before, strict=True):
                if not torch.equal(buffer, value):
                    buffer.copy_(value)


@contextlib.contextmanager
def _one_by_one(inputs: Sequence[Any]) -> Iterator[None]:
    """Say what is wrong where a call with one tuple fails, but not where Tenon does."""
    try:
        yield
    except torch._dynamo.exc.BackendCompilerFailed:
        raise
    except Exception as error:
        if len(inputs) != 1 or not isinstance(inputs[0], tuple | list):
            raise
        kind = type(inputs[0]).__name__
        raise TypeError(
            f"tenon: the model cannot be called with one {kind}; pass its inputs to explain one by one: "
            "explain(model, x, y), not explain(model, (x, y))"
        ) from error


def _written(text: str, path: str | os.PathLike[str] | None) -> str | None:
    if path is None:
        return text
    Path(path).write_text(text, encoding="utf-8")
    return None
