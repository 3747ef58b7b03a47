#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of split products beside those of f32's and tf32's, emulated: needs no GPU, and takes some minutes.

For each kind of data, K and method: the largest and the rms error of emulated_products.py's result against float64,
relative to the errors of what the precision promises: SGEMM's for fp32, sums in f32 for tf32. An output's error is
taken in units of the norms of its rows of x and w. `split` is without the guard, `guarded` with rows outside
computed by the slower way. docs/Rationale.md has conclusions, and tables that --report writes there.

Usage: study_split.py RESULT.json [--k 64 256]
       study_split.py RESULT.json --report docs/Rationale.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import emulated_products as emulated
import numpy as np
import study
import torch
from precision_data import DISTRIBUTIONS, Draw, Pair

EXTENTS = [1, 4, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536]
PROMISED = {"fp32": "sgemm", "tf32": "tf32 in f32"}
BEGIN, END = "<!-- study_split: begin -->", "<!-- study_split: end -->"


def _only(draw: Draw, m: int, k: int, count: int) -> torch.Tensor:
    """Return 1 at `count` random places of each row, 0 elsewhere."""
    places = draw.uniform(m, k).topk(min(count, k)).indices
    return torch.zeros(m, k).scatter_(1, places, 1.0)


def one_number(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both normal, all of a row of x but one element zero: no sum hides a product's error."""
    return draw.normal(m, k) * _only(draw, m, k, 1), draw.normal(n, k)


def few_numbers(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw the same with 64 elements."""
    return draw.normal(m, k) * _only(draw, m, k, 64), draw.normal(n, k)


def features(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both normal, columns of x times powers of ten from 1e-2 to 1e2, and those of w divided by them."""
    scales = torch.pow(10.0, draw.uniform(1, k, -2.0, 2.0))
    return draw.normal(m, k) * scales, draw.normal(n, k) / scales


def far_below(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both normal, 1 in 64 columns of x times 2^-20, where w is times 2^8."""
    far = torch.arange(k) % 64 == 63
    return draw.normal(m, k) * torch.where(far, 2.0**-20, 1.0), draw.normal(n, k) * torch.where(far, 2.0**8, 1.0)


def unused_outlier(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw x in [1, 2) with 2^16 in its first column, where w, normal, is zero."""
    first = torch.arange(k) == 0
    return draw.uniform(m, k, 1.0, 2.0).where(~first, 2.0**16), draw.normal(n, k).where(~first, 0.0)


OURS = (one_number, few_numbers, features, far_below, unused_outlier)
DATA = DISTRIBUTIONS | {made.__name__: made for made in OURS}


def fp32_methods() -> dict[str, Callable]:
    """Return the ways to compute fp32, and what they are compared with."""
    methods: dict[str, Callable] = {"sgemm": emulated.sgemm, "fma": emulated.fma}
    for stages in (1, 2, 8):
        depth = emulated.GROUP * stages
        methods[f"wgmma, promoted every {depth}"] = partial(emulated.fp16x3, core=emulated.HOPPER, depth=depth)
    methods["wgmma, every 64, all lo first"] = partial(emulated.fp16x3, core=emulated.HOPPER, depth=64, stage=64)
    for name, core in (("sm_80", emulated.AMPERE), ("sm_90", emulated.HOPPER)):
        methods[f"mma.sync of {name}"] = partial(emulated.fp16x3, core=core, depth=16, stage=16)
    return methods


def tf32_methods() -> dict[str, Callable]:
    """Return the ways to compute tf32."""
    methods: dict[str, Callable] = {"tf32 in f32": emulated.tf32_in_f32}
    for name, core in (("sm_80", emulated.AMPERE), ("sm_90", emulated.HOPPER)):
        methods[f"tf32 of {name}"] = partial(emulated.tf32, core=core)
        methods[f"fp16 of {name}"] = partial(emulated.fp16, core=core)
    return methods


def is_split(method: str) -> bool:
    """Return whether it multiplies what tenon.split gives, on one scale a row."""
    return method.startswith(("wgmma", "mma.sync", "fp16"))


def relative(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return errors against float64 in units of the rows' norms; rows of zeros have none."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    norms = np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(w, axis=1)
    return np.divide(np.abs(y - x @ w.T), norms, out=np.zeros_like(norms), where=norms != 0)


def measure(made: Callable, k: int, methods: dict[str, Callable], parts: int) -> dict:
    """Return each method's errors, and the share of rows outside."""
    size, repetitions = (64, 4) if k <= 1024 else (32, 1)
    draw = Draw(k, "cpu")
    found: dict[str, list[np.ndarray]] = {}
    outside = 0
    for _ in range(repetitions):
        x, w = (a.numpy() for a in made(draw, size, size, k))
        outside += sum(int((emulated.split_reference.split(a, parts)[1] < 0).sum()) for a in (x, w))
        slower = partial(emulated.fma, x, w) if parts == 2 else partial(emulated.tf32, x, w, emulated.AMPERE)
        for name, method in methods.items():
            y = method(x, w)
            found.setdefault(name, []).append(relative(y, x, w))
            if is_split(name):
                guarded = emulated.replace_outside(y, slower, x, w, parts)
                found.setdefault(f"{name}, guarded", []).append(relative(guarded, x, w))
    errors = {name: np.stack(each) for name, each in found.items()}
    return {
        "rows_outside": outside / (2 * size * repetitions),
        "errors": {
            name: {"max": four(each.max()), "rms": four((each**2).mean() ** 0.5)} for name, each in errors.items()
        },
    }


def four(value: float) -> float:
    """Round to 4 digits."""
    return float(f"{value:.4g}")


def compute(extents: list[int]) -> Iterator[dict]:
    """Give the cases, one at a time."""
    for precision, methods, parts in (("fp32", fp32_methods(), 2), ("tf32", tf32_methods(), 1)):
        for name, made in DATA.items():
            for k in extents:
                found = measure(made, k, methods, parts)
                print(precision, name, k, flush=True)
                yield {"precision": precision, "data": name, "k": k, **found}


# The report


def ratios(case: dict, method: str) -> tuple[float, float]:
    """Return the max and rms error relative to what the precision promises; 0 where both are exact."""
    promised = case["errors"][PROMISED[case["precision"]]]
    mine = case["errors"][method]
    return tuple(0.0 if mine[key] == 0 else mine[key] / (promised[key] or 1e-300) for key in ("max", "rms"))


def cell(cases: list[dict], method: str) -> str:
    """Return the worst ratios of some cases, bold where the promise is broken by more than chance."""
    worst = [max(each) for each in zip(*(ratios(case, method) for case in cases), strict=True)]
    text = " / ".join("exact" if ratio > 1e9 else f"{ratio:.2f}" for ratio in worst)
    return f"**{text}**" if max(worst) > 1.05 else text


def by_extent(cases: list[dict], methods: list[str]) -> list[str]:
    """One row a K: the worst over all data."""
    rows = [
        f"| {k} | " + " | ".join(cell([case for case in cases if case["k"] == k], method) for method in methods) + " |"
        for k in sorted({case["k"] for case in cases})
    ]
    return ["| K | " + " | ".join(methods) + " |", "| --- |" + " --- |" * len(methods), *rows]


def held(cases: list[dict]) -> list[dict]:
    """Return the cases of data whose rows are all inside, if they are long enough."""
    outside = {case["data"] for case in cases if case["k"] >= 64 and case["rows_outside"]}
    return [case for case in cases if case["data"] in DISTRIBUTIONS.keys() - outside]


def by_data(cases: list[dict], method: str) -> list[str]:
    """One row a kind of data: with the guard and without it, the worst from K = 64 on."""
    rows = []
    for name in dict.fromkeys(case["data"] for case in cases):
        mine = [case for case in cases if case["data"] == name and case["k"] >= 64]
        shares = sorted(case["rows_outside"] for case in mine)
        ends = dict.fromkeys(f"{share:.0%}" for share in (shares[0], shares[-1]))
        columns = [name, " to ".join(ends), cell(mine, method), cell(mine, f"{method}, guarded")]
        rows.append(f"| {' | '.join(columns)} |")
    return [f"| data | rows outside | {method} | guarded |", "| --- |" + " --- |" * 3, *rows]


def report(cases: list[dict]) -> list[str]:
    """Return the tables."""
    fp32, tf32 = ([case for case in cases if case["precision"] == precision] for precision in ("fp32", "tf32"))
    return [
        "fp32, errors over SGEMM's, max / rms; the worst over the data of `precision_data.py` that f16 holds:",
        "",
        *by_extent(held(fp32), list(fp32_methods())[1:]),
        "",
        "By data, those of `study_split.py` included; the worst from K = 64 on:",
        "",
        *by_data(fp32, f"wgmma, promoted every {emulated.GROUP}"),
        "",
        "tf32, errors over those of sums in f32, max / rms; the worst over the same data:",
        "",
        *by_extent(held(tf32), list(tf32_methods())[1:]),
    ]


def main() -> None:
    """Run."""
    parser = study.get_parser(__doc__)
    parser.add_argument("--k", type=int, nargs="+", default=EXTENTS, help="extents K")
    options = parser.parse_args()
    if options.report:
        study.replace(parser, options.report, BEGIN, END, report(study.read_cases(options.result)))
    else:
        study.write_cases(options.result, compute(options.k))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
