# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a benchmark's configuration, and tells what is wrong with one.

docs/Benchmarking.md describes the keys. A key outside of "groups" holds for every group that
does not set it.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tenon
from tenon import device
from tenon.bench.contender import (
    PEERS,
    REDUCTIONS,
    STRATEGIES,
    Contender,
    of_peer,
    of_reduction,
    of_schedules,
    of_strategy,
)
from tenon.bench.epilogue import NAMED, Epilogue, read_epilogue
from tenon.bench.ops import OUTPUTS, EpilogueError
from tenon.bench.source import DATA, DTYPES, Problem

DEFAULTS: dict[str, Any] = {
    "strategies": ["auto"],
    "schedules": [],
    "reductions": [],
    "peers": ["cublas"],
    "output": "same",
    "data": "random",
    "dynamic_m": False,
    "flush": False,
    "new_parameters": False,
    "repeat": 30,
    "target": None,
}
NEEDED = ("models", "shapes", "dtypes")


class ConfigError(ValueError):
    """A configuration is not right; the message names the key and the remedy."""


@dataclass(frozen=True)
class Case:
    """One problem, what runs it, and how it is timed."""

    problem: Problem
    contenders: tuple[Contender, ...]
    target: str | None  # None: this machine's GPU
    flush: bool
    new_parameters: bool  # parameters are prepared in every call
    repeat: int

    @property
    def name(self) -> str:
        """Return what --filter is matched with."""
        p = self.problem
        dtype = p.dtype if p.output == p.element else f"{p.dtype}-to-{p.output}"
        marks = (f"-{p.data}" if p.data != "random" else "") + ("-dynamic" if p.dynamic_m else "")
        marks += "-flushed" if self.flush else ""
        marks += "-new-parameters" if self.new_parameters else ""
        return f"{p.epilogue.name}-{dtype}-{p.m}x{p.n}x{p.k}{marks}"


CONFIGS = Path(__file__).parent / "configs"


def read_config(path: Path) -> tuple[dict[str, Any], list[Case]]:
    """Return a file's JSON and its cases; raises ConfigError. The package's own are found by name, as `sm80`."""
    own = CONFIGS / f"{path}.json"
    if path.name == str(path) and not path.suffix and not path.exists():
        if not own.exists():
            raise ConfigError(f"no such file, and none of {', '.join(sorted(p.stem for p in CONFIGS.glob('*.json')))}")
        path = own
    try:
        config = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_object)
    except OSError as error:
        raise ConfigError(f"cannot read '{path}': {error.strerror}; expected a JSON configuration") from error
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"'{path}' is no JSON: {error}") from error
    return config, read_cases(config)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a file's JSON, which may have a key but once; of two, one would be ignored."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ConfigError(f"{key} is there twice in one object; leave one of the two out")
        found[key] = value
    return found


def read_cases(config: Any) -> list[Case]:
    """Return the cases of a configuration, each once; raises ConfigError."""
    _check_keys("", config, {*DEFAULTS, *NEEDED, "groups"})
    common = {key: value for key, value in config.items() if key != "groups"}
    if "groups" not in config:
        groups = [("", common)]
    else:
        items = _list("groups", config["groups"])
        for i, group in enumerate(items):
            _check_keys(f"groups[{i}].", group, {*DEFAULTS, *NEEDED})
        groups = [(f"groups[{i}].", common | group) for i, group in enumerate(items)]
    cases: dict[str, Case] = {}
    for where, group in groups:
        for case in _group(where, DEFAULTS | group):
            if cases.setdefault(case.name, case) != case:
                raise ConfigError(
                    f"{where}models: {case.name} is in two groups with other contenders or settings; "
                    "put them into one group, or into two configurations"
                )
    return list(cases.values())


def _group(where: str, group: dict[str, Any]) -> list[Case]:
    for key in NEEDED:
        if key not in group:
            raise ConfigError(f"{where}{key} is missing; give a list of one {key[:-1]} or more")
    epilogues = [_epilogue(f"{where}models[{i}]", m) for i, m in enumerate(_list(f"{where}models", group["models"]))]
    shapes = [
        s for i, v in enumerate(_list(f"{where}shapes", group["shapes"])) for s in _shapes(f"{where}shapes[{i}]", v)
    ]
    dtypes = _words(f"{where}dtypes", group["dtypes"], tuple(DTYPES))
    output = _word(f"{where}output", group["output"], ("same", *OUTPUTS))
    data = _word(f"{where}data", group["data"], DATA)
    dynamic, flush, new = (_flag(where + key, group[key]) for key in ("dynamic_m", "flush", "new_parameters"))
    repeat, target = _repeat(f"{where}repeat", group["repeat"]), _target(f"{where}target", group["target"])
    cases = []
    for epilogue, shape, dtype in itertools.product(epilogues, shapes, dtypes):
        element = DTYPES[dtype][0] if output == "same" else output
        if epilogue.has_batch_norm and shape[0] == 1:
            raise ConfigError(f"{where}shapes: {epilogue.name} takes the variance of a batch; give M of 2 or more")
        problem = Problem(epilogue, *shape, dtype, element, dynamic, data)
        cases.append(Case(problem, _contenders(where, group, dtype), target, flush, new, repeat))
    return cases


