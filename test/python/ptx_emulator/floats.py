# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point arithmetic, rounded as IEEE 754 says; approximations as NumPy computes them."""

from __future__ import annotations

import numpy as np
from tenon_graphs.dtypes import decode

from .operands import dtype_of, get, instruction, slot_of
from .program import Instruction, PtxError
from .rounding import add_to_zero, f64_to_f32_odd, fma64, fma_f64, round_down

WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32}
FLOAT8 = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}


def is_float(type_name: str) -> bool:
    return type_name in WIDTH


def flush(a: np.ndarray) -> np.ndarray:
    """Replace subnormal f32 by zeros of their sign."""
    return np.where(np.abs(a) < np.float32(2.0**-126), np.copysign(np.float32(0), a), a)


def bf16_to_f32(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def float8_to_f64(bits: np.ndarray, type_name: str) -> np.ndarray:
    return decode(bits.astype(np.uint8), FLOAT8[type_name])


def f32_to_bf16(a: np.ndarray) -> np.ndarray:
    """Round to nearest even."""
    bits = np.asarray(a, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return np.where(np.isnan(a), np.uint16(NAN["bf16"]), (rounded >> np.uint32(16)).astype(np.uint16))


def read_float(operand: object, type_name: str, flushes: bool, grid):
    """Return what reads a number as f32, or f64 where it is that."""
    if type_name == "bf16":
        bits = get(operand, np.uint16, grid)
        return lambda u: bf16_to_f32(bits(u))
    read = get(operand, dtype_of(type_name), grid)
    if type_name == "f16":
        return lambda u: read(u).astype(np.float32)
    return (lambda u: flush(read(u))) if flushes else read


def to_bits(value: np.ndarray, type_name: str, flushes: bool = False) -> np.ndarray:
    """Round to a type; its NaNs are one."""
    if type_name == "bf16":
        return f32_to_bf16(value if value.dtype == np.float32 else f64_to_f32_odd(value))
    if type_name == "f16":
        return np.where(np.isnan(value), np.uint16(NAN["f16"]), value.astype(np.float16).view(np.uint16))
    if type_name == "f64":
        return value.astype(np.float64, copy=False).view(np.uint64)
    value = value.astype(np.float32, copy=False)
    value = flush(value) if flushes else value
    return np.where(np.isnan(value), np.uint32(NAN["f32"]), value.view(np.uint32))


def minimum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    lower = (a < b) | ((a == b) & np.signbit(a))
    return np.where(np.isnan(a), b, np.where(np.isnan(b) | lower, a, b))


def maximum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    higher = (a > b) | ((a == b) & np.signbit(b))
    return np.where(np.isnan(a), b, np.where(np.isnan(b) | higher, a, b))


ARITHMETIC = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "min": minimum, "max": maximum, "sqrt": np.sqrt, "copysign": lambda a, b: np.copysign(b, a),
    "rcp": lambda a: a.dtype.type(1) / a, "rsqrt": lambda a: a.dtype.type(1) / np.sqrt(a),
    "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
}  # fmt: skip
# What may stand between the name and the type.
ROUNDING = {"add", "sub", "mul", "div", "sqrt", "rcp", "fma"}
APPROXIMATE = {"div", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"}


def check_modifiers(name: str, modifiers: list[str]) -> None:
    allowed = {"ftz"}
    if name in ROUNDING:
        allowed.add("rn")
    if name in APPROXIMATE:
        allowed |= {"approx", "full"}
    if name in ("min", "max"):
        allowed.add("NaN")
    unknown = [m for m in modifiers if m not in allowed]
    if unknown:
        raise PtxError(f"has the modifier .{unknown[0]}, which the emulator does not know")


def elementwise(item: Instruction, grid, function, flushes: bool):
    """Return the execution of a function on numbers, or on both halves of registers."""
    type_name = item.parts[-1]
    slot = slot_of(item.operands[0], WIDTH[type_name])
    if not type_name.endswith("x2"):
        read = [read_float(o, type_name, flushes, grid) for o in item.operands[1:]]
        return lambda u: u.put(slot, to_bits(np.asarray(function(*[f(u) for f in read])), type_name, flushes))
    element = type_name[:-2]
    widen = bf16_to_f32 if element == "bf16" else lambda bits: bits.view(np.float16).astype(np.float32)
    read = [get(o, np.uint32, grid) for o in item.operands[1:]]

    def run(u):
        values = [f(u) for f in read]
        halves = []
        for shift in (0, 16):
            parts = [widen((v >> np.uint32(shift)).astype(np.uint16)) for v in values]
            halves.append(to_bits(np.asarray(function(*parts)), element).astype(np.uint32))
        u.put(slot, halves[0] | halves[1] << np.uint32(16))

    return run


def arithmetic(item: Instruction, grid):
    name, *modifiers, type_name = item.parts
    check_modifiers(name, modifiers)
    function = ARITHMETIC[name]
    if "NaN" in modifiers:
        plain = function
        function = lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), plain(a, b))  # noqa: E731
    return elementwise(item, grid, function, "ftz" in modifiers)


def fused(item: Instruction, grid):
    name, *modifiers, type_name = item.parts
    if modifiers == ["rm"] and type_name == "f32":
        return elementwise(item, grid, lambda a, b, c: round_down(fma64(a, b, c)), False)
    relu = "relu" in modifiers
    check_modifiers(name, [m for m in modifiers if m != "relu"])
    if type_name == "f64":
        return elementwise(item, grid, fma_f64, False)
    if relu:
        return elementwise(item, grid, lambda a, b, c: maximum(fma64(a, b, c), np.float64(0)), False)
    return elementwise(item, grid, fma64, "ftz" in modifiers)


def sign_bits(item: Instruction, grid):
    """Neg and abs change the sign bit alone."""
    name, *modifiers, type_name = item.parts
    if modifiers and modifiers != ["ftz"]:
        raise PtxError("has a modifier that the emulator does not know")
    bits = WIDTH[type_name]
    dtype = dtype_of(f"u{bits}")
    sign = dtype(0x80008000 if type_name.endswith("x2") else 1 << bits - 1)
    slot, read = slot_of(item.operands[0], bits), get(item.operands[1], dtype, grid)
    if modifiers:
        return elementwise(item, grid, np.negative if name == "neg" else np.abs, True)
    if name == "neg":
        return lambda u: u.put(slot, read(u) ^ sign)
    return lambda u: u.put(slot, read(u) & ~sign)


def register_all() -> None:
    """Enter each name with each type, since integers share names."""
    modifiers = ("", ".rn", ".ftz", ".rn.ftz", ".NaN", ".ftz.NaN", ".approx", ".approx.ftz", ".full", ".full.ftz")
    for type_name in WIDTH:
        for name in ARITHMETIC:
            for modifier in modifiers:
                instruction(f"{name}{modifier}.{type_name}")(arithmetic)
        for modifier in ("", ".ftz"):
            instruction(f"neg{modifier}.{type_name}", f"abs{modifier}.{type_name}")(sign_bits)
    instruction("fma")(fused)
    instruction("add.rz.f32")(lambda item, grid: elementwise(item, grid, add_to_zero, False))


register_all()
