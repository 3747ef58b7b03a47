# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What option `verbose` prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tenon.torch.calls.call import FusedCall
from tenon.torch.options import Options


def print_report(calls: Sequence[FusedCall], options: Options) -> None:
    """Print to stderr what became of a graph, if the options say so."""
    if options.verbose:
        from tenon.torch.explanation.explain import format_table  # imports much that nothing else needs

        print(format_table(calls, options), file=sys.stderr)