def _contenders(where: str, group: dict[str, Any], dtype: str) -> tuple[Contender, ...]:
    """Return a case's contenders, in the order in which they take turns."""
    peers = _words(f"{where}peers", group["peers"], PEERS, empty=True)
    strategies = _words(f"{where}strategies", group["strategies"], STRATEGIES, empty=True)
    schedules = []
    for i, value in enumerate(_list(f"{where}schedules", group["schedules"], empty=True)):
        text, dtypes = _schedule(f"{where}schedules[{i}]", value)
        if dtype in dtypes:
            schedules.append(text)
    reductions = _words(f"{where}reductions", group["reductions"], REDUCTIONS, empty=True)
    ours = [*map(of_strategy, strategies), *map(of_reduction, reductions), *of_schedules(schedules)]
    if not ours and not peers:
        raise ConfigError(
            f"{where}strategies: nothing runs {dtype}; give a strategy ({', '.join(STRATEGIES)}), a schedule, "
            "a reduction or a peer"
        )
    return (*map(of_peer, peers), *ours)


def _epilogue(where: str, value: Any) -> Epilogue:
    if isinstance(value, str):
        if value not in NAMED:
            raise ConfigError(
                f"{where}: there is no model '{value}'; use {', '.join(NAMED)}, or an object with name and epilogue"
            )
        return read_epilogue(value, NAMED[value])
    _check_keys(f"{where}.", value, {"name", "epilogue"})
    name, text = value.get("name"), value.get("epilogue")
    if not isinstance(name, str) or not re.fullmatch(r"\w+", name) or name in NAMED:
        raise ConfigError(f'{where}.name: give a word of its own, such as "bias_tanh", but not a named model\'s')
    lines = text.splitlines() if isinstance(text, str) else text
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"{where}.epilogue: give MLIR text, or a list of its lines; see docs/Benchmarking.md")
    try:
        return read_epilogue(name, tuple(lines))
    except EpilogueError as error:
        raise ConfigError(f"{where}.epilogue: {error}") from None


def _shapes(where: str, value: Any) -> list[tuple[int, ...]]:
    """Return the shapes that [M, N, K] stands for, of which each may be a list."""
    extents = [e if isinstance(e, list) else [e] for e in value] if isinstance(value, list) else []
    good = all(type(e) is int and e > 0 for choice in extents for e in choice)
    if len(extents) != 3 or not good or not all(extents):
        raise ConfigError(
            f"{where}: {json.dumps(value)} is no shape; write [M, N, K], each from 1 on or a list of such"
        )
    return list(itertools.product(*extents))


def _schedule(where: str, value: Any) -> tuple[str, Sequence[str]]:
    """Return a schedule's text and the dtypes that it is for."""
    item = {"schedule": value} if isinstance(value, str) else value
    _check_keys(f"{where}.", item, {"schedule", "dtypes"})
    text = item.get("schedule")
    found = isinstance(text, str) and re.fullmatch(r"\s*#tenon\.schedule<(.*)>\s*", text, re.DOTALL)
    if not found:
        raise ConfigError(
            f'{where}: write "#tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, ...>", '
            'or {"schedule": "#tenon.schedule<...>", "dtypes": ["bf16"]}'
        )
    schedule = " ".join(found[1].split())
    if problem := _schedule_problem(f"#tenon.schedule<{schedule}>"):
        raise ConfigError(f"{where}: {problem}")
    return schedule, _words(f"{where}.dtypes", item.get("dtypes", list(DTYPES)), tuple(DTYPES))


@functools.cache
def _schedule_problem(text: str) -> str:
    """Return why the compiler cannot read a schedule; "" if it can. Whether a GPU can run it, a compilation tells."""
    try:
        tenon.lower("module {\n}", "simplify", schedule=text)
    except tenon.CompileError as error:
        return error.diagnostics[0].message
    return ""


def _check_keys(where: str, value: Any, known: set[str]) -> None:
    if not isinstance(value, dict):
        name = where.rstrip(".") or "the configuration"
        raise ConfigError(f"{name} should be an object, in braces, but is {json.dumps(value)[:60]}")
    if unknown := [key for key in value if key not in known]:
        raise ConfigError(f"{where}{unknown[0]} is no key; the keys here are {', '.join(sorted(known))}")


def _list(where: str, value: Any, empty: bool = False) -> list[Any]:
    if not isinstance(value, list) or not (value or empty):
        raise ConfigError(f"{where} should be a list{'' if empty else ' of one or more'}, in brackets")
    return value


def _words(where: str, value: Any, known: Sequence[str], empty: bool = False) -> list[str]:
    words = _list(where, value, empty)
    return list(dict.fromkeys(_word(f"{where}[{i}]", word, known) for i, word in enumerate(words)))


def _word(where: str, value: Any, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"{where}: there is no {json.dumps(value)}; use {', '.join(known)}")
    return value


def _flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} should be true or false, but is {json.dumps(value)}")
    return value


def _repeat(where: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ConfigError(f"{where} should be a number of rounds, or 0 for no timing, but is {json.dumps(value)}")
    return value


def _target(where: str, value: Any) -> str | None:
    return None if value is None else _word(where, value, device.known_targets())
