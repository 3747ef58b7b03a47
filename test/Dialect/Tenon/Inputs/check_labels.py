# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the numbered constraints of docs/Spec.md with the labels of this folder's tests.

Prints the labels that only one side has; exits 1 if there are any.
"""

import re
import sys
from pathlib import Path

folder = Path(__file__).resolve().parent.parent
spec = set(re.findall(r"^- (\w+-C\d+):", (folder.parents[2] / "docs/Spec.md").read_text(), re.MULTILINE))
tests = "".join(path.read_text() for path in folder.glob("*.mlir"))
tested = set(re.findall(r"^// (\w+-C\d+)", tests, re.MULTILINE))
if untested := sorted(spec - tested):
    print("in docs/Spec.md, but no test names it:", ", ".join(untested))
if unknown := sorted(tested - spec):
    print("a test names it, but docs/Spec.md does not have it:", ", ".join(unknown))
sys.exit(spec != tested or not spec)
