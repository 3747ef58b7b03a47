# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A forward that was compiled for calls of one kind, and how they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tenon.torch.modules.arguments import CallArguments
from tenon.torch.modules.guards import Ambient, check_plain, guard_tensors
from tenon.torch.modules.purity import Scan
from tenon.torch.modules.reads import Impure

# The dynamic dimensions of each tensor.
Dims = tuple[frozenset[int], ...]


class Specialization:
    """A compiled forward and the calls that it is for, as far as arguments tell.

    Attributes:
        tensors: what forward reads, then the arguments, until it is complete.
        sources: how many of them forward reads by itself.
        parameters: which of those are parameters.
        dynamic: which of their extents are free.
        kind: equal for calls that differ in extents and strides at most.
        shapes: shapes of the arguments that it was captured with.
        fuses: whether there is anything that PyTorch would not run as well by itself.

    """

    def __init__(self, scan: Scan, arguments: CallArguments, dynamic: Dims | None = None) -> None:
        """Make the guards; raise Impure if a graph would not be all that forward does.

        Without `dynamic`, all extents are as they are now.
        """
        sources = scan.reads.present_tensors()
        self.tensors = (*sources, *arguments.tensors)
        check_plain(self.tensors)
        if scan.changes and arguments.mutable:
            raise Impure("forward may change a container that is an argument")
        self._ambient = Ambient()
        self._structure = arguments.structure
        self.kind = kind_of(arguments)
        self.shapes = [tensor.shape for tensor in arguments.tensors]
        self.sources = len(sources)
        self.parameters = {i for i, tensor in enumerate(sources) if isinstance(tensor, torch.nn.Parameter)}
        self.dynamic = (frozenset(),) * len(sources) + (dynamic or (frozenset(),) * len(arguments.tensors))
        self._check = guard_tensors(self.tensors, self.dynamic)
        self._run: Callable[..., Sequence[torch.Tensor]] | None = None
        self._rebuild: Callable[[Sequence[torch.Tensor]], Any] = tuple
        self._extents: Callable[[Sequence[torch.Tensor]], bool] | None = None
        self._apart: Callable[[Sequence[torch.Tensor]], bool] | None = None
        self.fuses = False

    def complete(
        self,
        run: Callable[..., Sequence[torch.Tensor]] | None,
        rebuild: Callable[[Sequence[torch.Tensor]], Any],
        extents: Callable[[Sequence[torch.Tensor]], bool] | None = None,
        apart: Callable[[Sequence[torch.Tensor]], bool] | None = None,
    ) -> None:
        """Take the compiled function of `tensors`, and let go of them.

        Args:
            run: None where there is nothing to fuse.
            rebuild: from its results to those of forward.
            extents: tells whether dynamic extents are such as capture took for granted.
            apart: tells whether nothing that it writes to shares memory; None if it writes to nothing.

        """
        self._run, self._rebuild, self._extents, self._apart = run, rebuild, extents, apart
        self.fuses = run is not None
        self.tensors = ()

    def admits(self, structure: Any, tensors: Sequence[torch.Tensor]) -> bool:
        """Tell whether a call is one of those that this was compiled for.

        `tensors` are those that forward reads, then the arguments.
        """
        return (
            structure == self._structure
            and self._ambient.holds()
            and self._check(*tensors)
            and (self._extents is None or self._extents(tensors))
        )

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        """Run on the tensors of a call that it admits."""
        if not self._ambient.autocast:
            return self._rebuild(self._run(*tensors))
        with torch._C._DisableAutocast():  # its casts are in the graph
            return self._rebuild(self._run(*tensors))

    def suits(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Tell whether a call that it admits runs here, and not as PyTorch runs it."""
        return self.fuses and (self._apart is None or self._apart(tensors))


def kind_of(arguments: CallArguments) -> tuple[Any, ...]:
    """Return what is equal for calls that differ in extents and strides at most."""
    tensors = [(t.dtype, t.device, t.dim(), t.requires_grad) for t in arguments.tensors]
    return (Ambient().key, arguments.structure, tuple(tensors))
