# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile and run a model with the installed package, and name what it loaded that a user may lack."""

import re
import sys
from pathlib import Path

import numpy as np
import tenon

assert "site-packages" in tenon.__file__, tenon.__file__

model = tenon.compile(Path(sys.argv[1]).read_text(), "cpu")
generator = np.random.default_rng(0)
x, w, b = (generator.standard_normal(shape).astype(np.float32) for shape in ((5, 8), (4, 8), (4,)))
np.testing.assert_allclose(model(x, w, b), 3 * np.maximum(x @ w.T + b, 0), rtol=1e-5, atol=1e-5)

package = Path(tenon.__file__).resolve().parent
libraries = map(Path, set(re.findall(r"/\S*\.so\S*", Path("/proc/self/maps").read_text())))
loaded = [path for path in libraries if package in path.parents or re.search("LLVM|MLIR|llvm|tenon", path.name)]
assert loaded, "the compiler is a library of this process"
for path in sorted(loaded):
    print("loaded" if path.is_relative_to(sys.prefix) else "foreign", path.name)
