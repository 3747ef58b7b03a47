# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The page on performance: its tables from small reports, and that the pages are those of benchmarks/results."""

import copy
import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import measured  # noqa: E402
import report as page  # noqa: E402
import report_headline as headline  # noqa: E402
import report_layers as layers  # noqa: E402
from bench_support import case, run  # noqa: E402

FACTS = {"device": "NVIDIA A100 80GB", "driver": "1", "cuda": "13.0", "torch": "2.11", "date": "2026-01-02T"}


def ratio(contender, value, **changes):
    """Give a contender's times and their ratios to cuBLAS."""
    contender["times"] = {t: {"median_ms": value * (1.5 if t == "single" else 1.0)} for t in measured.TIMINGS}
    contender["time_over_cublas"] = {"single": value - 0.1, "burst": value - 0.2, "sustained": value}
    contender["worst_time_over_cublas"] = value
    contender.update(changes)


def report(values, peers=("cublas", "eager"), **changes):
    """Make a report of one case for each of `values`, the shape and the ratios of the contenders after cuBLAS."""
    made = run(case(models=["bias_mul2_leaky_relu"], strategies=["tiled", "auto"], peers=list(peers)))
    cases = []
    for (m, n, k), *rest in values:
        one = copy.deepcopy(made) | {"m": m, "n": n, "k": k, "name": f"bias_mul2_leaky_relu-bf16-{m}x{n}x{k}"}
        ratio(one["contenders"][0], 1.0)
        for contender, value in zip(one["contenders"][1:], rest, strict=True):
            ratio(contender, value, strategy="tiled")
        cases.append(one | changes)
    return {"environment": FACTS, "copy_bytes_per_s": 4e12, "cases": cases}


def cells(row):
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_pages_are_of_the_results():
    """Whoever changes a result file or a table runs report.py."""
    assert (ROOT / "docs/Performance.md").read_text() == page.page()
    text = (ROOT / "README.md").read_text()
    assert text == page.readme(text)


def test_every_result_has_a_reader():
    """What no script reads, Git keeps."""
    scripts = "".join(path.read_text() for path in (ROOT / "benchmarks").rglob("*.py"))
    names = [path.stem for path in measured.RESULTS.glob("*.json")]
    assert [name for name in names if f'"{name}"' not in scripts and f'{name}.json"' not in scripts] == []


def test_page_is_short_and_shows_its_chart():
    text = (ROOT / "docs/Performance.md").read_text()
    assert len(text.splitlines()) <= 200
    assert "](performance.svg)" in text and page.CHART.exists()


def test_readme_without_a_place_for_the_table():
    with pytest.raises(ValueError, match="put the table's place back"):
        page.readme("# Tenon\n")


def test_a_row_is_a_kind_of_layer():
    """Of each card the mean and the largest of the worst ratios; of all, what eager takes at least."""
    first = report([((1024, 8, 8), 1.5, 1.0, 1.0), ((2048, 8, 8), 2.0, 1.21, 1.0), ((64, 8, 8), 1.2, 1.1, 1.0)])
    second = report([((1024, 8, 8), 1.1, 0.5, 1.0)])
    header, _, many, few = map(cells, layers.tiled_table([first, second]))
    at = {name: i for i, name in enumerate(header)}
    assert [many[at[name]] for name in ("rows", "shapes", "faster than eager: mean / least")] == [
        "more",
        "2",
        f"{(1.5 * 2 / 1.21 * 2.2) ** (1 / 3):.2f}× / 1.50×",
    ]
    assert [row[4:6] for row in (many, few)] == [["1.100 / 1.210", "0.500 / 0.500"], ["1.100 / 1.100", "–"]]


