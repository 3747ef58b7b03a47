# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The element types: how numpy stores them, and how they round.

numpy has no bfloat16, nor floats of 8 bits; their bits are kept as uint16 and uint8, as in tenon-run's .npy files.
"""

import numpy as np

STORAGE = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f64": np.float64}
STORAGE |= {"f8E4M3FN": np.uint8, "f8E5M2": np.uint8}
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "f8E4M3FN": 1, "f8E5M2": 1}
MANIFEST = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64"}
MANIFEST |= {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}

# Half the distance from 1 to the next number, and half the smallest subnormal: rounding x errs by
# at most ROUNDOFF * |x| + SUBNORMAL.
ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "f64": 2.0**-53}
ROUNDOFF |= {"f8E4M3FN": 2.0**-4, "f8E5M2": 2.0**-3}
SUBNORMAL = {"f32": 2.0**-150, "f16": 2.0**-25, "bf16": 2.0**-134, "f64": 0.0}
SUBNORMAL |= {"f8E4M3FN": 2.0**-10, "f8E5M2": 2.0**-17}

# Of 8 bits: digits, the exponent's bias, and the bits of what is too large. Magnitudes are in the order of their bits.
_FLOAT8 = {"f8E4M3FN": (3, 7, 0x7E), "f8E5M2": (2, 15, 0x7C)}


def compute_dtype(dtype: str) -> str:
    """Return the type in which arithmetic on `dtype` is carried out."""
    return "f64" if dtype == "f64" else "f32"


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round float64 values to a dtype's stored form."""
    if dtype in _FLOAT8:
        return _encode_float8(values, dtype)
    if dtype != "bf16":
        return values.astype(STORAGE[dtype])
    bits = np.atleast_1d(values.astype(np.float32)).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype(np.uint16).reshape(values.shape)


def decode(stored: np.ndarray, dtype: str) -> np.ndarray:
    """Return the stored values as float64, exactly."""
    if dtype in _FLOAT8:
        return np.asarray(_float8_numbers(dtype)[stored])
    if dtype != "bf16":
        return stored.astype(np.float64)
    wide = np.atleast_1d(stored).astype(np.uint32) << 16
    return wide.view(np.float32).astype(np.float64).reshape(stored.shape)


def _encode_float8(values: np.ndarray, dtype: str) -> np.ndarray:
    limit = _FLOAT8[dtype][2]
    numbers = _float8_numbers(dtype)[:limit]
    size = np.abs(values)
    above = np.clip(np.searchsorted(numbers, size), 1, limit - 1)
    low, high = numbers[above - 1], numbers[above]
    is_high = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    nearest = np.where(is_high, above, above - 1)
    last = numbers[-1] + (numbers[-1] - numbers[-2]) / 2  # half way to the limit
    nearest = np.where((size > last) | ((size == last) & ((limit - 1) % 2 == 1)), limit, nearest)
    bits = np.where(np.isnan(values), 0x7F, nearest)
    return np.asarray(bits | np.where(np.signbit(values), 0x80, 0), np.uint8)


def _float8_numbers(dtype: str) -> np.ndarray:
    digits, bias, limit = _FLOAT8[dtype]
    bits = np.arange(256)
    magnitude = bits & 0x7F
    exponent, mantissa = magnitude >> digits, magnitude & ((1 << digits) - 1)
    scale = 2.0 ** (np.maximum(exponent, 1) - bias - digits)
    size = (mantissa + np.where(exponent == 0, 0, 1 << digits)) * scale
    if dtype == "f8E5M2":
        size[magnitude == limit] = np.inf
    size[magnitude > limit] = np.nan
    return np.where(bits & 0x80, -size, size)


def round_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round float64 values to a dtype, as float64."""
    return decode(encode(values, dtype), dtype)
