#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/reference/*.md, the reference of ops and passes, from the .td files.

With --check nothing is written: exits 1 when a committed page differs from what its
.td file gives, and names the page. `make docs` refreshes them.
"""

import argparse
import difflib
import itertools
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
REFERENCE = SOURCE / "docs/reference"
LLVM = Path("/usr/lib/llvm-22")


def pages() -> dict[Path, list[str]]:
    """Map each page to the arguments that make mlir-tblgen write it."""
    include = SOURCE / "include/tenon"
    found = {}
    for td in sorted(include.glob("Dialect/*/IR/*Ops.td")):
        name = td.relative_to(include).parts[1]
        found[REFERENCE / f"{name}Dialect.md"] = ["-gen-dialect-doc", f"-dialect={name.lower()}", str(td)]
    for td in sorted(include.rglob("Passes.td")):
        name = "".join(td.relative_to(include).parent.parts)
        found[REFERENCE / f"{name}Passes.md"] = ["-gen-pass-doc", str(td)]
    return found


def generate(arguments: list[str]) -> str:
    """Return what mlir-tblgen writes."""
    command = [LLVM / "bin/mlir-tblgen", "-I", SOURCE / "include", "-I", LLVM / "include", *arguments]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    text = text.replace("[TOC]\n\n", "")  # means something to MLIR's own site alone
    # tablegen leaves spaces at the ends of lines, which the repository does not.
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    args = parser.parse_args()

    wanted = {}
    for page, arguments in pages().items():
        try:
            wanted[page] = generate(arguments)
        except subprocess.CalledProcessError as error:
            print(f"generate_docs: {arguments[-1]}: mlir-tblgen failed:\n{error.stderr}", file=sys.stderr)
            return 1

    stale = []
    for page in sorted({*wanted, *REFERENCE.glob("*.md")}):
        old = page.read_text() if page.exists() else ""
        new = wanted.get(page, "")
        if old == new:
            continue
        stale.append(page)
        if args.check:
            name = str(page.relative_to(SOURCE))
            diff = difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, "generated")
            sys.stdout.writelines(itertools.islice(diff, 30))
        elif new:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(new)
        else:
            page.unlink()

    for page in stale:
        print(f"{page.relative_to(SOURCE)}: " + ("out of date; run 'make docs'" if args.check else "written"))
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
