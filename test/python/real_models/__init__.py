# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiny real models of random weights, and what runs them beside eager mode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))  # its models are taken too

from .check import DEFAULT_FRONT_ENDS, FRONT_ENDS, backend_options, compare_inference, compare_training, relative_error
from .zoo import ZOO, Kind

__all__ = [
    "DEFAULT_FRONT_ENDS",
    "FRONT_ENDS",
    "ZOO",
    "Kind",
    "backend_options",
    "compare_inference",
    "compare_training",
    "relative_error",
]
