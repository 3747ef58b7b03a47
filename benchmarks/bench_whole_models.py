#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times whole models: eager, torch.compile and torch.compile(backend="tenon"), in turn in one process.

bench_whole_models.py --output whole_models.json --workers 8                      # everything, default mode
bench_whole_models.py --output whole_models.json --mode reduce-overhead --models bert,vit --scenarios bf16
bench_whole_models.py --output whole_models.json --mode cuda-graph --scenarios bf16-blocks      # the GPU's time alone
bench_whole_models.py --output whole_models.json --first-call --models bert --scenarios bf16
bench_whole_models.py --output /tmp/tiny.json --tiny --models lora,vit            # on the CPU, to try it
bench_whole_models.py --output whole_models.json --merge part1.json part2.json

A time is the median, over rounds, of a burst of ten or more calls back to back. Errors are against a float64 run
of the same model on the device: the norm of all differences over that of all exact numbers. What fails is in the
report as text and ends nothing. Needs transformers, and the package `tenon`: installed, or in PYTHONPATH as
build/python. Exits 1 where a contender failed or the budget was too short.
whole_models/report.py draws docs/WholeModels.md from the report.
"""

import sys

from whole_models.command import main

if __name__ == "__main__":
    sys.exit(main())
