# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cvt and cvta."""

from __future__ import annotations

import numpy as np
from tenon_graphs.dtypes import encode

from .floats import FLOAT8, float8_to_f64, is_float, maximum, read_float, to_bits
from .memory import SHARED_WINDOW
from .operands import dtype_of, get, instruction, is_unsigned_result, slot_of, whole
from .parser import get_bits
from .program import Instruction, PtxError

TO_INTEGER = {"rzi": np.trunc, "rni": np.rint, "rmi": np.floor, "rpi": np.ceil}


def round_tf32(a: np.ndarray) -> np.ndarray:
    """Round f32 to tf32's 10 bits, ties away from zero."""
    bits = a.view(np.uint32)
    return np.where(np.isfinite(a), bits + np.uint32(0x1000) & np.uint32(0xFFFFE000), bits).view(np.float32)


def to_integer(value: np.ndarray, rounding: str, dtype: type) -> np.ndarray:
    """Convert with saturation; NaN becomes 0."""
    limits = np.iinfo(dtype)
    rounded = TO_INTEGER[rounding](value.astype(np.float64))
    inside = np.clip(rounded, float(limits.min), float(limits.max))
    high = rounded >= float(limits.max)
    safe = np.where(np.isnan(value) | high, 0.0, inside).astype(dtype)
    return np.where(high, dtype(limits.max), safe).astype(dtype)


@instruction("cvt")
def convert(item: Instruction, grid):
    *modifiers, target, source = item.parts[1:]
    if source in ("e4m3x2", "e5m2x2"):
        return convert_from_float8(item, modifiers, target, source, grid)
    if target == "e4m3x2":
        return convert_to_float8(item, modifiers, source, grid)
    if target in ("f16x2", "bf16x2"):
        return convert_pair(item, grid, modifiers, target[:-2], source)
    if target == "tf32":
        if modifiers != ["rna"] or source != "f32":
            raise PtxError("has a rounding that the emulator does not know")
        slot, read = slot_of(item.operands[0], 32), get(item.operands[1], np.float32, grid)
        return lambda u: u.put(slot, round_tf32(read(u)).view(np.uint32))
    if is_float(source) and is_float(target):
        return convert_floats(item, grid, modifiers, target, source)
    if is_float(source):
        return convert_to_integer(item, grid, modifiers, target, source)
    if is_float(target):
        return convert_from_integer(item, grid, modifiers, target, source)
    if modifiers:
        raise PtxError("has a modifier that the emulator does not know")
    return convert_integers(item, grid, target, source)


def convert_integers(item: Instruction, grid, target: str, source: str):
    wide, dtype = dtype_of(target), dtype_of(source)
    # Registers may be wider than the types.
    holder = item.operands[1]
    stored = dtype_of(f"u{holder.bits}") if hasattr(holder, "bits") else dtype
    kept = dtype_of(f"u{item.operands[0].bits}")
    slot, read = slot_of(item.operands[0]), get(holder, stored, grid)
    if np.dtype(stored).itemsize < np.dtype(dtype).itemsize or np.dtype(kept).itemsize < np.dtype(wide).itemsize:
        raise PtxError("has a register that is narrower than its type")
    unsigned = dtype_of(f"u{get_bits(source)}")
    return lambda u: u.put(slot, is_unsigned_result(read(u).astype(unsigned).view(dtype).astype(wide)).astype(kept))


def convert_floats(item: Instruction, grid, modifiers: list[str], target: str, source: str):
    flushes, relu = "ftz" in modifiers, "relu" in modifiers
    rounding = [m for m in modifiers if m not in ("ftz", "relu", "sat")]
    read = read_float(item.operands[1], source, flushes, grid)
    slot = slot_of(item.operands[0], get_bits(target[1:] if target == "bf16" else target))
    if rounding and rounding[0] in TO_INTEGER and source == target:
        function = TO_INTEGER[rounding[0]]
        return lambda u: u.put(slot, to_bits(function(read(u)), target, flushes))
    if rounding not in ([], ["rn"]):
        raise PtxError(f"has the rounding .{rounding[0]}, which the emulator does not know")

    def run(u):
        value = read(u)
        if relu:
            value = maximum(value, value.dtype.type(0))
        if "sat" in modifiers:
            value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1))
        u.put(slot, to_bits(value, target, flushes))

    return run


