# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model as it comes out of a file."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Model:
    """A model as MLIR text, and the values of its parameters by their names in it."""

    text: str
    parameters: dict[str, np.ndarray]
