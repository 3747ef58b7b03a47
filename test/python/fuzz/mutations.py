# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutates the modules of the lit tests and the examples, and has the tools read them: exit 0 or 1, no signal, no hang.

Each goes through the passes of its own test, through six groups of passes and three compilations of those below;
what does not parse is mutated anew, a few times. A failure's input is in the summary.
"""

from __future__ import annotations

import random
import re
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import runner
from .tools import describe, run_tool

ROOT = Path(__file__).resolve().parents[3]
TOKEN = re.compile(
    r"(?P<value>%[\w#]+)|(?P<symbol>@\w+)|(?P<type>(?:tensor|memref|vector)<[^<>]*>)|(?P<op>[a-z_]\w*\.\w[\w.]*)"
    r"|(?P<number>-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<element>\b(?:[fi]\d+|bf16|index)\b)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<mark>[^\s\w])"
)
# Without the least i64, which in a static list of MLIR's own ops is a dynamic entry that has no operand.
NUMBERS = "0 1 -1 2 3 7 16 33 1024 65536 2147483647 2147483648 9223372036854775807 1e38 1e-45 0.0 -0.0"
ATTEMPTS = 5
ELEMENTS = "f16 bf16 f32 f64 i1 i8 i32 i64 index f8E5M2"
PASSES = (
    "--canonicalize --cse",
    "--tenon-tensor-pipeline",
    "--tenon-cpu-pipeline",
    "--tenon-cuda-pipeline=targets=sm_80,sm_90a",
    "--tenon-simplify='allow-rounding-changes fold-weights rescale-statistics' --tenon-fuse-epilogue --tenon-unfuse",
    "--tenon-reference --tenon-hoist-prepare",
    "--tenon-to-linalg --tenon-fuse-elementwise --tenon-bufferize --tenon-cpu-split --tenon-cpu-matmul"
    " --tenon-cpu-loops --tenon-cpu-math --tenon-parallel-to-runtime",
    "--tenon-select-strategy='targets=sm_90a strategy=tiled reduction=resident' --tenon-fuse-epilogue"
    " --tenon-to-tiled --tenon-bufferize --tenon-emit-kernels --tenon-clean-kernels",
    "--tenon-select-strategy='targets=sm_80 strategy=tiled reduction=two_phase' --tenon-to-tiled --tenon-bufferize"
    " --tenon-emit-kernels --tenon-clean-kernels",
    "--tenon-emit-kernels --tenon-clean-kernels --tenon-lower-kernels",
    "--tenon-to-blaslt --tenon-bufferize --tenon-host-abi=device=cuda --tenon-host-to-llvm",
)
COMPILATIONS = (
    "--reference --emit=obj",
    "--allow-rounding-changes --fold-weights --emit=llvm",
    "--target=sm_80,sm_90a --strategy=library --fold-weights --allow-rounding-changes --stop-after=cuda-llvm",
    "--target=sm_90a --emit=fatbin",
    "--target=sm_80 --strategy=tiled --stop-after=cuda-llvm",
    "--target=sm_90a --strategy=tiled --reduction=resident --stop-after=cuda-llvm",
    "--target=sm_80 --strategy=tiled --reduction=two_phase --stop-after=cuda-llvm",
    "--target=sm_90a --strategy=tiled --reduction=input_moments --stop-after=cuda-llvm",
)


@dataclass
class Piece:
    """A module of the corpus, and the passes that its test runs."""

    text: str
    passes: list[str]


@cache
def corpus() -> list[Piece]:
    """Return all modules, those of the same test together."""
    pieces = []
    for path in sorted([*ROOT.glob("test/**/*.mlir"), *ROOT.glob("examples/*.mlir")]):
        text = path.read_text()
        runs = re.sub(r"\\\n\s*// RUN:", "", "\n".join(line for line in text.splitlines() if "RUN:" in line))
        found = re.findall(r"tenon-opt ([^|]*)", runs)
        passes = [re.findall(r"--(?:tenon-[a-z-]+|canonicalize|cse)(?:=(?:\"[^\"]*\"|\S+))?", line) for line in found]
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//") or "-----" in line)
        for part in code.split("// -----"):
            if "@" in part:
                pieces.append(Piece(part.strip() + "\n", [" ".join(p) for p in passes if p]))
    return pieces


@cache
def tokens_by_kind() -> dict[str, list[str]]:
    """Return the corpus' tokens of each kind."""
    found: dict[str, set[str]] = {}
    for piece in corpus():
        for match in TOKEN.finditer(piece.text):
            found.setdefault(match.lastgroup, set()).add(match.group())
    found["number"] |= set(NUMBERS.split())
    found["element"] |= set(ELEMENTS.split())
    return {kind: sorted(words) for kind, words in found.items()}


