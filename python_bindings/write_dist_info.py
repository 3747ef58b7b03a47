# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the .dist-info folder of the development tree: name, version and entry points of pyproject.toml.

Usage: write_dist_info.py pyproject.toml VERSION FOLDER
"""

import shutil
import sys
import tomllib
from pathlib import Path


def entry_points(project: dict) -> str:
    """Return entry_points.txt."""
    groups = {"console_scripts": project.get("scripts", {})} | project.get("entry-points", {})
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()), ""]
    return "\n".join(lines)


def main(pyproject: str, version: str, folder: str) -> None:
    """Write METADATA, entry_points.txt and RECORD."""
    project = tomllib.loads(Path(pyproject).read_text())["project"]
    for old in Path(folder).glob("tenon*.dist-info"):
        shutil.rmtree(old)
    info = Path(folder) / f"{project['name'].replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points(project))
    (info / "RECORD").write_text("")


if __name__ == "__main__":
    main(*sys.argv[1:])
