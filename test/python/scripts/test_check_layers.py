# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/check_layers.py: a folder includes folders below it alone."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def check(tree: Path) -> subprocess.CompletedProcess[str]:
    script = shutil.copy(ROOT / "scripts/check_layers.py", tree)
    return subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)


def write(tree: Path, name: str, text: str = "") -> None:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)


def make_tree(tmp_path: Path) -> Path:
    write(tmp_path, "lib/Target/Spec.cpp", '#include "tenon/Target/Spec.h"\n')
    write(tmp_path, "include/tenon/Target/Spec.h")
    write(tmp_path, "lib/Schedule/Checks/Check.h")
    write(tmp_path, "lib/Schedule/Checks/Check.cpp", '#include "Check.h"\n#include "tenon/Target/Spec.h"\n')
    (tmp_path / "scripts").mkdir()
    return tmp_path


def test_this_tree() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/check_layers.py"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_downwards(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    done = check(tree / "scripts")
    assert (done.returncode, done.stdout) == (0, "")


def test_upwards(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    write(tree, "include/tenon/Target/Spec.h", '\n#include "Schedule/Checks/Check.h"\n')
    done = check(tree / "scripts")
    assert done.returncode == 1
    assert done.stdout == "include/tenon/Target/Spec.h:2: Target includes Schedule/Checks, which is above it\n"


def test_unknown_room(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    write(tree, "lib/Attic/Thing.cpp")
    done = check(tree / "scripts")
    assert done.returncode == 1
    assert "lib/Attic/Thing.cpp: its folder is no room; add Attic to ROOMS" in done.stdout