def convert_pair(item: Instruction, grid, modifiers: list[str], element: str, source: str):
    """Convert two numbers to the halves of a register, the first to the upper one."""
    if source != "f32" or [m for m in modifiers if m not in ("rn", "relu")]:
        raise PtxError("has a form that the emulator does not know")
    relu = "relu" in modifiers
    slot = slot_of(item.operands[0], 32)
    high, low = (get(o, np.float32, grid) for o in item.operands[1:])

    def run(u):
        halves = [f(u) for f in (low, high)]
        if relu:
            halves = [maximum(v, np.float32(0)) for v in halves]
        first, second = (np.atleast_1d(to_bits(np.asarray(v), element)).astype(np.uint32) for v in halves)
        u.put(slot, whole(first | second << np.uint32(16), u.n))

    return run


def convert_from_float8(item: Instruction, modifiers: list[str], target: str, source: str, grid):
    """Convert two numbers of 8 bits to halves; all are numbers of f16."""
    if target != "f16x2" or modifiers != ["rn"]:
        raise PtxError("has a form that the emulator does not know")
    slot, read = slot_of(item.operands[0], 32), get(item.operands[1], np.uint16, grid)

    def run(u):
        pairs = whole(read(u), u.n)
        low, high = (to_bits(float8_to_f64(pairs >> np.uint16(n), source[:-2]), "f16") for n in (0, 8))
        u.put(slot, low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16))

    return run


def convert_to_float8(item: Instruction, modifiers: list[str], source: str, grid):
    """Convert two numbers to bytes of a half register, the first to the upper one."""
    if source != "f32" or modifiers != ["rn", "satfinite"]:
        raise PtxError("has a form that the emulator does not know")
    slot = slot_of(item.operands[0], 16)
    high, low = (get(o, np.float32, grid) for o in item.operands[1:])

    def run(u):
        first, second = (
            encode(whole(f(u), u.n).astype(np.float64), FLOAT8["e4m3"]).astype(np.uint16) for f in (low, high)
        )
        u.put(slot, first | second << np.uint16(8))

    return run


def convert_to_integer(item: Instruction, grid, modifiers: list[str], target: str, source: str):
    rounding = [m for m in modifiers if m in TO_INTEGER]
    if len(rounding) != 1 or [m for m in modifiers if m not in TO_INTEGER and m not in ("ftz", "sat")]:
        raise PtxError("has a rounding that the emulator does not know")
    dtype = dtype_of(target)
    slot = slot_of(item.operands[0], get_bits(target))
    read = read_float(item.operands[1], source, "ftz" in modifiers, grid)
    return lambda u: u.put(slot, is_unsigned_result(to_integer(read(u), rounding[0], dtype)))


def convert_from_integer(item: Instruction, grid, modifiers: list[str], target: str, source: str):
    if modifiers != ["rn"]:
        raise PtxError("has a rounding that the emulator does not know")
    slot = slot_of(item.operands[0], get_bits(target.replace("bf", "f")))
    read = get(item.operands[1], dtype_of(source), grid)
    if target == "f32":
        return lambda u: u.put(slot, read(u).astype(np.float32).view(np.uint32))
    if target == "f64":
        return lambda u: u.put(slot, read(u).astype(np.float64).view(np.uint64))
    if get_bits(source) > 32:
        raise PtxError("rounds twice in the emulator")
    return lambda u: u.put(slot, to_bits(read(u).astype(np.float64), target))


@instruction("cvta")
def convert_address(item: Instruction, grid):
    parts = item.parts[1:]
    to = parts[0] == "to"
    space = parts[1] if to else parts[0]
    windows = {"shared": SHARED_WINDOW, "global": 0, "param": 0}
    if space.split("::")[0] not in windows:
        raise PtxError(f"space .{space} is not supported")
    window = np.uint64(windows[space.split("::")[0]])
    slot, read = slot_of(item.operands[0], 64), get(item.operands[1], np.uint64, grid)
    if to:
        return lambda u: u.put(slot, read(u) - window)
    return lambda u: u.put(slot, read(u) + window)
