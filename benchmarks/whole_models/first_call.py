# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first call of a fresh process, with empty caches and with those of the process before it.

The clock starts when torch and transformers are imported, the model is on the device and has run there once in
eager mode, and stops when the first result, in a training step all gradients, is there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from whole_models.jobs import Job

SCRIPT = Path(__file__).resolve().parent.parent / "bench_whole_models.py"
CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "TENON_CACHE_DIR": "tenon"}


def seconds_here(job: Job) -> dict:
    """Return seconds of the first call of the job's only contender; in a process that compiled nothing yet."""
    import torch
    from torch_timing import synchronize

    from whole_models.contenders import Workload, set_precision
    from whole_models.measure import gradients, versions

    set_precision()
    load = Workload(job)
    with gradients(load.gradients):
        if load.gradients:
            load.draw_target()
        eager = load.contender("eager")
        eager.step()
        synchronize(job.device)
        begin = time.perf_counter()
        contender = load.contender(job.contenders[0])
        contender.step()
        synchronize(job.device)
        seconds = time.perf_counter() - begin
    return {"seconds": seconds, "threads": torch.get_num_threads(), "versions": versions(job.device)}


def spawn(job: Job, caches: Path, limit_s: float) -> dict:
    """Return what seconds_here does in a fresh process; raises where it fails."""
    environment = os.environ | {name: str(caches / folder) for name, folder in CACHES.items()}
    command = [sys.executable, str(SCRIPT), "--child", json.dumps(vars(job))]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=max(1.0, limit_s), check=False
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def first_calls(job: Job, contender: str, end: float, colds: int = 1, warms: int = 2) -> dict:
    """Return seconds of cold and of warm first calls of a contender; what fails is kept as text."""
    alone = replace(job, contenders=[contender])
    found: dict = {"model": job.model, "scenario": job.scenario, "mode": job.mode, "contender": contender}
    found |= {"tiny": job.tiny, "cold_s": [], "warm_s": [], "failed": None}
    try:
        for _ in range(colds):
            with tempfile.TemporaryDirectory() as folder:
                for kind in ["cold_s", *["warm_s"] * warms]:
                    taken = spawn(alone, Path(folder), min(job.limit_s, end - time.monotonic()))
                    found |= taken["versions"]
                    found[kind].append(taken["seconds"])
    except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
        found["failed"] = f"{type(error).__name__}: {str(error)[:500]}"
    return found
