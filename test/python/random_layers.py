# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules of layers that ask much of the choice of strategies; `random_layers.py SEED [COUNT]` prints them.

Shapes that tiles do not divide, dynamic M, batch norms, residuals before and after them, results of several types,
operands given twice, slices, and two layers in a row.
"""

from __future__ import annotations

import random
import sys

ROWS = [1, 5, 64, 130, 512, 1024, 2048, "?"]
COLUMNS = [8, 33, 64, 96, 136, 1024, 4096]
DEPTHS = [16, 33, 64, 256, 1024, 4096]
NARROW = ["f16", "bf16"]
ACTIVATIONS = ["relu", "gelu", "silu", "tanh", "sigmoid"]


class Module:
    """One function of one or two layers."""

    def __init__(self, seed: object, name: str = "f") -> None:
        self.rng = random.Random(f"{seed}")
        self.name, self.arguments, self.body, self.returned = name, [], [], []
        self.m, n, k = self.rng.choice(ROWS), self.rng.choice(COLUMNS), self.rng.choice(DEPTHS)
        element = self.rng.choice(["f32", *NARROW, "bf16"])
        value, type_ = self.layer(self.argument(self.matrix(self.m, k, element)), n, k)
        if self.rng.random() < 0.3:
            value, type_ = self.layer((value, type_), self.rng.choice(COLUMNS), n)
        self.returned.append((value, type_))

    @staticmethod
    def matrix(rows: object, columns: int, element: str) -> str:
        return f"tensor<{rows}x{columns}x{element}>"

    def argument(self, type_: str, note: str = "") -> tuple[str, str]:
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f"{name}: {type_}{note}")
        return name, type_

    def add(self, text: str, type_: str) -> tuple[str, str]:
        name = f"%v{len(self.body)}"
        self.body.append(f"{name} = {text}")
        return name, type_

    def weight(self, n: int, k: int, element: str) -> tuple[str, str]:
        """Return w, perhaps a part of a larger tensor."""
        type_ = self.matrix(n, k, element)
        if self.rng.random() < 0.85:
            return self.argument(type_, " {tenon.param}")
        larger = self.matrix(n + 2, k + 3, element)
        name, _ = self.argument(larger, " {tenon.param}")
        return self.add(f"tensor.extract_slice {name}[1, 2] [{n}, {k}] [1, 1] : {larger} to {type_}", type_)

    def layer(self, x: tuple[str, str], n: int, k: int) -> tuple[str, str]:
        """Append a product and an epilogue."""
        chance = self.rng.random
        element = x[1].rstrip(">").rpartition("x")[2]
        w = self.weight(n, k, element)
        result = "f32" if element in NARROW and chance() < 0.4 else element
        type_ = self.matrix(self.m, n, result)
        precision = f" {{precision = #tenon.precision<{self.rng.choice(['tf32', 'fp16', 'bf16'])}>}}"
        text = f"tenon.linear {x[0]}, {w[0]}{precision if element == 'f32' and chance() < 0.6 else ''}"
        value = self.add(f"{text} : ({x[1]}, {w[1]}) -> {type_}", type_)
        before = value
        for _ in range(self.rng.randrange(3)):
            value = self.step(value, n)
        if self.m != 1 and chance() < 0.6:
            value = self.norm(value, n)
            if chance() < 0.3:
                self.returned.append(value)
        for _ in range(self.rng.randrange(5)):
            value = self.step(value, n)
        if chance() < 0.15:
            self.returned.append(self.rng.choice([before, value]))
        return value

    def norm(self, value: tuple[str, str], n: int) -> tuple[str, str]:
        vector = f"tensor<{n}xf32>"
        if self.rng.random() < 0.5:
            return self.add(f"tenon.batch_norm_training {value[0]} : ({value[1]}) -> {value[1]}", value[1])
        mean, variance = self.argument(vector)[0], self.argument(vector)[0]
        name = f"%v{len(self.body)}"
        self.body.append(
            f"{name}:3 = tenon.batch_norm_training {value[0]} running({mean}, {variance}) {{momentum = 0.1}}"
            f" : ({value[1]}, {vector}, {vector}) -> ({value[1]}, {vector}, {vector})"
        )
        self.returned += [(f"{name}#1", vector), (f"{name}#2", vector)]
        return f"{name}#0", value[1]

    def step(self, value: tuple[str, str], n: int) -> tuple[str, str]:
        name, type_ = value
        kind = self.rng.randrange(6)
        if kind == 0:
            return self.add(f"tenon.{self.rng.choice(ACTIVATIONS)} {name} : {type_}", type_)
        if kind == 1:
            return self.add(f"tenon.mul {name}, {self.rng.choice([2.0, 0.3, -1.5])} : {type_}", type_)
        element = type_.rstrip(">").rpartition("x")[2]
        others = {
            2: f"tensor<{n}x{element}>",
            3: self.matrix(self.m, n, self.rng.choice([element, "bf16", "f32"])),
            4: self.matrix(self.m, 1, element),
            5: self.matrix(self.m, n, element),
        }
        if kind == 5 and self.rng.random() < 0.5:  # of the value itself
            return self.add(f"tenon.mul {name}, {name} : {type_}, {type_}", type_)
        other = self.argument(others[kind])
        op = self.rng.choice(["add", "mul"])
        return self.add(f"tenon.{op} {name}, {other[0]} : {type_}, {other[1]}", type_)

    def mlir(self) -> str:
        names, types = (", ".join(part) for part in zip(*dict(self.returned).items(), strict=True))
        lines = "\n  ".join([*self.body, f"return {names} : {types}"])
        return f"func.func @{self.name}({', '.join(self.arguments)}) -> ({types}) {{\n  {lines}\n}}\n"


if __name__ == "__main__":
    first = int(sys.argv[1])
    for seed in range(first, first + int(sys.argv[2]) if len(sys.argv) > 2 else first + 1):
        print(Module(seed, f"f{seed}").mlir())
