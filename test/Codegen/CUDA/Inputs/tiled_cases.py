# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that cover what --tenon-select-strategy makes of tiled layers: schedules, element types, epilogues, shapes.

The schedules are those that it chooses over a grid of shapes. The full product would take an hour to assemble, so:

- each schedule meets each element type, on the first target that chooses it;
- epilogues and shapes take turns, so that each meets each type, though not each pair of them;
- tiles that leave a thread no register to spare meet, for each type, each epilogue and each shape on sm_80, and the
  narrow shapes, which need most, on sm_90.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass

# Targets whose limits or multiprocessors lead to different schedules.
TARGETS = ("sm_80", "sm_86", "sm_90")
# Types of x and w, and of the result.
TYPES = (("bf16", "bf16"), ("f16", "f16"), ("f32", "f32"), ("bf16", "f32"))
EPILOGUES = ("bias", "leaky", "gelu", "row", "two")
# M, N, K: those of which rows of K are multiples of 8, 4 and 2 bytes of bf16, and rows of N too or less.
NARROW_SHAPES = (("?", 1001, 1004), (100, 1002, 1002), ("?", 1008, 1003))
SHAPES = (("?", 1024, 1024), ("?", 1000, 1000), (512, 1024, 2048), *NARROW_SHAPES)
# Registers of a thread for accumulators from which on none are to spare.
MANY_ACCUMULATORS = 128


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
class Case:
    """A layer to assemble."""

    target: str
    schedule: Schedule
    types: tuple[str, str]
    epilogue: str
    shape: tuple[int | str, int, int]

    @property
    def name(self) -> str:
        """Return the function's name, which says what the case is."""
        field = self.schedule.field
        stream = "_streamk" if "stream_k" in self.schedule.text else ""
        shape = "x".join("m" if extent == "?" else str(extent) for extent in self.shape)
        tile = f"{field('tile')}_w{field('warps')}_s{field('stages')}"
        return f"{'_'.join(self.types)}_{tile}{stream}_{self.epilogue}_{shape}"


def run(arguments: list[str], source: str) -> tuple[str, str]:
    """Run tenon-opt; its failure is the test's."""
    result = subprocess.run(["tenon-opt", *arguments], input=source, text=True, capture_output=True, check=False)
    if result.returncode:
        sys.exit(f"tenon-opt {' '.join(arguments)} failed:\n{result.stderr[:4000]}")
    return result.stdout, result.stderr


def linear(m: int | str, n: int, k: int, element: str, attributes: str = "") -> str:
    """Return a product of x and w."""
    precision = " precision<tf32>" if element == "f32" else ""
    types = f"tensor<{m}x{k}x{element}>, tensor<{n}x{k}x{element}>"
    return f"%acc = tenon.linear %x, %w{precision} {attributes} : ({types}) -> tensor<{m}x{n}x{element}>"


def find_schedules(target: str, element: str) -> dict[str, Schedule]:
    """Return the schedules that are chosen for some shape, by their text."""
    ms = ["?", *(2**i for i in range(15)), 17, 48, 96, 192, 384]
    source = "\n".join(
        f"func.func @f{m if m != '?' else 'm'}_{n}_{k}(%x: tensor<{m}x{k}x{element}>, %w: tensor<{n}x{k}x{element}>) "
        f"-> tensor<{m}x{n}x{element}> {{ {linear(m, n, k, element)} return %acc : tensor<{m}x{n}x{element}> }}"
        for m in ms
        for n in (1, 7, 32, 64, 96, 128, 256, 384, 512, 768, 1000, 1024, 2048, 4096, 8192, 16384)
        for k in (1, 64, 100, 1024, 8192, 65536)
    )
    options = [f"--tenon-select-strategy=targets={target} strategy=tiled", "--remarks-filter=tenon-select-strategy"]
    text, remarks = run(options, source)
    chosen = re.findall(r"#tenon\.schedule<([^>]*)>", text)
    shared = re.findall(r"(\d+) bytes of shared memory", remarks)
    return {text: Schedule(text, int(size)) for text, size in zip(chosen, shared, strict=True)}


def choose_turns(target: str, schedule: Schedule) -> range:
    """Return how many epilogues and shapes a schedule meets with one type."""
    if schedule.accumulators < MANY_ACCUMULATORS or "stream_k" not in schedule.text:
        return range(1)
    is_whole_row = schedule.field("swizzle") == "128"
    return range(len(SHAPES) if target == "sm_80" and is_whole_row else 1)


def choose_cases() -> list[Case]:
    """Return the covering set."""
    cases, seen = [], set()
    for target in TARGETS:
        for number, types in enumerate(TYPES):
            for place, schedule in enumerate(find_schedules(target, types[0]).values()):
                is_new = (types, schedule) not in seen
                has_many = schedule.accumulators >= MANY_ACCUMULATORS and "stream_k" in schedule.text
                if not is_new and not (has_many and target == "sm_90"):
                    continue
                seen.add((types, schedule))
                for turn in choose_turns(target, schedule):
                    epilogue = EPILOGUES[(number + place + turn) % len(EPILOGUES)]
                    shape = SHAPES[(3 * number + place + turn) % len(SHAPES)]
                    if not is_new:
                        shape = NARROW_SHAPES[(number + place) % len(NARROW_SHAPES)]
                    cases.append(Case(target, schedule, types, epilogue, shape))
    return cases


def write_layer(case: Case) -> str:
    """Return a function with the case's layer."""
    (m, n, k), (element, result) = case.shape, case.types
    acc, value = f"tensor<{m}x{n}x{element}>", f"tensor<{m}x{n}x{result}>"
    bias, row = f"tensor<{n}xf32>", f"tensor<{m}x1xf32>"
    widen = f"%wide = tenon.cast %acc : {acc} -> {value}" if element != result else ""
    y = "%wide" if widen else "%acc"
    add = f"%0 = tenon.add {y}, %bias : {value}, {bias}"
    operands, results, ops = {
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
    }[case.epilogue]
    types = ", ".join([value] * len(results.split(",")))
    attributes = f"{{tenon.strategy = #tenon.strategy<tiled>, tenon.schedule = #tenon.schedule<{case.schedule.text}>}}"
    body = "\n".join(["", linear(m, n, k, element, attributes), widen, *ops, f"return {results} : {types}"])
    arguments = f"%x: tensor<{m}x{k}x{element}>, %w: tensor<{n}x{k}x{element}>, {operands}"
    return f"func.func @{case.name}({arguments}) -> ({types}) {{{body}\n}}\n"
