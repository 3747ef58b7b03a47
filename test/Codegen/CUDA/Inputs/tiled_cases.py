# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that cover what --tenon-select-strategy makes of tiled layers: schedules, element types, epilogues, shapes.

A layer has the schedule that it chooses for it, so that no kernel is here that no user gets. It chooses for a grid
of layers, of which the full product would take an hour to assemble, so:

- each schedule meets each element type, on the first target that chooses it;
- epilogues and kinds of shapes take turns, so that each meets each type, though not each pair of them;
- tiles that leave a thread few registers to spare meet, for each type, each kind of shapes that has them on sm_80,
  and those that need most on sm_90, where ptxas makes other code.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from dataclasses import dataclass

# Targets whose limits or multiprocessors lead to different schedules.
TARGETS = ("sm_80", "sm_86", "sm_90")
# Types of x and w, and of the result.
TYPES = (("bf16", "bf16"), ("f16", "f16"), ("f32", "f32"), ("bf16", "f32"))
EPILOGUES = ("bias", "leaky", "gelu", "row", "two")
# Kinds of shapes, those that need most registers last: the Ms, and by how much N and K are smaller than the whole
# tiles below. A kernel's code depends on whether it knows M, and on what rows of K and of N are multiples of: of bf16,
# rows of K here are of 16, 8, 4 and 2 bytes, and rows of N too.
KINDS = (
    (tuple(2**i for i in range(15)), 0, 0),
    (("?",), 0, 0),
    (("?",), 24, 24),
    (("?",), 20, 24),
    (("?",), 23, 20),
    ((17, 45, 100, 190, 1000, 9000), 22, 22),
    (("?",), 16, 21),
)
NS = (32, 64, 128, 256, 512, 768, 1024, 2048, 4096, 8192, 16384)
KS = (64, 128, 1024, 8192, 65536)
# Accumulators of a thread from which on few registers are to spare, and how many kinds of shapes they then meet.
MANY_ACCUMULATORS = 64
KINDS_OF_MANY = {"sm_80": len(KINDS), "sm_86": 1, "sm_90": 3}


@dataclass(frozen=True)
class Schedule:
    """A schedule as --tenon-select-strategy writes it, and the bytes of shared memory that it says it needs."""

    text: str
    shared_bytes: int

    def field(self, name: str) -> str:
        """Return a field's text."""
        return re.search(rf"{name} = (\w+)", self.text).group(1)

    @property
    def accumulators(self) -> int:
        """Return the number of accumulators of a thread."""
        m, n, _ = map(int, self.field("tile").split("x"))
        across, down = map(int, self.field("warps").split("x"))
        return m * n // (32 * across * down)


@dataclass(frozen=True)
class Layer:
    """A layer, and which of the kinds its shape is."""

    types: tuple[str, str]
    epilogue: str
    kind: int
    shape: tuple[int | str, int, int]

    @property
    def name(self) -> str:
        """Return the function's name, which says what the layer is."""
        shape = "x".join("m" if extent == "?" else str(extent) for extent in self.shape)
        return f"{'_'.join(self.types)}_{self.epilogue}_{shape}"


@dataclass(frozen=True)
class Case:
    """A layer to assemble, with the schedule that it gets on a target."""

    target: str
    schedule: Schedule
    layer: Layer

    @property
    def name(self) -> str:
        """Return the function's name."""
        field = self.schedule.field
        stream = "_streamk" if "stream_k" in self.schedule.text else ""
        return f"{self.layer.name}_{field('tile')}_w{field('warps')}_s{field('stages')}{stream}"


def run(arguments: list[str], source: str) -> tuple[str, str]:
    """Run tenon-opt; its failure is the test's."""
    result = subprocess.run(["tenon-opt", *arguments], input=source, text=True, capture_output=True, check=False)
    if result.returncode:
        sys.exit(f"tenon-opt {' '.join(arguments)} failed:\n{result.stderr[:4000]}")
    return result.stdout, result.stderr


def list_layers(types: tuple[str, str]) -> list[Layer]:
    """Return the grid of layers of `types`, whose epilogues take turns."""
    epilogues = itertools.cycle(EPILOGUES)
    return [
        Layer(types, next(epilogues), kind, (m, n - less_n, k - less_k))
        for kind, (ms, less_n, less_k) in enumerate(KINDS)
        for k in KS
        for m in ms
        for n in NS
    ]


