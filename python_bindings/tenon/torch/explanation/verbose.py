# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What option `verbose` prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tenon.torch.calls.call import FusedCall
from tenon.torch.options import Options


def print_notes(notes: Sequence[str], options: Options) -> None:
    """Print to stderr how products are computed in another form, if the options say so."""
    if options.verbose:
        for note in notes:
            print(f"tenon: {note}", file=sys.stderr)


def print_report(calls: Sequence[FusedCall], options: Options) -> None:
    """Print to stderr what became of a graph, if the options say so."""
    if options.verbose:
        from tenon.torch.explanation.explain import format_table  # imports much that nothing else needs

        print(format_table(calls, options), file=sys.stderr)
