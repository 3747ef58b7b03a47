# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs of tenon ops, what they compute in float64, and how far off a result may be."""

import sys
from pathlib import Path

# The ctypes interface to compiled models, which tests and benchmarks share.
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