def beside_compile(date, cases, **failures):
    """Make a part of the report beside torch.compile: the cases' dtypes, with its ratio and Tenon's."""
    found = report([((1024, 8192, 8192), peer, ours, ours) for _, peer, ours in cases], peers=("cublas", "compile"))
    for one, (dtype, _, _) in zip(found["cases"], cases, strict=True):
        one |= {"dtype": dtype, "name": f"bias_mul2_leaky_relu-{dtype}-1024x8192x8192"}
        if dtype in failures:
            one["contenders"][1] = {"name": "compile", "tenon": False, "failed": failures[dtype]}
    return found | {"environment": FACTS | {"date": date}}


def test_parts_beside_compile_are_joined():
    """A case that was measured twice is shown once, as it was last measured."""
    parts = [
        beside_compile("2026-01-03T", [("f16", 1.5, 1.0)]),
        beside_compile("2026-01-02T", [("tf32", 1.2, 1.0), ("f16", 9.0, 1.0)]),
    ]
    joined = measured.join(parts)
    rows = [cells(row) for row in layers.compile_lines(joined)[2:]]
    assert {row[0]: row[1:3] for row in rows} == {"tf32": ["1 of 1", "1.20×"], "f16": ["1 of 1", "1.50×"]}
    assert measured.date(joined) == "2026-01-03"


def test_what_could_not_be_compared_with_compile_is_named():
    part = beside_compile("2026-01-02T", [("bf16", 0.5, 1.0), ("f16", 1.5, 1.0)], f16="OutOfMemoryError: no\nmore")
    _, _, row, *rest = layers.compile_lines(part)
    assert cells(row) == ["bf16", "0 of 1", "0.50×", "0.50× (bias_mul2_leaky_relu, 1024×8192×8192)"]
    assert rest[-1] == "- bias_mul2_leaky_relu-f16-1024x8192x8192, torch.compile: OutOfMemoryError: no"


def sweep():
    return report([((1, 64, 64), 2.0, 1.0), ((7, 64, 64), 0.5, 0.5), ((9, 64, 64), 0.8, 1.2)], peers=["cublas"])


def test_means_of_the_sweep():
    dtype, count, mean, largest = cells(layers.sweep_table(sweep())[-1])
    assert (dtype, count) == ("all", "3")
    assert mean == f"**{(2.0 * 0.5 * 0.8) ** (1 / 3):.3f}**"
    assert largest == "2.00 (1×64×64 bf16)"


def test_regret_by_choice_and_kind_of_layer():
    def row(kind, predicted, measured):
        return {
            "kind": kind,
            "layer": [8, 16, 32],
            "epilogue": "bias_relu",
            "predicted": predicted,
            "measured": measured,
        }

    rows = [row("of the models", 1.0, 1.0), row("of the models", 1.21, 1.0), row("random", 1.5, 1.02)]
    table = [cells(line) for line in layers.regret_table({"rows": rows})[2:]]
    assert [line[1:4] for line in table] == [
        ["of the models", "2", "**1.100**"],
        ["random", "1", "**1.500**"],
        ["of the models", "2", "**1.000**"],
        ["random", "1", "**1.020**"],
    ]
    assert table[0][4] == "1.21 (bias_relu, 8×16×32)"


def test_wrong_results_are_named():
    found = sweep()
    assert measured.wrong([found], ("tiled", "auto")) == []
    found["cases"][0]["contenders"][1]["within_tolerance"] = False
    found["cases"][1]["contenders"][2]["failed"] = "RuntimeError: no\nmore"
    found["cases"][2]["contenders"][2]["same_bits"] = False
    assert measured.wrong([found], ("tiled", "auto")) == [
        "- bias_mul2_leaky_relu-bf16-1x64x64, tiled: wrong",
        "- bias_mul2_leaky_relu-bf16-7x64x64, auto: RuntimeError: no",
        "- bias_mul2_leaky_relu-bf16-9x64x64, auto: other bits each time",
    ]
    assert len(measured.wrong([found], ("auto",))) == 2


