# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of an exception of Tenon's own while a model is compiled: a warning, and PyTorch does the work."""

from __future__ import annotations

import contextlib
import contextvars
import warnings
from collections.abc import Iterator

from tenon.errors import is_strict_process

_strict: contextvars.ContextVar[bool] = contextvars.ContextVar("tenon_strict", default=False)
told: set[str] = set()  # each failure is warned of once


@contextlib.contextmanager
def strictness(strict: bool) -> Iterator[None]:
    """Have failures within raise, if that is asked for here or by TENON_STRICT=1."""
    token = _strict.set(strict or is_strict())
    try:
        yield
    finally:
        _strict.reset(token)


def is_strict() -> bool:
    """Tell whether a failure raises."""
    return _strict.get() or is_strict_process()


def failed(what: str, error: Exception) -> str:
    """Warn once of a failure, and return why PyTorch runs what is left; raise it where that is asked for.

    Args:
        what: the op or function that Tenon failed on.
        error: the exception that is being handled.

    """
    if is_strict():
        raise error
    cause = f"{type(error).__name__}: {error}".splitlines()[0]
    text = f"tenon: {what} is left to PyTorch, since Tenon failed on it ({cause})"
    if text not in told:
        told.add(text)
        warnings.warn(
            f"{text}. Please report it with the output of TENON_STRICT=1, which raises the error.", stacklevel=2
        )
    return f"Tenon failed on it ({cause})"
