#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unpack one folder of a wheel, keeping the executable bits.

Usage: unpack_wheel.py WHEEL FOLDER DESTINATION
"""

import sys
import zipfile
from pathlib import Path


def unpack(wheel: Path, folder: str, destination: Path) -> int:
    """Write every file of `wheel` under `folder` to `destination`; return how many."""
    prefix = folder.rstrip("/") + "/"
    count = 0
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if info.is_dir() or not info.filename.startswith(prefix):
                continue
            target = destination / info.filename.removeprefix(prefix)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(info))
            target.chmod((info.external_attr >> 16) & 0o777 or 0o644)
            count += 1
    return count


def main() -> int:
    """Run the command line."""
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    wheel, folder, destination = sys.argv[1:]
    if not unpack(Path(wheel), folder, Path(destination)):
        print(f"unpack_wheel: {wheel} has nothing under {folder}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
