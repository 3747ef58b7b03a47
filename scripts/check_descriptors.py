#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check in SASS that wgmma finds its operands' strides and swizzle: ptxas 12.9 and 13.0 can lose them.

    scripts/check_descriptors.py --cuobjdump /usr/local/cuda/bin/cuobjdump KERNELS.cubin...

A descriptor is a pair of uniform registers (PTX ISA, "Matrix descriptor"). The second is the same for all operands of
Tenon's kernels; ptxas has been seen to leave it undefined. What each such register may hold is followed along all
paths from the kernel's start. What comes from a vector register is taken to be right. What is reported has to be read
in SASS: two registers that are swapped by exclusive ors, which ptxas did in one kernel of 900, are taken to be wrong.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HIGH_WORD = "0x40000040"  # swizzle of 128 bytes; 8 rows are 1024 bytes apart
# What a uniform register may hold: the word, one from a vector register, another word, or nothing of the kernel's.
WORD, MOVED, OTHER, UNSET = "the word", "one from a vector register", "another word", "nothing"
REGISTERS = 64
State = tuple[frozenset[str], ...]


class Instruction(NamedTuple):
    """An instruction of SASS; `guard` is the predicate that it depends on, if any."""

    address: int
    guard: str
    opcode: str
    operands: list[str]


def parse(text: str) -> dict[str, list[Instruction]]:
    """Return the instructions of each kernel that cuobjdump -sass wrote."""
    kernels: dict[str, list[Instruction]] = {}
    for line in text.splitlines():
        if match := re.match(r"\s+Function : (\S+)", line):
            kernel = kernels.setdefault(match[1], [])
        elif match := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?(\S+)\s*(.*?)\s*;", line):
            operands = [operand.strip() for operand in match[4].split(",")]
            kernel.append(Instruction(int(match[1], 16), match[2] or "", match[3], operands))
    return kernels


def successors(kernel: list[Instruction]) -> list[list[int]]:
    """Return which instructions may follow each, by number."""
    numbers = {instruction.address: number for number, instruction in enumerate(kernel)}
    following = []
    for number, instruction in enumerate(kernel):
        is_branch, falls = instruction.opcode.startswith("BRA"), number + 1 < len(kernel)
        targets = [numbers[int(o, 16)] for o in instruction.operands[-1:] if is_branch and o.startswith("0x")]
        # A branch whose operands begin with a predicate depends on that.
        ends = instruction.opcode.startswith("EXIT") or (is_branch and len(instruction.operands) == 1)
        following.append(targets + [number + 1] * (falls and not (ends and not instruction.guard)))
    return following


def uniform(operand: str) -> int | None:
    """Return the number of a uniform register."""
    match = re.fullmatch(r"UR(\d+)", operand)
    return int(match[1]) if match else None


def held(operand: str, state: State) -> frozenset[str]:
    """Return what an operand may hold."""
    register = uniform(operand)
    return state[register] if register is not None else frozenset([WORD if operand == HIGH_WORD else OTHER])


def second(operand: str, state: State) -> frozenset[str]:
    """Return what the second register of a pair may hold."""
    register = uniform(operand)
    return frozenset([OTHER]) if register is None else state[register + 1]


def step(instruction: Instruction, state: State) -> State:
    """Return what registers may hold after an instruction."""
    opcode, operands = instruction.opcode, instruction.operands
    register = uniform(operands[0])
    if register is None:
        return state
    values = {register: frozenset([OTHER])}
    if opcode == "UMOV":
        values[register] = held(operands[1], state)
    elif opcode.startswith("R2UR"):
        values[register] = frozenset([MOVED])
    elif opcode.startswith("UIADD3.X"):  # of a sum's high words; low ones carry nothing into it
        terms = [operand for operand in operands[1:4] if operand != "URZ"]
        values[register] = held(terms[0], state) if len(terms) == 1 else frozenset([OTHER])
    elif opcode.startswith("ULOP3") and HIGH_WORD in operands:
        values[register] = frozenset([WORD])
    elif opcode.startswith(("UIADD3.64", "UIMAD.WIDE")):
        values[register + 1] = second(operands[1 if opcode.startswith("UIADD3") else 3], state)
    elif opcode.endswith(".64"):
        values[register + 1] = frozenset([OTHER])
    after = list(state)
    for number, value in values.items():
        if number < REGISTERS:
            after[number] = value | state[number] if instruction.guard else value
    return tuple(after)


def find_wrong(kernel: list[Instruction]) -> list[str]:
    """Return what is wrong with each wgmma of a kernel."""
    following = successors(kernel)
    states: dict[int, State] = {0: (frozenset([UNSET]),) * REGISTERS}
    pending = [0]
    while pending:
        number = pending.pop()
        after = step(kernel[number], states[number])
        for next_one in following[number]:
            before = states.get(next_one)
            both = after if before is None else tuple(a | b for a, b in zip(before, after, strict=True))
            if both != before:
                states[next_one] = both
                pending.append(next_one)
    wrong = []
    for number, instruction in enumerate(kernel):
        match = re.search(r"gdesc\[UR(\d+)\]", " ".join(instruction.operands))
        for register in (int(match[1]) + 1, int(match[1]) + 3) if match and number in states else ():
            if bad := states[number][register] - {WORD, MOVED}:
                wrong.append(f"{instruction.address:#06x}: UR{register} may hold {', '.join(sorted(bad))}")
    return wrong


def main() -> int:
    """Check the kernels of some files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubins", type=Path, nargs="+")
    parser.add_argument("--cuobjdump", default="cuobjdump")
    options = parser.parse_args()
    products = failures = 0
    for cubin in options.cubins:
        text = subprocess.run([options.cuobjdump, "-sass", cubin], check=True, capture_output=True, text=True).stdout
        for name, kernel in parse(text).items():
            products += sum("gdesc[" in " ".join(instruction.operands) for instruction in kernel)
            wrong = find_wrong(kernel)
            failures += len(wrong)
            for line in wrong:
                print(f"{cubin}: {name}: {line}")
    print(f"{products} wgmma, {failures} high words of descriptors that may be wrong")
    return 1 if failures or not products else 0


if __name__ == "__main__":
    sys.exit(main())
