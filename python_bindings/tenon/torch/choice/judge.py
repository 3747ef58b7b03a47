# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the functions of a graph, and says which of them are worth a call."""

from __future__ import annotations

import contextvars
import dataclasses
import functools
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

import tenon
from tenon import cache
from tenon.torch.calls.call import FusedCall
from tenon.torch.choice.candidate import Candidate, Product
from tenon.torch.choice.timing import undisturbed
from tenon.torch.choice.trial import time_apart, time_candidate
from tenon.torch.failures import failed
from tenon.torch.fusion.specs import Partition
from tenon.torch.options import Options
from tenon.torch.precision import float32_matmul_precision

# A call must be faster by as much, since the estimate of what it replaces errs.
_MARGIN = 0.98
# Of so many rows bare products of 16 bits are tried too: with 8 of them one of 4096x11008 took 22.9 us on an H200, and
# cuBLAS's with its reduction 26.9.
_FEW_ROWS = 64
# What cuBLASLt may do in a product's call; with other ops that is not tried.
_LIBRARY_KINDS = {"linear", "add", "mul", "relu", "gelu", "cast"}
_ON_CPU = "PyTorch's own product is faster on the CPU; options={'target': 'cpu'} has it compiled all the same"
_BARE = "nothing follows it that could be fused with it, and cuBLAS computes it as fast"
_APART = "a kernel for each of its products is faster"
_NOT_TOGETHER = "its products have no kernel, or launch, together"
_NOT_TILED = "cuBLASLt would compute its product, and one more kernel what follows, as PyTorch does"
# What cuBLASLt's product and its epilogue are, by how a layer is tried with it.
_LIBRARY_KERNELS = {"library": ["call"], "rows": ["product", "epilogue"]}


# Compilations at once; ptxas and LLVM take up to a second of a core each.
_THREADS = 16

# What of a function's text does not change what it computes, besides its name.
_UNSAID = re.compile(r' loc\("(?:[^"\\]|\\.)*":\d+:\d+\)')

# What is tried, and the arguments of `tenon.compile` for it; the first three are as what groups are joined.
_WAYS = {
    "pairs": {"strategy": "tiled", "pairs": "always"},
    "sums": {"strategy": "tiled", "pairs": "always"},
    "siblings": {"strategy": "tiled", "siblings": "always"},
    "apart": {"strategy": "tiled", "pairs": "never", "siblings": "never"},
    "tiled": {"strategy": "tiled"},
    "library": {"strategy": "library"},
    "rows": {"strategy": "library"},
}


@dataclasses.dataclass(frozen=True)
class _Choice:
    """What a function is called as.

    Attributes:
        executable: what is called.
        arguments: of `tenon.compile`, which gave it.
        gain: how many milliseconds it was faster than PyTorch in a trial.

    """

    executable: tenon.Executable
    arguments: dict[str, Any]
    gain: float


