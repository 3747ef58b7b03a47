# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command lines of study_*.py have in common: a result file, and the tables of a page that come of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path


def get_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser that knows --report, the page to write to."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path, help="JSON, written or, with --report, read")
    parser.add_argument("--report", type=Path, help="the page whose tables to replace")
    return parser


def replace(parser: argparse.ArgumentParser, page: Path, begin: str, end: str, lines: list[str]) -> None:
    """Put `lines` between two lines of a page; exits where it does not have them."""
    before, first, rest = page.read_text().partition(begin)
    _, last, after = rest.partition(end)
    if not last:
        parser.error(f"{page} has no lines {begin} and {end}")
    page.write_text("\n".join([before + first, *lines, last + after]))


def write_cases(path: Path, cases: Iterable[dict]) -> None:
    """Write the cases of a study, one a line, when all of them are there."""
    text = ",\n".join(json.dumps(case) for case in cases)
    path.write_text(f'{{"cases": [\n{text}\n]}}\n')


def read_cases(path: Path) -> list[dict]:
    """Return the cases of a result file."""
    return json.loads(path.read_text())["cases"]


def show(description: str, report: Callable[[Path], list[str]], begin: str, end: str) -> None:
    """Print the tables that come of what was measured before, and with --report put them into a page."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path, help="JSON, or the folder of results")
    parser.add_argument("--report", type=Path, help="the page whose tables to replace")
    options = parser.parse_args()
    lines = report(options.measured)
    print("\n".join(lines))
    if options.report:
        replace(parser, options.report, begin, end, lines)


def run(
    description: str,
    study: Callable[[], Iterable[dict]],
    report: Callable[[list[dict]], list[str]],
    begin: str,
    end: str,
) -> None:
    """Carry out a study, or with --report put its tables into a page."""
    parser = get_parser(description)
    options = parser.parse_args()
    if options.report:
        replace(parser, options.report, begin, end, report(read_cases(options.result)))
    else:
        write_cases(options.result, study())
