# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tenon's ops on one tensor, which PyTorch has under the same names with the same attributes."""

from __future__ import annotations

import math

# Attributes that are numbers, with their default values.
UNARY: dict[str, dict[str, float]] = {
    "clamp": {"min": -math.inf, "max": math.inf},
    "elu": {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0},
    "exp": {},
    "gelu": {},
    "leaky_relu": {"negative_slope": 0.01},
    "log": {},
    "mish": {},
    "relu": {},
    "rsqrt": {},
    "sigmoid": {},
    "silu": {},
    "softplus": {"beta": 1.0, "threshold": 20.0},
    "tanh": {},
}