class Judge:
    """Says of functions whether they are worth a call, and keeps those that it compiled.

    On a GPU with strategy "auto" each is timed there, as one kernel and as one call of cuBLASLt where it can be that,
    or where it reduces rows as cuBLASLt's product and one kernel, which reads each row once, against PyTorch's products
    and an estimate of Inductor's kernels behind them. What the options ask for is called in the fastest of its ways,
    however fast PyTorch is. What was found is kept beside the compiled models, so that it is the same the next time.
    """

    def __init__(self, options: Options) -> None:
        """Take the options of a compilation."""
        self._options = options
        self._verdicts: dict[str, _Choice | str] = {}  # by key; why a function is not worth a call
        self._fastest: dict[str, _Choice] = {}  # by key, of those that were timed
        self._chosen: dict[str, _Choice] = {}  # by source

    def __call__(self, candidates: Sequence[Candidate]) -> list[str | None]:
        """Return why each function is better left to PyTorch; None for those that are worth a call."""
        if behind := [c.ahead.candidate for c in candidates if c.ahead]:
            self(behind)
        keys = [self._key(c) for c in candidates]
        new = {key: c for key, c in zip(keys, candidates, strict=True) if key not in self._verdicts}
        ways = {key: self._ways(c) for key, c in new.items()}
        tasks = [(key, way) for key, found in ways.items() if not isinstance(found, str) for way in found]
        compiled = self._compile_all([(new[key], way, ways[key][way]) for key, way in tasks])
        results = dict(zip(tasks, compiled, strict=True))
        for key, candidate in new.items():
            found = ways[key]
            if not isinstance(found, str):
                found = self._callable(candidate, {way: results[key, way] for way in found})
            self._verdicts[key] = found if isinstance(found, str) else self._try_choose(candidate, found)
        verdicts = [self._verdicts[key] for key in keys]
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            if isinstance(verdict, _Choice):
                self._chosen[candidate.spec.source] = verdict
        return [verdict if isinstance(verdict, str) else None for verdict in verdicts]

    def call_of(self, part: Partition) -> tuple[FusedCall, dict[str, Any]]:
        """Return the call of a function that is worth it, and the arguments of `tenon.compile` that gave it.

        Functions that differ in names and locations alone have one executable, compiled from the first of them.
        """
        choice = self._chosen[part.source]
        return FusedCall(part, choice.executable), choice.arguments

    def gain_of(self, part: Partition) -> float:
        """Return how many milliseconds a function that was timed takes less than PyTorch would."""
        return self._chosen[part.source].gain

    def loss_of(
        self, whole: Sequence[Product], parts: Sequence[Product], added: Sequence[Product], device: torch.device
    ) -> float:
        """Return how many milliseconds longer PyTorch's products take in parts, of which some are added to others."""
        products = [[str(dataclasses.astuple(product)) for product in each] for each in (whole, parts, added)]
        key = cache.key_of({"apart": products, **_platform(device)})
        try:
            return _timed_once(key, device, lambda: {"loss": time_apart(whole, parts, added, device)})["loss"]
        except Exception as error:
            failed("the trial of products in parts", error)
            return math.inf

    def measures(self, device: torch.device) -> bool:
        """Tell whether functions on a device are timed, against what Inductor would make of them."""
        options = self._options
        is_free = options.target is None and all(value == "auto" for value in options.of_compiler().values())
        return device.type == "cuda" and is_free and options.rest_for(device) == "inductor"

    def _ways(self, candidate: Candidate) -> dict[str, dict[str, Any]] | str:
        """Return the arguments of `tenon.compile` for each way to try, or why there is none."""
        device = candidate.device
        if not self._options.compiles_for(device):
            return _ON_CPU
        is_product_wide = all(product.dtype == torch.float32 for product in candidate.products)
        is_of_few_rows = all(product.m <= _FEW_ROWS for product in candidate.products)
        may_be_bare = candidate.joined_as == "siblings" or (
            self.measures(device) and (is_product_wide or is_of_few_rows)
        )
        if candidate.is_bare and not may_be_bare:
            return _BARE
        settings = self._settings(candidate)
        if not self._is_measured(candidate):
            return {settings["strategy"]: settings}
        if candidate.joined_as:
            return {way: settings | _WAYS[way] for way in (candidate.joined_as, "apart")}
        ways = ["tiled"]
        if _LIBRARY_KINDS.issuperset(candidate.kinds):
            ways.append("library")
        elif "reduce_row" in candidate.kinds and not is_product_wide:
            ways.append("rows")
        return {way: settings | _WAYS[way] for way in ways}

    def _is_measured(self, candidate: Candidate) -> bool:
        return self.measures(candidate.device) and bool(candidate.products)

    def _compile_all(
        self, tasks: Sequence[tuple[Candidate, str, dict[str, Any]]]
    ) -> list[tenon.Executable | str | None]:
        """Return what `_try_compile` does for each, side by side."""
        with ThreadPoolExecutor(max(1, min(_THREADS, os.cpu_count() or 1, len(tasks)))) as pool:
            contexts = [contextvars.copy_context() for _ in tasks]  # they say whether a failure raises
            return list(pool.map(lambda task, context: context.run(self._try_compile, *task), tasks, contexts))

    def _try_compile(self, candidate: Candidate, way: str, settings: dict[str, Any]) -> tenon.Executable | str | None:
        """Return what a way gives, None where it is none for this function, or that it failed."""
        try:
            executable = tenon.compile(candidate.spec.source, name=candidate.spec.name, **settings)
            return executable if not self._is_measured(candidate) or _is_one_call(executable, way) else None
        except Exception as error:
            return failed(f"compilation of {candidate.spec.name}", error)

    def _callable(
        self, candidate: Candidate, compiled: dict[str, tenon.Executable | str | None]
    ) -> dict[str, tenon.Executable] | str:
        """Return what may be called, by the way in which it was compiled, or why there is nothing."""
        for result in compiled.values():
            if isinstance(result, str):
                return result
        executables = {way: executable for way, executable in compiled.items() if executable is not None}
        if self._is_measured(candidate) and candidate.joined_as and candidate.joined_as not in executables:
            return _NOT_TOGETHER
        return executables or _NOT_TILED

    def _settings(self, candidate: Candidate) -> dict[str, Any]:
        options = self._options
        return {"target": options.targets_for(candidate.device), **options.of_compiler()}

    def _try_choose(self, candidate: Candidate, executables: dict[str, tenon.Executable]) -> _Choice | str:
        try:
            way = next(iter(executables))
            is_measured, gain, reason = self._is_measured(candidate), 0.0, None
            if is_measured:
                way, gain, reason = self._measure(candidate, executables)
        except Exception as error:
            return failed(f"the trial of {candidate.spec.name}", error)
        settings = self._settings(candidate) | (_WAYS[way] if is_measured else {"strategy": way})
        arguments = {"mlir": candidate.spec.source, "name": candidate.spec.name, **settings}
        choice = _Choice(executables[way], arguments, gain)
        if is_measured:
            self._fastest[self._key(candidate)] = choice
        return reason or choice

    def _measure(self, candidate: Candidate, executables: dict[str, tenon.Executable]) -> tuple[str, float, str | None]:
        """Return the fastest way, the milliseconds that it gains, and why PyTorch is faster still, or two calls are."""

        def time() -> dict[str, Any]:
            calls = [FusedCall(candidate.spec, executable) for executable in executables.values()]
            own, pytorch = time_candidate(candidate, calls, *self._behind(candidate))
            of_function = {"function": candidate.spec.name, "shapes": candidate.shapes, "pytorch": pytorch}
            return of_function | dict(zip(executables, own, strict=True))

        times = _timed_once(self._key(candidate), candidate.device, time)
        way = min(executables, key=times.__getitem__)
        gain = times["pytorch"] - times[way]
        if candidate.is_asked or times[way] < times["pytorch"] * _MARGIN:
            return way, gain, _APART if candidate.joined_as and way == "apart" else None
        ours, theirs = times[way] * 1e3, times["pytorch"] * 1e3
        return way, gain, f"PyTorch is as fast on this GPU: {theirs:.1f} us by estimate, and Tenon takes {ours:.1f}"

    def _behind(self, candidate: Candidate) -> list[FusedCall]:
        """Return the fastest call of the function that has a norm ahead of it, if there is one."""
        choice = self._fastest.get(self._key(candidate.ahead.candidate)) if candidate.ahead else None
        return [FusedCall(candidate.ahead.candidate.spec, choice.executable)] if choice else []

    def _key(self, candidate: Candidate) -> str:
        spec = candidate.spec
        ahead = candidate.ahead and [
            self._key(candidate.ahead.candidate),
            candidate.ahead.columns,
            candidate.ahead.share,
        ]
        facts = {
            "ahead": ahead,
            "source": _UNSAID.sub("", spec.source).replace(f"@{spec.name}(", "@("),
            "shapes": candidate.shapes,
            "strides": candidate.strides,
            "moved": [*candidate.readers, candidate.kept_results, candidate.placed],
            "joined_as": candidate.joined_as,
            "settings": self._settings(candidate),
            **_platform(candidate.device),
        }
        return cache.key_of(facts)


