# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs, the same for the same seed.

None to two linears, some of operands that are cast or computed; chains and DAGs of every epilogue
op with operands of every shape on either side; values read twice and returned; residuals from
inputs and from other linears. Values stay bounded, and nothing is divided by what may be near zero,
so that rounding errors stay small.
"""

from __future__ import annotations

import math
import random

from .graph import Graph, Op, Value
from .oracle import UNARY

BATCHES = [1, 2, 3, 17, 128, 130, 513]
FEATURES = [1, 2, 3, 7, 8, 16, 33, 64, 128, 200, 257]
DTYPES = ["f32", "f16", "bf16", "f64"]
LIMIT = 40.0  # magnitude above which values are squashed
LARGE = 1e34  # of graphs that square much

BINARY = ["add", "sub", "mul", "div", "min", "max", "gate"]


class Generator:
    """Makes one graph."""

    def __init__(
        self, name: str, seed: object, dtype: str, features: list[int], *, views: bool = False, rows: bool = False
    ) -> None:
        self.features, self.views, self.rows = features, views, rows
        self.rng = random.Random(f"{seed}")
        self.dtype = dtype
        is_large = views and dtype != "f16" and self.rng.random() < 0.15
        self.limit, self.narrow = (LARGE, ["bf16"]) if is_large else (LIMIT, ["f16", "bf16"])
        self.graph = Graph(name, {"m": self.rng.choice(BATCHES)}, dynamic=self.chance(0.5))
        self.produced: list[Value] = []  # matrices, for later ops to read again

    # Drawing

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def draw_scalar(self) -> float:
        if self.chance(0.3):
            return self.rng.choice([0.0, -0.0, 1.0, 2.0, 0.5, -1.0, 0.25])
        return round(self.rng.uniform(-2.0, 2.0), 3)

    def operand_dtype(self) -> str:
        mixed = self.dtype != "f64" and self.chance(0.2)
        return self.rng.choice(["f32", *self.narrow]) if mixed else self.dtype

    # Building

    def input(self, shape: tuple, fill: str = "unit", dtype: str | None = None) -> Value:
        if self.views and shape and self.chance(0.2):
            return self.part_of_input(shape, fill, dtype)
        return self.whole_input(shape, fill, dtype)

    def part_of_input(self, shape: tuple, fill: str, dtype: str | None) -> Value:
        """Return a slice of a larger input, or one that is reshaped."""
        if self.chance(0.3) and all(isinstance(extent, int) for extent in shape):
            outer = 2 if shape[0] % 2 == 0 else 1
            sizes = (math.prod(shape),) if len(shape) == 2 else (outer, shape[0] // outer)
            larger = self.whole_input(sizes, fill, dtype, shape[-1])
            return self.emit("reshape", [larger], larger.magnitude, larger, shape=shape)
        places = [
            (0, 1) if isinstance(e, str) else (self.rng.randint(0, 3), self.rng.choice([1, 1, 1, 2])) for e in shape
        ]
        sizes = tuple(
            extent if isinstance(extent, str) else first + step * (extent - 1) + 1 + self.rng.randint(0, 2)
            for extent, (first, step) in zip(shape, places, strict=True)
        )
        larger = self.whole_input(sizes, fill, dtype, sizes[-1])
        return self.slice(larger, shape, places)

    def slice(self, x: Value, shape: tuple, places: list[tuple[int, int]]) -> Value:
        offsets, steps = zip(*places, strict=True)
        return self.emit("slice", [x], x.magnitude, x, shape=shape, offsets=offsets, steps=steps)

    def whole_input(self, shape: tuple, fill: str, dtype: str | None, depth: int = 0) -> Value:
        has_batch = any(isinstance(extent, str) for extent in shape)
        value = Value(
            # tenon-run draws what has "var" in its name above 0.
            f"{'var' if fill == 'positive' else 'x'}{len(self.graph.inputs)}",
            shape,
            dtype or self.operand_dtype(),
            fill,
            depth,
            is_param=not has_batch and self.chance(0.7),
            magnitude={"positive": 2.0}.get(fill, 1.0),
        )
        self.graph.inputs.append(value)
        return value

    def emit(self, kind: str, operands: list[Value], magnitude: float, like: Value, **more: object) -> Value:
        """Append an op with one result of `like`'s type, or of `shape` and `dtype`."""
        shape, dtype = more.pop("shape", like.shape), more.pop("dtype", like.dtype)
        groups = more.pop("groups", ())
        result = Value(f"v{len(self.graph.ops)}", shape, dtype, magnitude=magnitude)
        self.graph.ops.append(Op(kind, operands, [result], more, groups))
        if len(shape) == 2 and magnitude > self.limit:
            return self.emit("tanh", [result], 1.0, result)
        return result

    def cast(self, x: Value, dtype: str | None = None) -> Value:
        return self.emit("cast", [x], x.magnitude, x, dtype=dtype or self.rng.choice(["f32", *self.narrow]))

    def linear(self, x: Value, features: int) -> Value:
        narrow = None
        if x.dtype != "f64" and self.chance(0.12):  # autocast
            narrow = self.rng.choice(self.narrow)
            x = self.cast(x, narrow)
        w = self.input((features, x.shape[1]), "weight", "f32" if narrow else x.dtype)
        operands = [x, self.cast(w, narrow) if narrow else w]
        if self.chance(0.6):
            dtype = x.dtype if x.dtype == "f64" or self.chance(0.8) else "f32"
            operands.append(self.input((features,), dtype=dtype))
        more: dict[str, object] = {"shape": (x.shape[0], features), "dtype": x.dtype}
        if x.dtype in ("f16", "bf16") and self.chance(0.3):
            more["dtype"] = "f32"
        if x.dtype == "f32" and self.chance(0.3):
            most = 4 if self.limit == LIMIT else 3  # what f16 does not hold is no number of such a product
            more["precision"] = self.rng.choice(["fp32", "tf32", "bf16", "fp16"][:most])
        return self.emit("linear", operands, 2.0 * x.magnitude + 1.0, x, **more)

    def move_into(self, x: Value, low: float, high: float) -> Value:
        """Scale and shift x so that hardly anything of it is outside of two bounds, and clamp the rest."""
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        x = self.emit("mul", [x], half, x, scalar=float(f"{half / x.magnitude:.3e}"))
        if middle:
            x = self.emit("add", [x], high, x, scalar=middle)
        return self.emit("clamp", [x], max(abs(low), abs(high)), x, min=low, max=high)

    def unary(self, x: Value) -> Value:
        kind = self.rng.choice([kind for kind in UNARY if self.rows or kind != "rsqrt"])  # which norms of rows have
        function = UNARY[kind]
        if function.domain:
            x = self.move_into(x, *function.domain)
        magnitude = function.magnitude(x.magnitude) if function.magnitude else x.magnitude
        return self.emit(kind, [x], magnitude, x, **function.draw(self.rng))

    def other_operand(self, x: Value, positive: bool) -> Value:
        """Return a tensor that broadcasts to x's shape."""
        m, n = x.shape
        if self.views and not positive and self.chance(0.06):
            return x
        if self.produced and not positive and self.chance(0.2):
            fitting = [v for v in self.produced if v.shape == x.shape and (v.dtype == "f64") == (x.dtype == "f64")]
            if fitting:
                return self.rng.choice(fitting)
        shapes = [(n,)] * 6 + [(), ()] + [(m, 1)] * 3 + [(m, n)] * 4 + [(1, n), (1, 1)]
        value = self.input(self.rng.choice(shapes), "positive" if positive else "unit")
        if not positive and self.chance(0.2):
            return self.unary(value)
        if not positive and self.chance(0.1):
            return self.emit("mul", [value], 2.0, value, scalar=self.draw_scalar())
        if value.dtype != "f64" and self.chance(0.1):
            return self.cast(value)
        return value

    def binary(self, x: Value) -> Value:
        kind = self.rng.choice(BINARY)
        first = self.chance(0.3)
        if kind == "div" and first:  # divide by x
            x = self.emit("clamp", [x], 2.0, x, min=0.5, max=2.0)
        scale = {"add": lambda a, b: a + b, "sub": lambda a, b: a + b, "mul": lambda a, b: a * b}
        combine = scale.get(kind, (lambda a, b: 2.0 * a + b) if kind == "div" else max)
        if self.chance(0.3):
            scalar = self.draw_scalar()
            if kind in ("min", "max", "mul"):  # keep what the value holds: no mul by 0, few all below the minimum
                scalar = scalar / 4.0 if kind != "mul" else scalar or 3.0
            if kind == "div" and not first:
                scalar = self.rng.choice([0.5, 2.0, 4.0, round(self.rng.uniform(0.5, 2.0), 3)])
            more = {"scalar_first": True} if first else {}
            return self.emit(kind, [x], combine(x.magnitude, abs(scalar)), x, scalar=scalar, **more)
        other = self.other_operand(x, positive=kind == "div" and not first)
        operands = [other, x] if first else [x, other]
        magnitude = combine(x.magnitude, other.magnitude)
        return self.emit(kind, operands, magnitude, x, dtype=operands[0].dtype)

    def batch_norm_inference(self, x: Value) -> Value:
        n = x.shape[1]
        groups = ["stats", *(g for g in ("weight", "bias") if self.chance(0.6))]
        operands = [x, self.input((n,)), self.input((n,), "positive"), *(self.input((n,)) for _ in groups[1:])]
        eps = self.rng.choice([1e-5, 1e-3])
        magnitude = 1.5 * (x.magnitude + 1.0) + 1.0
        return self.emit("batch_norm_inference", operands, magnitude, x, groups=tuple(groups), eps=eps)

    def batch_norm_training(self, x: Value) -> Value:
        n = x.shape[1]
        groups = [g for g in ("weight", "bias", "running") if self.chance(0.6)]
        operands = [x]
        for group in groups:
            operands.append(self.input((n,)))
            if group == "running":
                operands.append(self.input((n,), "positive"))
        more = {"eps": self.rng.choice([1e-5, 1e-3]), "momentum": self.rng.choice([0.1, 0.25])}
        result = self.emit("batch_norm_training", operands, 8.0, x, groups=tuple(groups), **more)
        if "running" not in groups:
            return result
        op = self.graph.ops[-1]
        for i, old in enumerate(operands[-2:]):
            op.results.append(Value(f"{result.name}_s{i}", (n,), old.dtype, magnitude=2.0))
        self.graph.returns += [v for v in op.results[1:] if self.chance(0.8)]
        if self.chance(0.15):  # a per-column result read on the spot, which cannot fuse
            return self.emit("add", [result, op.results[1]], 10.0, result)
        return result

    def reduce_row(self, x: Value) -> Value:
        """Return x less what one value of each of its rows, or groups of columns, is made of, or times it."""
        m, n = x.shape
        of = self.rng.choice(["sum", "mean", "max", "min", "argmax", "argmin"])
        groups = self.rng.choice([g for g in range(1, min(n, 64) + 1) if n % g == 0]) if self.chance(0.3) else 1
        is_place = of.startswith("arg")
        size = n if is_place else x.magnitude * (n // groups if of == "sum" else 1)
        more = {"parts": groups} if groups != 1 else {}
        more |= {"dtype": "f64" if x.dtype == "f64" else "f32"} if is_place else {}
        value = self.emit("reduce_row", [x], size, x, shape=(m, groups), of=of, **more)
        if is_place:  # above 0, so that no infinity becomes NaN for one of two places that are nearly as large
            value = self.emit("add", [value], n + 1.0, value, scalar=1.0)
            value = self.emit("mul", [value], 1.0, value, scalar=float(f"{1.0 / n:.3e}"))
        if self.chance(0.4):
            value = self.unary(value)
        if self.chance(0.1):
            self.graph.returns.append(value)
        if self.chance(0.3):
            other = self.input(self.rng.choice([(groups,), (1, groups), (m, groups), ()]))
            value = self.emit("add", [value, other], value.magnitude + other.magnitude, value)
        if groups != 1 or self.chance(0.2):
            value = self.emit("repeat_columns", [value], value.magnitude, value, shape=x.shape, times=n // groups)
            if self.chance(0.1):
                self.graph.returns.append(value)
            if self.chance(0.2):
                value = self.unary(value)
        kind = self.rng.choice(["sub", "add", "mul"])
        magnitude = x.magnitude * value.magnitude if kind == "mul" else x.magnitude + value.magnitude
        return self.emit(kind, [x, value], magnitude, x)

    def batch_sum(self, x: Value) -> Value:
        """Return the sum over the batch of each column, and x less a part of it, or x."""
        m, n = x.shape
        dtype = x.dtype if x.dtype == "f64" or self.chance(0.5) else "f32"
        rows = self.graph.extents[m]
        value = self.emit("batch_sum", [x], x.magnitude * rows, x, shape=(n,), dtype=dtype)
        if self.chance(0.7):
            self.graph.returns.append(value)
            return x
        value = self.emit("mul", [value], x.magnitude, value, scalar=float(f"{1.0 / rows:.3e}"))
        return self.emit("sub", [x, value], 2.0 * x.magnitude, x)

    def view(self, x: Value) -> Value:
        """Return some columns, or more."""
        m, n = x.shape
        if n < 300 and self.chance(0.5):
            fitting = [v for v in self.produced if v.shape[0] == m and v.dtype == x.dtype and v.shape[1] < 300]
            parts = [x, self.rng.choice([*fitting, x])]
            shape = (m, sum(part.shape[1] for part in parts))
            return self.emit("concat", parts, max(part.magnitude for part in parts), x, shape=shape)
        step = self.rng.choice([1, 1, 2])
        size = self.rng.randint(1, (n + step - 1) // step)
        return self.slice(x, (m, size), [(0, 1), (self.rng.randint(0, n - 1 - step * (size - 1)), step)])

    def step(self, x: Value) -> Value:
        """Append an op on x, or on an earlier matrix of its shape."""
        fitting = [v for v in self.produced if v.shape == x.shape]
        if fitting and self.chance(0.15):
            x = self.rng.choice(fitting)
        if self.limit == LARGE and x.magnitude**2 < LARGE and self.chance(0.5):
            x = self.emit("mul", [x, x], x.magnitude**2, x)
        makers = [
            self.unary,
            self.binary,
            self.batch_norm_inference,
            self.batch_norm_training,
            self.cast,
            self.reduce_row,
            self.batch_sum,
        ]
        weights = [
            32,
            45,
            6,
            11 if self.graph.extents[x.shape[0]] > 1 and x.magnitude < 1e15 else 0,
            6 if x.dtype != "f64" else 0,
            20 if self.rows and x.magnitude < 1e15 else 0,
            8 if self.rows and x.magnitude * self.graph.extents[x.shape[0]] < self.limit else 0,
        ]
        is_view = self.views and self.chance(0.08)
        result = self.view(x) if is_view else self.rng.choices(makers, weights)[0](x)
        self.produced.append(result)
        return result

    def chain(self, x: Value, most: int) -> Value:
        self.produced.append(x)
        for _ in range(self.rng.randint(0, most)):
            x = self.step(x)
        return x

    # The graph

    def make(self) -> Graph:
        features, depth = self.rng.choice(self.features), self.rng.choice(self.features)
        x = self.input(("m", depth), dtype=self.dtype)
        if self.chance(0.12):
            x = self.chain(x, 3)
        if self.chance(0.05):  # no product comes first
            features, y = depth, self.chain(x, 7)
        else:
            y = self.chain(self.linear(x, features), 7)
        layout = self.rng.choices(["one", "stacked", "parallel", "independent"], [60, 18, 15, 7])[0]
        if layout == "stacked":
            y = self.chain(self.linear(y, self.rng.choice(self.features)), 4)
        elif layout == "parallel":
            z = self.chain(self.linear(x, features), 2)
            if (y.dtype == "f64") == (z.dtype == "f64") and y.shape == z.shape:
                y = self.chain(self.emit("add", [y, z], y.magnitude + z.magnitude, y), 3)
        elif layout == "independent":
            self.graph.returns.append(y)
            self.graph.extents["p"] = self.rng.choice(BATCHES)
            y = self.chain(self.linear(self.input(("p", depth), dtype=self.dtype), features), 3)
        self.graph.returns.append(y)
        self.graph.returns += [v for v in self.produced if v is not y and self.chance(0.1)]
        if self.chance(0.05):
            self.graph.returns.append(self.rng.choice([x, y]))
        self.rng.shuffle(self.graph.returns)
        return self.graph


def random_graph(
    seed: object,
    name: str = "",
    dtype: str = "",
    features: list[int] = FEATURES,
    *,
    views: bool = False,
    rows: bool = False,
) -> Graph:
    """Return the graph of a seed; its element type, if not given, is drawn too, and N and K from `features`.

    With `views`, inputs are in part slices or reshaped, values too, and operands given twice; some graphs square until
    values are large. With `rows`, some ops reduce rows.
    """
    dtype = dtype or random.Random(f"dtype {seed}").choices(DTYPES, [40, 22, 22, 16])[0]
    return Generator(name or f"g{seed}", seed, dtype, features, views=views, rows=rows).make()
