#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pack a build folder's Python package into a wheel; nothing is compiled again.

The wheel is what `pip wheel .` makes, with a tag that tells which Linux it runs on: its
libraries need nothing but the C library and libgcc_s.

Usage: build_wheel.py BUILD FOLDER
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core.build import prepare_metadata_for_build_wheel

SOURCE = Path(__file__).resolve().parent.parent
MODULES = ("*.cpython-311-*.so", "*.abi3.so")


def check_modules(package: Path) -> None:
    """Exit where the native module of one Python is missing: the wheel's tag promises both."""
    for pattern in MODULES:
        if not list(package.glob(pattern)):
            sys.exit(f"build_wheel: no {pattern} in the build; it needs the headers of Python 3.11 and of 3.12 or later")


def needed_libc(root: Path) -> str:
    """Return the C library's version that the files need, "2_34"."""
    files = [*root.rglob("*.so*"), *(path for path in root.rglob("bin/*") if path.is_file())]
    done = subprocess.run(["objdump", "-p", *files], stdout=subprocess.PIPE, text=True, check=False)  # some are scripts
    return f"2_{max(map(int, re.findall(r'GLIBC_2[.]([0-9]+)', done.stdout)))}"


def write_metadata(root: Path) -> None:
    """Write .dist-info from pyproject.toml, tagged with the version of the C library."""
    os.chdir(SOURCE)
    info = root / prepare_metadata_for_build_wheel(str(root), {})
    wheel = info / "WHEEL"
    wheel.write_text(wheel.read_text().replace("-linux_", f"-manylinux_{needed_libc(root)}_"))


def main(build: str, folder: str) -> None:
    """Install the package's component into a scratch folder, and pack that."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    folder = str(Path(folder).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        install = ["cmake", "--install", build, "--component", "python", "--prefix", scratch]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        check_modules(root / "tenon")
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCE / "python_bindings/tenon", root / "tenon", ignore=hidden, dirs_exist_ok=True)
        write_metadata(root)
        subprocess.run([sys.executable, "-m", "wheel", "pack", scratch, "-d", folder], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