class Mutator:
    """Changes one text."""

    def __init__(self, seed: int, attempt: int) -> None:
        self.rng = random.Random(f"mutation {seed} {attempt}")
        piece = self.rng.choice(corpus())
        self.text, self.passes = piece.text, piece.passes
        changes = (
            [self.everywhere] * 5 + [self.token] * 4 + [self.shape] * 3 + [self.line] * 2 + [self.remove, self.graft]
        )
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            self.rng.choice(changes)()
        # MLIR's own parser dies of it.
        self.text = self.text.replace("array<index", "array<i32")

    def pick(self) -> re.Match | None:
        """Return a token, each kind with the same chance."""
        by_kind: dict[str, list[re.Match]] = {}
        for match in TOKEN.finditer(self.text):
            by_kind.setdefault(match.lastgroup, []).append(match)
        return self.rng.choice(by_kind[self.rng.choice(sorted(by_kind))]) if by_kind else None

    def other(self, match: re.Match) -> str:
        """Return a token of the same kind, from this text or any."""
        kind = match.lastgroup
        if kind == "number" and self.rng.random() < 0.6:
            return self.rng.choice(NUMBERS.split())
        near = [m.group() for m in TOKEN.finditer(self.text) if m.lastgroup == kind]
        return self.rng.choice(near if self.rng.random() < 0.5 else tokens_by_kind()[kind])

    def replace(self, match: re.Match, text: str) -> None:
        self.text = self.text[: match.start()] + text + self.text[match.end() :]

    def token(self) -> None:
        if match := self.pick():
            self.replace(match, self.other(match))

    def everywhere(self) -> None:
        """Replace a token wherever it stands, which keeps much valid."""
        if match := self.pick():
            old, new = match.group(), self.other(match)
            self.text = TOKEN.sub(lambda m: new if m.group() == old else m.group(), self.text)

    def shape(self) -> None:
        """Replace an extent or an element type in all types."""
        parts = [
            p for m in TOKEN.finditer(self.text) if m.lastgroup == "type" for p in re.findall(r"\w+|\?", m.group())
        ]
        parts = [x for p in parts[1:] for x in p.split("x") if x.isdigit() or x in ("?", *ELEMENTS.split())]
        if not parts:
            return
        old = self.rng.choice(parts)
        extents = ["?", "0", "1", "3", "8", "33", "64", "1000", "4096", "1048576", "4294967296"]
        new = self.rng.choice(ELEMENTS.split() if old in ELEMENTS.split() else extents)
        pattern = re.compile(rf"(?<=[<x]){re.escape(old)}(?=[x>,])")
        self.text = TOKEN.sub(lambda m: pattern.sub(new, m.group()) if m.lastgroup == "type" else m.group(), self.text)

    def line(self) -> None:
        """Drop, repeat or move a line."""
        lines = self.text.splitlines(keepends=True)
        at = self.rng.randrange(len(lines))
        line = lines.pop(at)
        if self.rng.random() < 0.7:
            lines.insert(self.rng.randrange(len(lines) + 1), line)
            if self.rng.random() < 0.5:
                lines.insert(at, line)
        self.text = "".join(lines)

    def remove(self) -> None:
        if match := self.pick():
            self.replace(match, "")

    def graft(self) -> None:
        """Put in some lines of another module."""
        lines, others = self.text.splitlines(keepends=True), self.rng.choice(corpus()).text.splitlines(keepends=True)
        first = self.rng.randrange(len(others))
        at = self.rng.randrange(len(lines) + 1)
        self.text = "".join(lines[:at] + others[first : first + self.rng.randint(1, 12)] + lines[at:])


def is_of_another_parser(log: str) -> bool:
    """Tell whether a tool ended within a parser of an op that is not of our dialects."""
    parsers = re.findall(r"MLIR Parser: custom op parser '(\w+)\.", log)
    return bool(parsers) and parsers[-1] not in ("tenon", "blaslt")


def check(seed: int, scratch: Path) -> tuple[str, Counter]:
    """Run the tools on a mutated module."""
    rng, counts, problems = random.Random(f"runs {seed}"), Counter(), []
    source, log = scratch / "input.mlir", scratch / "log"

    def run(tool: str, flags: str) -> int:
        status = run_tool(tool, source, *shlex.split(flags), "-o", scratch / "out", log=log)
        counts[f"{tool}, exit {status}"] += 1
        if status not in (0, 1):
            problems.append(f"{tool} {flags}: {describe(status)}\n{log.read_text(errors='replace')[:1500]}")
        return status

    for attempt in range(ATTEMPTS):
        mutator = Mutator(seed, attempt)
        source.write_text(mutator.text)
        status = run("tenon-opt", "--mlir-disable-threading")
        if status not in (0, 1) and is_of_another_parser(log.read_text(errors="replace")):
            counts["inputs that end MLIR's own parsers"] += 1
            problems.clear()
        if status == 0:
            counts["inputs that parse"] += 1
            for flags in [*mutator.passes, *rng.sample(PASSES, 6)]:
                run("tenon-opt", f"--mlir-disable-threading {flags}")
            for flags in rng.sample(COMPILATIONS, 3):
                run("tenon-compile", flags)
        if status != 1:
            break
    else:
        run("tenon-compile", COMPILATIONS[0])
    return "\n".join([*problems, mutator.text]) if problems else "", counts


def main() -> int:
    """Run the command line."""
    args = runner.parser(__doc__, 20_000).parse_args()
    corpus(), tokens_by_kind()
    return runner.main("mutated modules", args, check, limit_s=600)


if __name__ == "__main__":
    sys.exit(main())
