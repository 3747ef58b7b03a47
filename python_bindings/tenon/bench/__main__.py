# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m tenon.bench` is the command tenon-bench."""

import sys

from tenon.bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