def find_schedules(target: str, types: tuple[str, str]) -> dict[Schedule, list[Layer]]:
    """Return the schedules that are chosen for some layer of `types`, each with its layers."""
    layers = {layer.name: layer for layer in list_layers(types)}
    source = "".join(write_layer(layer, name) for name, layer in layers.items())
    select = f"--tenon-select-strategy=targets={target} strategy=tiled"
    text, remarks = run(["--tenon-fuse-epilogue", select, "--remarks-filter=tenon-select-strategy"], source)
    names, chosen = re.findall(r"func\.func @(\w+)", text), re.findall(r"#tenon\.schedule<([^>]*)>", text)
    shared = dict(re.findall(r'Function=(\w+) .*"shared_bytes":(\d+)', remarks))
    schedules: dict[Schedule, list[Layer]] = {}
    for name, schedule in zip(names, chosen, strict=True):
        schedules.setdefault(Schedule(schedule, int(shared[name])), []).append(layers[name])
    return schedules


def choose_layers(target: str, schedule: Schedule, layers: list[Layer], turn: int) -> list[Layer]:
    """Return those of `layers` that `schedule` meets: of one kind, in turn, or the last kinds; epilogues take turns."""
    kinds = sorted({layer.kind for layer in layers})
    has_many = schedule.accumulators >= MANY_ACCUMULATORS
    kinds = kinds[-KINDS_OF_MANY[target] :] if has_many else [kinds[turn % len(kinds)]]
    chosen = []
    for kind in kinds:
        wanted = turn + kind
        of_kind = [layer for layer in layers if layer.kind == kind]
        chosen.append(min(of_kind, key=lambda layer: (EPILOGUES.index(layer.epilogue) - wanted) % len(EPILOGUES)))
    return chosen


def choose_cases() -> list[Case]:
    """Return the covering set."""
    cases, seen = [], set()
    for target in TARGETS:
        for number, types in enumerate(TYPES):
            for place, (schedule, layers) in enumerate(find_schedules(target, types).items()):
                is_new = (types, schedule) not in seen
                seen.add((types, schedule))
                has_many = schedule.accumulators >= MANY_ACCUMULATORS
                if is_new or (has_many and target == "sm_90"):
                    chosen = choose_layers(target, schedule, layers, 3 * number + place)
                    cases += [Case(target, schedule, layer) for layer in chosen]
    return cases


def write_layer(layer: Layer, name: str, attributes: str = "") -> str:
    """Return a function with `layer`, whose product has `attributes`."""
    (m, n, k), (element, result) = layer.shape, layer.types
    acc, value = f"tensor<{m}x{n}x{element}>", f"tensor<{m}x{n}x{result}>"
    bias, row = f"tensor<{n}xf32>", f"tensor<{m}x1xf32>"
    widen = f"%wide = tenon.cast %acc : {acc} -> {value}" if element != result else ""
    y = "%wide" if widen else "%acc"
    add = f"%0 = tenon.add {y}, %bias : {value}, {bias}"
    operands, results, ops = {
        "none": ("", y, []),
        "relu": ("", "%0", [f"%0 = tenon.relu {y} : {value}"]),
        "gelu_and_product": ("", f"%0, {y}", [f"%0 = tenon.gelu {y} : {value}"]),
        "bias": (f"%bias: {bias}", "%0", [add]),
        "leaky": (
            f"%bias: {bias}",
            "%2",
            [add, f"%1 = tenon.mul %0, 2.0 : {value}", f"%2 = tenon.leaky_relu %1 {{negative_slope = 0.1}} : {value}"],
        ),
        "gelu": (
            f"%bias: {bias}, %residual: {value}",
            "%3",
            [
                add,
                f"%1 = tenon.gelu %0 : {value}",
                f"%2 = tenon.add %1, %residual : {value}, {value}",
                f"%3 = tenon.clamp %2 {{min = -1.0, max = 1.0}} : {value}",
            ],
        ),
        "row": (f"%row: {row}", "%0", [f"%0 = tenon.mul {y}, %row : {value}, {row}"]),
        "two": (f"%bias: {bias}", "%0, %1", [add, f"%1 = tenon.silu %0 : {value}"]),
    }[layer.epilogue]
    types = ", ".join([value] * len(results.split(",")))
    precision = " precision<tf32>" if element == "f32" else ""
    x, w = f"tensor<{m}x{k}x{element}>", f"tensor<{n}x{k}x{element}>"
    product = f"%acc = tenon.linear %x, %w{precision} {attributes} : ({x}, {w}) -> {acc}"
    body = "\n".join(["", product, widen, *ops, f"return {results} : {types}"])
    arguments = ", ".join(filter(None, [f"%x: {x}, %w: {w}", operands]))
    return f"func.func @{name}({arguments}) -> ({types}) {{{body}\n}}\n"


def write_case(case: Case) -> str:
    """Return a function with the case's layer and schedule."""
    schedule = f"schedule = #tenon.schedule<{case.schedule.text}>"
    return write_layer(case.layer, case.name, f"{{strategy = #tenon.strategy<tiled>, {schedule}}}")
