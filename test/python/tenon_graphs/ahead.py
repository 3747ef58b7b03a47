# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of many modules at once, before the tests that call what comes out.

Threads do, since the compiler works without Python's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tenon_model import Call, Model, Tensor

Made = TypeVar("Made")


@cache
def compilers() -> ThreadPoolExecutor:
    """Return threads for single compilations: whoever asks, no more are at work at once than there are processors."""
    return ThreadPoolExecutor(os.cpu_count())


@contextmanager
def compile_ahead(jobs: Mapping[str, Sequence[Callable[[], Made]]]) -> Iterator[Callable[[str], list[Made]]]:
    """Give a function that waits for what a name's jobs make; its first call starts all, those of its name first."""
    started: dict[str, list[Future[Made]]] = {}

    def get(name: str) -> list[Made]:
        if not started:
            for other in sorted(jobs, key=lambda other: other != name):
                started[other] = [compilers().submit(job) for job in jobs[other]]
        return [job.result() for job in started[name]]

    try:
        yield get
    finally:
        for job in chain.from_iterable(started.values()):
            job.cancel()


class JoinedModel:
    """Models whose functions are called as if they were of one."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.owners = {name: model for model in models for name in model.functions}
        self.functions = {name: function for model in models for name, function in model.functions.items()}
        self.manifest = {"entries": [entry for model in models for entry in model.manifest["entries"]]}

    def bind(self, name: str, *buffers: object) -> Call:
        """Return a call of a function with fixed buffers."""
        return self.owners[name].bind(name, *buffers)

    def rows_outside(self) -> int:
        """Return how many rows split products of f32 could not hold so far."""
        return sum(model.rows_outside() for model in set(self.owners.values()))

    def output_shapes(self, name: str, inputs: list[Tensor]) -> list[list[int]]:
        """Return the shapes of a function's outputs for these inputs."""
        return self.owners[name].output_shapes(name, inputs)

    def workspace_size(self, name: str, inputs: list[Tensor]) -> int:
        """Return the bytes of workspace that a call needs."""
        return self.owners[name].workspace_size(name, inputs)
