# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""setp: comparisons of integers and floating-point numbers."""

from __future__ import annotations

import numpy as np

from .floats import is_float, read_float
from .integers import is_sink
from .operands import dtype_of, get, instruction, slot_of
from .program import Instruction, PtxError, Vector

ORDERED = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
JOIN = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def unordered(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.isnan(a) | np.isnan(b)


def comparison(name: str, of_floats: bool):
    """Return the function of a comparison's name; those of floats are false for NaN unless they end in u."""
    if not of_floats:
        return ORDERED[name]
    if name == "num":
        return lambda a, b: ~unordered(a, b)
    if name == "nan":
        return unordered
    if name in ORDERED:
        ordered = ORDERED[name]
        return lambda a, b: ordered(a, b) & ~unordered(a, b)
    ordered = ORDERED[name[:-1]]
    return lambda a, b: ordered(a, b) | unordered(a, b)


@instruction("setp")
def set_predicate(item: Instruction, grid):
    _, name, *rest = item.parts
    type_name = rest.pop()
    join = JOIN[rest.pop(0)] if rest and rest[0] in JOIN else None
    of_floats = is_float(type_name)
    if [part for part in rest if not (of_floats and part == "ftz")]:
        raise PtxError("has a modifier that the emulator does not know")
    target, first, second, *third = item.operands
    read = (lambda o: read_float(o, type_name, "ftz" in rest, grid)) if of_floats else (
        lambda o: get(o, dtype_of(type_name), grid)
    )  # fmt: skip
    a, b, compare = read(first), read(second), comparison(name, of_floats)
    c = get(third[0], np.bool_, grid) if join else None
    targets = target.items if isinstance(target, Vector) else (target,)
    slots = [None if is_sink(t) else slot_of(t, 1) for t in targets]

    def run(u):
        value = compare(a(u), b(u))
        for slot, result in zip(slots, (value, ~value), strict=False):
            if slot is not None:
                u.put(slot, join(result, c(u)) if join else result)

    return run
