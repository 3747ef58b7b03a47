# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a module's forward reads besides its arguments: the record that a guard is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

# Values that cannot change: the same object is the same value for ever.
PLAIN_TYPES = frozenset(
    {bool, int, float, complex, str, type(None), type(...), torch.dtype, torch.device, torch.layout}
    | {torch.memory_format}
)
_PLAIN_CONTAINERS = (tuple, frozenset, torch.Size)


class Impure(Exception):  # noqa: N818
    """A forward that may do what a captured graph would not; the message says what, and where."""

    def __init__(self, message: str, where: str | None = None) -> None:
        """Take what is wrong, and the line of source."""
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where

    def at(self, where: str) -> Impure:
        """Return the same with a line of source, unless it has one."""
        return self if self.where else Impure(self.message, where)


def is_plain(value: Any) -> bool:
    """Tell whether a value is a constant through and through."""
    if type(value) in _PLAIN_CONTAINERS:
        return all(is_plain(element) for element in value)
    return type(value) in PLAIN_TYPES


def identity(value: Any) -> tuple[type, Any]:
    """Return what tells a value from others: 1, 1.0 and True differ, as do 0.0 and -0.0."""
    return (type(value), repr(value) if is_plain(value) else id(value))


@dataclasses.dataclass
class Reads:
    """Everything that was read, once each, with the value that was found.

    Attributes:
        items: entries of dictionaries, as (dictionary, key, value).
        absent: keys that a dictionary must not get, as (dictionary, key).
        attributes: attributes of objects, as (object, name, value).
        sizes: lengths of mappings, as (mapping, length); by the class where it is a class's.
        tensors: where tensors are found, as (dictionary, key); not their values.

    """

    items: dict[tuple[int, str], tuple[dict, str, Any]] = dataclasses.field(default_factory=dict)
    absent: dict[tuple[int, str], tuple[dict, str]] = dataclasses.field(default_factory=dict)
    attributes: dict[tuple[int, str], tuple[Any, str, Any]] = dataclasses.field(default_factory=dict)
    sizes: dict[int, tuple[Mapping, int]] = dataclasses.field(default_factory=dict)
    tensors: dict[tuple[int, str], tuple[dict, str]] = dataclasses.field(default_factory=dict)

    def item(self, dictionary: dict, key: str) -> Any:
        """Record and return an entry."""
        value = dictionary[key]
        self.items[id(dictionary), key] = (dictionary, key, value)
        return value

    def all_items(self, dictionary: dict) -> None:
        """Record the entries of a dictionary, and that it has no other."""
        self.size(dictionary)
        for key in dictionary:
            self.item(dictionary, key)

    def no_item(self, dictionary: dict, key: str) -> None:
        """Record that there is no such entry."""
        self.absent[id(dictionary), key] = (dictionary, key)

    def attribute(self, owner: Any, name: str) -> Any:
        """Record and return an attribute that gives the same object each time."""
        value = getattr(owner, name)
        self.attributes[id(owner), name] = (owner, name, value)
        return value

    def size(self, mapping: Mapping) -> None:
        """Record how many entries a mapping has."""
        self.sizes[id(mapping)] = (mapping, len(mapping))

    def names(self, cls: type) -> None:
        """Record that a class has no more names than now; vars() makes an object each time."""
        if id(cls) not in self.sizes:
            self.sizes[id(cls)] = (vars(cls), len(vars(cls)))

    def tensor(self, dictionary: dict, key: str) -> None:
        """Record where a tensor is."""
        self.tensors[id(dictionary), key] = (dictionary, key)

    def unique_tensors(self) -> tuple[list[tuple[dict, str]], list[int]]:
        """Return where each different tensor is, and which of them each place holds.

        A tensor that is found at several places must stay there: they become items.
        """
        places: list[tuple[dict, str]] = []
        order: list[int] = []
        known: dict[int, int] = {}
        for dictionary, key in self.tensors.values():
            tensor = dictionary[key]
            if id(tensor) in known:
                self.item(dictionary, key)
                self.item(*places[known[id(tensor)]])
            else:
                known[id(tensor)] = len(places)
                places.append((dictionary, key))
            order.append(known[id(tensor)])
        return places, order

    def present_tensors(self) -> tuple[torch.Tensor, ...]:
        """Return the different tensors, as they are now."""
        return tuple([dictionary[key] for dictionary, key in self.unique_tensors()[0]])

    def signature(self) -> tuple[Any, ...]:
        """Return a value that is the same for reads that found the same."""
        places, order = self.unique_tensors()
        return (
            tuple(
                (*place, *identity(value)) for place, (_, _, value) in self.items.items() if place not in self.tensors
            ),
            tuple((*place, *identity(value)) for place, (_, _, value) in self.attributes.items()),
            tuple(self.absent),
            tuple(self.tensors),
            tuple(order),
        )
