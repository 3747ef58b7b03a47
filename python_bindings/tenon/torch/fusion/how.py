# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a graph is cut."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from tenon.torch.choice.candidate import Candidate

# Tells for each function why it is better left to PyTorch, or None.
Judge = Callable[[Sequence[Candidate]], Sequence[str | None]]


@dataclasses.dataclass(frozen=True)
class How:
    """What `partition` is given beside a graph; see there."""

    parameters: set[str]
    precision: str | None
    judge: Judge | None
    for_inductor: bool
    siblings: bool
    norms_ahead: str

    @property
    def moves_norms(self) -> bool:
        """Whether linear layers may take what norms ahead of them take."""
        may = self.norms_ahead == "always" or (self.norms_ahead == "auto" and self.judge and self.for_inductor)
        return bool(may and self.parameters and self.precision != "fp8")
