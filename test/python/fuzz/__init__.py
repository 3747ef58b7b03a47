# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random input in large counts, beyond what each test run draws: `python -m fuzz.modules`, `.mutations`, `.models`.

They need the package alone, installed or in PYTHONPATH, with this folder's parent; no build tree and no LLVM.
"""
