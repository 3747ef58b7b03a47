# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report: where and with what it was measured, written whole after each case."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tenon
from tenon.bench.files import write_text_whole


def environment(device: str) -> dict[str, Any]:
    """Return where and with what figures are measured."""
    import torch

    from tenon.bench.timing import LOAD

    on_gpu = device == "cuda"
    return {
        "device": torch.cuda.get_device_name() if on_gpu else platform.processor() or platform.machine(),
        "multiprocessors": torch.cuda.get_device_properties(0).multi_processor_count if on_gpu else None,
        "driver": driver_version() if on_gpu else None,
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "tenon": tenon.__version__,
        "commit": commit(Path(__file__).resolve()),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **LOAD,
    }


def driver_version() -> str | None:
    """Return the version of NVIDIA's driver, None where nvidia-smi does not tell."""
    return _ask("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")


def commit(file: Path) -> str | None:
    """Return the commit of the checkout that `file` belongs to, None where it is installed elsewhere."""
    inside = ["git", "-C", str(file.parent)]
    return _ask(*inside, "rev-parse", "HEAD") if _ask(*inside, "ls-files", file.name) else None


def _ask(*command: str) -> str | None:
    """Return the first line that a command prints, None where it fails or there is none."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def write_whole(path: Path, report: dict[str, Any]) -> None:
    """Write a report as JSON in one step."""
    write_text_whole(path, json.dumps(report, indent=1, allow_nan=False) + "\n")
