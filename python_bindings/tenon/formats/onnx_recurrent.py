# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent layers of ONNX: one product of all steps, and the steps behind each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tenon.formats.onnx_ops import Tensor, rule
from tenon.importer import tensors
from tenon.importer.builder import Builder, InexpressibleError, Value
from tenon.importer.tensors import static

if TYPE_CHECKING:
    import onnx

    from tenon.formats.onnx_graph import Graph


class Weights(NamedTuple):
    """Of one direction: of x and of the state, `[gates * H, ...]`, and biases `[gates * H]` or nothing."""

    of_x: Value
    of_state: Value
    x_bias: Value | None
    state_bias: Value | None


class Cell(NamedTuple):
    """One direction's steps."""

    builder: Builder
    weights: Weights
    hidden: int
    resets_late: bool  # of GRU: behind the product and its bias

    def gate(self, sums: Value, number: int) -> Value:
        """Return the columns of one gate."""
        begin = number * self.hidden
        return tensors.part(self.builder, Tensor(sums, sums.shape), 1, begin, begin + self.hidden).value

    def state_sums(self, state: Value) -> Value:
        """Return the products of the state with all gates' weights."""
        return self.builder.linear(state, self.weights.of_state, self.weights.state_bias)

    def rnn(self, sums: Value, state: Value, memory: Value | None) -> tuple[Value, Value | None]:
        """Return the next state."""
        b = self.builder
        return b.unary("tanh", b.binary("add", sums, self.state_sums(state))), memory

    def lstm(self, sums: Value, state: Value, memory: Value) -> tuple[Value, Value]:
        """Return the next state and memory."""
        b = self.builder
        sums = b.binary("add", sums, self.state_sums(state))
        taken, given, kept = (b.unary("sigmoid", self.gate(sums, i)) for i in range(3))
        new = b.unary("tanh", self.gate(sums, 3))
        memory = b.binary("add", b.binary("mul", kept, memory), b.binary("mul", taken, new))
        return b.binary("mul", given, b.unary("tanh", memory)), memory

    def gru(self, sums: Value, state: Value, memory: Value | None) -> tuple[Value, Value | None]:
        """Return the next state."""
        b = self.builder
        if not self.resets_late:
            raise InexpressibleError("it resets the state ahead of the product (linear_before_reset = 0)")
        others = self.state_sums(state)
        kept, reset = (b.unary("sigmoid", b.binary("add", self.gate(sums, i), self.gate(others, i))) for i in range(2))
        new = b.unary("tanh", b.binary("add", self.gate(sums, 2), b.binary("mul", reset, self.gate(others, 2))))
        return b.binary("add", new, b.binary("mul", kept, b.binary("sub", state, new))), memory


_FUNCTIONS = {
    "RNN": [b"Tanh"],
    "GRU": [b"Sigmoid", b"Tanh"],
    "LSTM": [b"Sigmoid", b"Tanh", b"Tanh"],
}


@rule(*_FUNCTIONS)
def _recurrent(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    """Give Y, `[steps, directions, batch, H]`, and the last states."""
    b, names = g.builder, [*node.input, *[""] * 8][:8]
    kind, direction = node.op_type, given.get("direction", b"forward")
    directions = [False, True] if direction == b"bidirectional" else [direction == b"reverse"]
    functions = _FUNCTIONS[kind] * len(directions)
    if given.get("activations", functions) != functions or given.get("layout", 0) or "clip" in given:
        raise InexpressibleError("it has other functions than it is known for, or clips, or another layout")
    if names[4] or names[7] or given.get("input_forget", 0):
        raise InexpressibleError("it has lengths of sequences, peepholes or an input gate of another's")
    x = g.tensor(names[0])
    steps, batch, features = static(x.shape)
    rows = tensors.reshape(b, x.value, (steps * batch, features))
    hidden = given["hidden_size"]
    outputs, states, memories = [], [], []
    for i, is_reversed in enumerate(directions):
        cell = Cell(b, _weights(g, names, i), hidden, bool(given.get("linear_before_reset", 0)))
        sums = b.linear(rows, cell.weights.of_x, cell.weights.x_bias)
        state, memory = (_first(g, name, i, (batch, hidden), x.value.dtype) for name in names[5:7])
        results: list[Value] = [state] * steps
        for step in range(steps)[:: -1 if is_reversed else 1]:
            part = tensors.part(b, Tensor(sums, sums.shape), 0, step * batch, (step + 1) * batch).value
            state, memory = getattr(cell, kind.lower())(part, state, memory)
            results[step] = state
        outputs.append(_stack(b, results, (steps, 1, batch, hidden)))
        states.append(state)
        memories.append(memory)
    last = [states, memories] if kind == "LSTM" else [states]
    for name, values in zip(node.output[1:], last, strict=False):
        g.tensors[name] = _stack(b, values, (len(directions), batch, hidden))
    return outputs[0] if len(outputs) == 1 else tensors.concatenate(b, outputs, 1)


def _weights(g: Graph, names: list[str], direction: int) -> Weights:
    of_x, of_state = (_matrix(g, name, direction) for name in names[1:3])
    bias = _matrix(g, names[3], direction) if names[3] else None
    if bias is None:
        return Weights(of_x, of_state, None, None)
    count = bias.shape[0] // 2
    halves = [tensors.part(g.builder, Tensor(bias, bias.shape), 0, i * count, (i + 1) * count) for i in range(2)]
    return Weights(of_x, of_state, halves[0].value, halves[1].value)


def _matrix(g: Graph, name: str, direction: int) -> Value:
    """Return what one direction has of a tensor of them all."""
    if name in g.constants:
        own = f"{name}_{direction}"
        g.constants[own] = g.constants[name][direction]
        return g.parameter(own)
    tensor = g.tensor(name)
    one = tensors.part(g.builder, tensor, 0, direction, direction + 1)
    return tensors.reshape(g.builder, one.value, tensor.shape[1:])


def _first(g: Graph, name: str, direction: int, shape: tuple[int, int], dtype: str) -> Value:
    return _matrix(g, name, direction) if name else tensors.filled(g.builder, 0.0, dtype, shape)


def _stack(b: Builder, values: list[Value], shape: tuple[int, ...]) -> Tensor:
    whole = values[0] if len(values) == 1 else tensors.concatenate(b, [Tensor(v, v.shape) for v in values], 0).value
    return tensors.view(b, Tensor(whole, whole.shape), shape)
