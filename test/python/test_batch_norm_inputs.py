# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On the inputs of the GPU tests of batch norm, moments that are combined wrongly give results beyond the bounds."""

import numpy as np
import pytest
from tenon_graphs.batch_norm import FORMS, draw, norm_graph
from tenon_graphs.execute import excess
from tenon_graphs.oracle import Bounded, evaluate

BLOCK = 64  # rows of which a kernel gives moments


def moments(z):
    """Return count, mean and M2 of each block of rows."""
    blocks = [z[start : start + BLOCK] for start in range(0, len(z), BLOCK)]
    return [(len(b), b.mean(0), ((b - b.mean(0)) ** 2).sum(0)) for b in blocks]


def combined(states):
    count, mean, m2 = states[0]
    for other, its_mean, its_m2 in states[1:]:
        total, distance = count + other, its_mean - mean
        mean = mean + distance * other / total
        m2 = m2 + its_m2 + distance**2 * count * other / total
        count = total
    return count, mean, m2


def without_the_last(states):
    return combined(states[:-1])


def the_last_as_a_whole_block(states):
    return combined([*states[:-1], (BLOCK, *states[-1][1:])])


def without_what_is_between(states):
    count, mean, _ = combined(states)
    return count, mean, sum(m2 for _, _, m2 in states)


def with_another_column_s_mean(states):
    count, mean, m2 = combined(states)
    return count, np.roll(mean, 1), m2


def worst(graph, combine):
    """Return the largest error over its bound where batch norm combines moments so."""
    (op,) = (op for op in graph.ops if op.kind == "batch_norm_training")

    def change(_, known):
        count, mean, m2 = combine(moments(known[op.operands[0]].value))
        given = {group: [known[v].value for v in op.group(group)] for group in ("weight", "bias", "running")}
        y = (known[op.operands[0]].value - mean) / np.sqrt(m2 / count + op.attributes["eps"])
        y = y * given["weight"][0] + given["bias"][0] if given["weight"] else y
        new = [mean, m2 / (count - 1)]
        values = [y, *(0.9 * old + 0.1 * one for old, one in zip(given["running"], new, strict=False))]
        return [Bounded(value, np.zeros_like(value)) for value in values]

    inputs = draw(graph)
    pairs = zip(evaluate(graph, inputs, {op: change}), evaluate(graph, inputs), strict=True)
    return max(excess(got.value, expected) for got, expected in pairs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["bf16", "f16", "tf32", "fp32"])
@pytest.mark.parametrize("m", [65, 129, 1000])
def test_mistakes_are_noticed(kind, form, m):
    graph = norm_graph(kind, form, 40, 72, m)
    assert worst(graph, combined) <= 1.0
    for mistake in (without_the_last, the_last_as_a_whole_block, without_what_is_between, with_another_column_s_mean):
        assert worst(graph, mistake) > 1.0, mistake.__name__