def _timed_once(key: str, device: torch.device, time: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what is kept beside the compiled models under a key, or else is timed on a device now."""
    path = cache.directory() / "choices" / f"{key}.json"
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        # One process at a time, since each would be slower beside the others.
        lock = Path(tempfile.gettempdir(), f"tenon-trial-{os.getuid()}.lock")
        with cache.locked(lock), undisturbed(device):
            times = time()
    cache.write_text(path, json.dumps(times))
    return times


def _platform(device: torch.device) -> dict[str, Any]:
    """Return what times depend on beside what is timed."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch": [torch.__version__, float32_matmul_precision()],
        "compiler": tenon.compiler.fingerprint(),
        "trials": _trials(),
    }


@functools.cache
def _trials() -> str:
    """Return the hash of the code that estimates what PyTorch takes."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _is_one_call(executable: tenon.Executable, way: str) -> bool:
    """Tell whether all linear layers are tiled, or computed by cuBLASLt with what follows in its call, or one kernel.

    Of those that were joined one has to be in the kernel, or the launch, of another.
    """
    values = [remark.values for remark in executable.remarks]
    joined = {"pairs": "kernel_line", "sums": "kernel_line", "siblings": "launch_line"}.get(way)
    if joined and not any(joined in v for v in values):
        return False
    if way in _LIBRARY_KERNELS:
        kernels = [v["kernels"] for v in values if {"call", "product"} & {*v.get("kernels", ())}]
        found = [of_layer == _LIBRARY_KERNELS[way] for of_layer in kernels]
    else:
        found = [v["strategy"] == "tiled" for v in values if "strategy" in v]
    return bool(found) and all(found)
