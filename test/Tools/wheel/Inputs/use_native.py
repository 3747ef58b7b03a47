# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile and open a model with the native module alone, in a Python that has no NumPy.

Usage: use_native.py MODULE MODEL OUTPUT
"""

import importlib.util
import json
import sys
from pathlib import Path

specification = importlib.util.spec_from_file_location("tenon._native", sys.argv[1])
native = importlib.util.module_from_spec(specification)
specification.loader.exec_module(native)
options = native.Options(
    name="model",
    targets=["cpu"],
    cpu="x86-64-v3",
    allow_rounding_changes=False,
    fold_weights=False,
    reference=False,
    remarks=True,
)
remarks = native.compile(Path(sys.argv[2]).read_text(), "model.mlir", sys.argv[3], None, options)
manifest = json.loads(native.Model(sys.argv[3]).manifest)
print(f"{len(remarks)} remarks on {manifest['functions'][0]['name']}")