def test_fp32_beside_eager():
    """Of what Tenon chose itself where that was measured, else of tiled kernels."""
    made = run(case(models=["bias"], dtypes=["fp32"], strategies=["tiled", "auto"], peers=["cublas", "eager"]))
    new = copy.deepcopy(made) | {"new_parameters": True}
    for one, tiled in ((made, 1.0), (new, 1.5)):
        for contender, value in zip(one["contenders"], (2.0, 2.2, tiled, 1.1), strict=True):
            ratio(contender, value)
    new["contenders"][3] = {"name": "auto", "tenon": True, "failed": "no"}
    header, _, *rows = map(cells, layers.eager_table({"environment": FACTS, "cases": [made, new]}))
    at = header.index("faster in bursts")
    assert [(row[0], *row[at : at + 2]) for row in rows] == [
        ("bias", "**2.00×**", "2.00×"),
        ("bias, new parameters", "**1.47×**", "1.47×"),
    ]


def batch_norm_report():
    """Make a report of a layer with batch norm, timed, and of one with columns of large means, which is not."""
    made = run(case(models=["bias_scale_batch_norm"], strategies=["auto"], shapes=[[37, 24, 16]]))
    for contender, value in zip(made["contenders"], (1.0, 1.5, 1.2), strict=True):
        ratio(contender, value)
    offset = copy.deepcopy(made) | {"data": "offset"}
    for contender in offset["contenders"]:
        del contender["times"]
    offset["contenders"][2]["statistics"]["new_var"]["rms_error"] = (
        3 * offset["contenders"][1]["statistics"]["new_var"]["rms_error"]
    )
    return {"environment": FACTS, "copy_bytes_per_s": 4e12, "cases": [made, offset]}


def test_batch_norm_beside_its_peers():
    found = batch_norm_report()
    header, _, row = map(cells, layers.batch_norm_table(found))
    at = {name: i for i, name in enumerate(header)}
    assert [row[at[name]] for name in ("Tenon / product", "faster than torch.compile", "than eager")] == [
        "1.20",
        "–",
        "1.25×",
    ]
    assert "1 cases), Tenon's rms error over eager's is 3.00 at most." in layers.offset_lines(found)[-1]


def test_headline_takes_the_first_report_that_has_a_layer(tmp_path):
    """And torch.compile's time over Tenon's from the run that timed both."""
    shape = (1024, 8192, 8192)
    for name, eager, tiled in (("sm90a", 1.5, 1.0), ("fp32", 9.0, 9.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps(report([(shape, eager, tiled, tiled)])))
    compiled = report([(shape, 3.0, 2.0, 2.0)], peers=("cublas", "compile"))
    empty = {"environment": FACTS, "cases": []}
    for name, content in (("sm90a_compile", compiled), ("batch_norm", empty), ("batch_norm_compile", empty)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (found,) = headline.layers(tmp_path)
    assert (found.gain("eager"), found.gain("compile"), found.origin) == (1.5, 1.5, "A100, 2026-01-02")
    assert cells(headline.layer_table([found])[-1])[4:7] == ["**1.000**", "1.50×", "1.50×"]


def test_triton_counts_by_its_best_configuration():
    ours = report([((64, 64, 64), 1.0, 0.8, 0.8)])
    configs = {"a": {"ratio": 0.5}, "b": {"ratio": 1.0}, "c": {"error": "no"}}
    triton = {"cases": [{"dtype": "bf16", "shape": [64, 64, 64], "configs": configs}]}
    assert cells(layers.mma_sync_table(ours, triton)[-1])[-1] == f"{1 / 0.6:.2f}× of 1"


def test_sync_batch_norm_is_as_slow_as_its_slower_gpu():
    times = [{"MxNxK": "2x3x4", "milliseconds": {"torch.nn.SyncBatchNorm": a, "ours": b}} for a, b in ((1, 2), (4, 1))]
    assert [cells(row)[2:] for row in layers.sync_table({"times": times})[2:]] == [
        ["4.000", "1.00×"],
        ["2.000", "2.00×"],
    ]
