# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The four element types: how numpy stores them, and how they round.

numpy has no bfloat16; its bits are kept as uint16, as in tenon-run's .npy files.
"""

import numpy as np

STORAGE = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f64": np.float64}
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8}
MANIFEST = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64"}

# Half the distance from 1 to the next number, and half the smallest subnormal: rounding x errs by
# at most ROUNDOFF * |x| + SUBNORMAL.
ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "f64": 2.0**-53}
SUBNORMAL = {"f32": 2.0**-150, "f16": 2.0**-25, "bf16": 2.0**-134, "f64": 0.0}


def compute_dtype(dtype: str) -> str:
    """Return the type in which arithmetic on `dtype` is carried out."""
    return "f64" if dtype == "f64" else "f32"


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round float64 values to a dtype's stored form."""
    if dtype != "bf16":
        return values.astype(STORAGE[dtype])
    bits = np.atleast_1d(values.astype(np.float32)).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype(np.uint16).reshape(values.shape)


def decode(stored: np.ndarray, dtype: str) -> np.ndarray:
    """Return the stored values as float64, exactly."""
    if dtype != "bf16":
        return stored.astype(np.float64)
    wide = np.atleast_1d(stored).astype(np.uint32) << 16
    return wide.view(np.float32).astype(np.float64).reshape(stored.shape)


def round_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round float64 values to a dtype, as float64."""
    return decode(encode(values, dtype), dtype)
