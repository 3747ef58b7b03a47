# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names for the tensors of an exported model, which become C's."""

from __future__ import annotations

import re

# What a tensor cannot be called (docs/UserGuide.md, "A model"): parameters of the generated
# functions, and C's and C++'s keywords.
_TAKEN = frozenset(
    re.findall(
        r"\w+",
        """
        workspace workspace_bytes stream bytes
        alignas alignof and asm auto bool break case catch char class const constexpr continue default delete
        do double else enum explicit export extern false float for friend goto if inline int long mutable
        namespace new not nullptr operator or private protected public register restrict return short signed
        sizeof static struct switch template this throw true try typedef typename union unsigned using virtual
        void volatile while xor
        """,
    )
)


class Names:
    """Gives out names, each once."""

    def __init__(self) -> None:
        """Begin with all names free."""
        self._given: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return an identifier like `wanted`: `layers.0.weight` becomes `layers_0_weight`."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        if not name or name[0].isdigit() or name in _TAKEN:
            name = f"_{name}"
        unique, number = name, 1
        while unique in self._given:
            number += 1
            unique = f"{name}_{number}"
        self._given.add(unique)
        return unique
