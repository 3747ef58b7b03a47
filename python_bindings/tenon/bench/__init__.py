# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench: times linear layers with their epilogues beside cuBLAS and PyTorch, and checks their results.

Guide: docs/Benchmarking.md. `config`, `epilogue` and `source` say what is measured, `compilation` compiles it,
`contender`, `timing` and `checks` measure it, `results` and `table` write it down, `cli` has them in order.
Of --tune, `candidates` says which schedules are measured, `tuning` measures them, `choice` takes one,
`tuned_table` writes it down, and `tune` has them in order.
Only those that measure need PyTorch and a GPU.
"""
