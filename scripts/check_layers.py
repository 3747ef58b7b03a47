#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that C++ folders include each other downwards only.

A room is a folder of lib with the folder of include/tenon that mirrors it. ROOMS lists all of them from the top to the
bottom; a room includes those below it alone, so there are no circles. A layer's Passes.h belongs to no room: it
declares what the rooms below its folder define.

    scripts/check_layers.py            # says which includes go upwards; exits 1 if there are any
    scripts/check_layers.py --picture  # prints which room includes which, as a graph for Mermaid
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = [
    "CAPI",
    "Pipelines",
    "Codegen/Host",
    "Codegen/CUDA",
    "Codegen/CUDA/Binary",
    "Codegen/CUDA/Launch",
    "Codegen/CUDA/Products",
    "Codegen/CUDA/Tiled/Wgmma",
    "Codegen/CUDA/Tiled/Wgmma/Swapped",
    "Codegen/CUDA/Tiled/Wgmma/Subtiles",
    "Codegen/CUDA/Tiled/MmaSync",
    "Codegen/CUDA/Tiled",
    "Codegen/CUDA/InputMoments",
    "Codegen/CUDA/Split",
    "Codegen/CUDA/Epilogue",
    "Codegen/CUDA/Emit",
    "Codegen/CPU",
    "Schedule",
    "Schedule/Strategy",
    "Schedule/Wgmma",
    "Schedule/MmaSync",
    "Schedule/Prediction",
    "Schedule/Checks",
    "Conversion",
    "Conversion/RaiseLinalg",
    "Transforms/HoistPrepare",
    "Transforms/Simplify",
    "Transforms/Fusion",
    "Transforms",
    "Codegen",
    "Dialect/Tenon/Analysis",
    "Dialect/BlasLt/IR",
    "Dialect/Tenon/IR",
    "Remarks",
    "Target",
    "Runtime",
]


def find(file: Path, name: str) -> Path | None:
    """Return what an include means, if it is a header of this tree that lies in a room."""
    if name.endswith(("Passes.h", ".inc")) or name.startswith("tenon-c/"):
        return None
    places = [file.parent / name, ROOT / "lib" / name, ROOT / "include" / name]
    return next((place.resolve() for place in places if place.exists()), None)


def room_of(file: Path) -> str:
    """Return the room that a file lies in."""
    folder = file.parent.relative_to(ROOT).as_posix()
    return re.sub(r"^(lib|include/tenon)/?", "", folder)


def main() -> int:
    """Read all includes."""
    ranks = {room: rank for rank, room in enumerate(ROOMS)}
    edges: set[tuple[str, str]] = set()
    wrong = 0
    for file in sorted([*ROOT.glob("lib/**/*"), *ROOT.glob("include/tenon/**/*")]):
        if file.suffix not in (".h", ".cpp"):
            continue
        room = room_of(file)
        if room not in ranks:
            print(f"{file.relative_to(ROOT)}: its folder is no room; add {room} to ROOMS, above all that it includes")
            wrong += 1
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'#include "([^"]+)"', line)
            header = find(file, match[1]) if match else None
            if header is None or room_of(header) == room:
                continue
            below = room_of(header)
            edges.add((room, below))
            if ranks.get(below, -1) < ranks[room]:
                print(f"{file.relative_to(ROOT)}:{number}: {room} includes {below}, which is above it")
                wrong += 1
    if "--picture" in sys.argv[1:]:
        print("graph TD")
        for above, below in sorted(edges):
            print(f"  {above.replace('/', '_')}[{above}] --> {below.replace('/', '_')}[{below}]")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
