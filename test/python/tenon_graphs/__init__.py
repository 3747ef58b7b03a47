# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs of tenon ops, what they compute in float64, and how far off a result may be."""
