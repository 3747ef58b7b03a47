# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models at real sizes: eager, torch.compile and backend="tenon" beside each other, in turn.

`benchmarks/bench_whole_models.py` measures; `report.py` here draws what it wrote.
"""
