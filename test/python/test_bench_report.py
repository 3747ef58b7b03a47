# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The page that is made of tenon-bench's reports on sm_90a, from small reports."""

import copy
import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import plot_bench  # noqa: E402
import report_batch_norm  # noqa: E402
import report_fp32  # noqa: E402
import report_sm90a  # noqa: E402
import report_sweep  # noqa: E402
import report_tiled  # noqa: E402
from bench_support import case, run  # noqa: E402

FACTS = {"device": "a GPU", "driver": "1", "cuda": "13.0", "torch": "2.11", "date": "2026-01-02T"}


def ratio(contender, value, **changes):
    """Give a contender's times and their ratios to cuBLAS."""
    contender["times"] = {t: {"median_ms": value * (1.5 if t == "single" else 1.0)} for t in report_sm90a.TIMINGS}
    contender["time_over_cublas"] = {"single": value - 0.1, "burst": value - 0.2, "sustained": value}
    contender["worst_time_over_cublas"] = value
    contender.update(changes)


def report(values, peers=("cublas", "eager"), **changes):
    """Make a report of one case for each of `values`, the shape and the ratios of the contenders after cuBLAS."""
    made = run(case(models=["bias_mul2_leaky_relu"], strategies=["tiled", "auto"], peers=list(peers)))
    cases = []
    for (m, n, k), *rest in values:
        one = copy.deepcopy(made) | {"m": m, "n": n, "k": k, "name": f"bias_mul2_leaky_relu-bf16-{m}x{n}x{k}"}
        for contender, value in zip(one["contenders"][1:], rest, strict=True):
            ratio(contender, value, strategy="tiled")
        cases.append(one | changes)
    return {"environment": FACTS, "copy_bytes_per_s": 4e12, "cases": cases}


def cells(row):
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_table_tells_what_is_met():
    found = report(
        [((1024, 8192, 8192), 1.5, 1.0, 1.0), ((8192, 8192, 8192), 1.8, 1.011, 1.0), ((5, 6, 7), 2.0, 3.0, 3.0)]
    )
    header, _, *rows = map(cells, report_sm90a.time_table(found))
    at = {name: i for i, name in enumerate(header)}
    worst, asked, met = (at[name] for name in ("worst", "asked for", "met"))
    assert [row[worst] for row in rows] == ["**1.000**", "**1.011**", "**3.000**"]
    assert [(row[asked], row[met]) for row in rows] == [("1.00", "yes"), ("1.01", "no"), ("–", "–")]
    assert [row[at["faster than eager, at least"]] for row in rows] == ["1.50×", "1.78×", "0.67×"]


def test_compile_is_compared_in_each_way():
    found = report([((1024, 8192, 8192), 2.0, 1.0, 1.0)])
    found["cases"][0]["contenders"][1]["name"] = "compile"
    (row,) = report_sm90a.compile_table(found)[2:]
    assert cells(row)[-3:] == ["2.00×", "2.00×", "2.00×"]


def test_a_section_says_how_load_was_timed():
    assert report_tiled.under_load(FACTS) == " *sustained*: ten calls after 0.1 s of a contender's own load."
    now = report_tiled.under_load(FACTS | {"warm_s": 4.0, "unsettled_s": 0.2, "sustained_s": 0.5})
    assert "the mean of 0.2 to 0.5 s of a contender's own load, when all have loaded the GPU for 4 s." in now


def beside_compile(date, cases, **failures):
    """Make a part of the report beside torch.compile: the cases' dtypes, with its ratio and Tenon's."""
    found = report([((1024, 8192, 8192), peer, ours, ours) for _, peer, ours in cases], peers=("cublas", "compile"))
    for one, (dtype, _, _) in zip(found["cases"], cases, strict=True):
        one |= {"dtype": dtype, "name": f"bias_mul2_leaky_relu-{dtype}-1024x8192x8192"}
        if dtype in failures:
            one["contenders"][1] = {"name": "compile", "tenon": False, "failed": failures[dtype]}
    return found | {"environment": FACTS | {"date": date}}


def test_parts_beside_compile_are_joined(tmp_path):
    """A case that was measured twice is shown once, as it was last measured; the name of a file says nothing."""
    parts = {
        "sm90a_compile.json": beside_compile("2026-01-03T", [("f16", 1.5, 1.0)]),
        "sm90a_compile_2.json": beside_compile("2026-01-02T", [("tf32", 1.2, 1.0), ("f16", 9.0, 1.0)]),
        "sm90a_compile_old.json": beside_compile("2026-01-01T", [("f16", 8.0, 1.0)]),
    }
    for name, part in parts.items():
        (tmp_path / name).write_text(json.dumps(part))
    joined = report_sm90a.read_sm90a(tmp_path)["sm90a_compile"]
    rows = [cells(row) for row in report_sm90a.compile_table(joined)[2:]]
    assert [(row[2], row[-1]) for row in rows] == [("f16", "1.50×"), ("tf32", "1.20×")]
    text = "\n".join(report_sm90a.compile_section(joined))
    assert "sm90a_compile.json` (a GPU, PyTorch 2.11, 2026-01-03) and `benchmarks/results/sm90a_compile_2.json`" in text
    assert "sm90a_compile_old" not in text
    assert "Faster in every way of timing in 2 of 2 cases; least 1.200×, at 1024×8192×8192 in tf32." in text


def test_what_could_not_be_compared_with_compile_is_named():
    part = beside_compile("2026-01-02T", [("bf16", 0.5, 1.0), ("f16", 1.5, 1.0)], f16="OutOfMemoryError: no\nmore")
    part["cases"][0]["contenders"][2]["same_bits"] = False
    text = "\n".join(report_sm90a.compile_section(report_sm90a.join({"sm90a_compile.json": part})))
    assert "Faster in every way of timing in 0 of 1 cases; least 0.500×, at 1024×8192×8192 in bf16." in text
    assert "- bias_mul2_leaky_relu-f16-1024x8192x8192, torch.compile: OutOfMemoryError: no\n" in text
    assert "- bias_mul2_leaky_relu-bf16-1024x8192x8192: other bits each time" in text


def sweep():
    found = report([((1, 64, 64), 2.0, 1.0), ((7, 64, 64), 0.5, 0.5), ((9, 64, 64), 0.8, 1.2)], peers=["cublas"])
    for i in (0, 2):
        found["cases"][i]["contenders"][2]["strategy"] = "library"
    found["cases"][0]["contenders"][1]["remarks"] = ["tiled: strategy=tiled: wgmma, tiles of 64x64x64 by 4x1 warps"]
    found["cases"][1]["contenders"][1]["remarks"] = [
        "tiled: strategy=tiled: mma_sync, since wgmma needs more; tiles of"
    ]
    return found


def test_means_of_the_sweep():
    found = sweep()
    dtype, count, tiled, mean, bursts, forced, largest = cells(report_sweep.mean_table(found)[-1])
    assert (dtype, count, tiled) == ("all", "3", "1")
    assert mean == f"**{(1.0 * 0.5 * 1.2) ** (1 / 3):.3f}**" and forced == f"{(2.0 * 0.5 * 0.8) ** (1 / 3):.3f}"
    assert bursts == f"{(0.8 * 0.3 * 1.0) ** (1 / 3):.3f}"
    assert largest == "0.50 (bias_mul2_leaky_relu-bf16-7x64x64)"


def test_sweep_shows_where_the_choice_was_wrong():
    lost = report_sweep.lost_table(sweep())
    assert [cells(row)[0] for row in lost[2:]] == ["9×64×64"]
    assert report_sweep.lost_table(report([((7, 64, 64), 0.5, 0.5)], peers=["cublas"])) == ["None."]
    shown = [cells(row)[2] for row in report_sweep.sweep_table(sweep())[2:]]
    assert shown == ["2.000", "0.500 (mma_sync)", "0.800 (mma_sync)"]


def test_wrong_results_are_named():
    found = sweep()
    assert report_sweep.wrong(found) == ["Every result is right, and the same twice."]
    found["cases"][0]["contenders"][1]["within_tolerance"] = False
    found["cases"][1]["contenders"][2]["failed"] = "RuntimeError: no\nmore"
    assert report_sweep.wrong(found)[2:] == [
        "- bias_mul2_leaky_relu-bf16-1x64x64, tiled: wrong",
        "- bias_mul2_leaky_relu-bf16-7x64x64, auto: RuntimeError: no",
    ]


def test_section_is_of_the_reports_that_are_there(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(plot_bench, "draw", lambda report, path, pattern, marks: drawn.append(path.name))
    full = report([((1024, 8192, 8192), 1.5, 1.0, 1.0)])
    alone = "\n".join(report_sm90a.section({"sm90a": full}, tmp_path))
    assert drawn == ["sm90a_bf16.svg"] and "A sweep of shapes" not in alone and "torch.compile" not in alone
    every = {"sm90a": full, "sm90a_compile": report_sm90a.join({"a.json": full}), "sm90a_sweep": sweep()}
    text = "\n".join(report_sm90a.section(every, tmp_path))
    assert "### A sweep of shapes" in text and "### Beside torch.compile" in text
    assert report_sm90a.read_sm90a(tmp_path) == {}


def fp32_report():
    made = run(case(models=["bias"], dtypes=["fp32"], strategies=["tiled", "library"], peers=["cublas", "eager"]))
    new = copy.deepcopy(made) | {"new_parameters": True}
    for one, value in zip(made["contenders"], (2.0, 2.2, 1.0, 2.1), strict=True):
        ratio(one, value)
    for one, value in zip(new["contenders"], (2.0, 2.2, 1.5, 2.1), strict=True):
        ratio(one, value)
    return {"environment": FACTS, "copy_bytes_per_s": 4e12, "cases": [made, new]}


def test_fp32_beside_eager():
    header, _, *rows = map(cells, report_fp32.time_table(fp32_report()))
    assert [(row[0], row[3]) for row in rows] == [
        ("bias", "tiled"),
        ("bias", "library"),
        ("bias, new parameters", "tiled"),
        ("bias, new parameters", "library"),
    ]
    at = header.index("faster than eager: single")
    assert rows[0][at : at + 3] == ["2.20×"] * 3 and rows[2][at : at + 3] == ["1.47×"] * 3


def test_fp32_beside_compile():
    found = fp32_report()
    found["cases"][0]["contenders"][1]["name"] = "compile_default"
    found["cases"][1]["contenders"][1]["name"] = "compile"
    rows = [cells(row) for row in report_fp32.compile_table(found)[2:]]
    assert [(row[3], row[-1]) for row in rows] == [("torch.compile", "2.20×"), ("its max-autotune", "1.47×")]


def test_fp32_schedules_are_ordered():
    found = fp32_report()
    rows = [cells(row) for row in report_fp32.schedule_table(found)[2:]]
    assert [(row[1], row[6]) for row in rows] == [
        ("tiled", "1.000"),
        ("library", "2.100"),
        ("tiled", "1.500"),
        ("library", "2.100"),
    ]


def test_fp32_section_is_of_the_reports_that_are_there():
    found = fp32_report()
    alone = "\n".join(report_fp32.section({"fp32": found}))
    assert "### " not in alone and "Not as they should be" not in alone
    found["cases"][0]["contenders"][2]["same_bits"] = False
    kernels = {"calls": 20, "cases": [{"name": "a", "contenders": [{"name": "tiled", "kernels_us": {"k": 1.25}}]}]}
    every = {"fp32": found, "fp32_compile": found, "fp32_schedules": found, "fp32_kernels": kernels}
    full = "\n".join(report_fp32.section(every))
    assert (
        full.count("### ") == 3
        and full.count("tiled: other bits each time") == 3
        and "| a | tiled | `k` | 1.2 |" in full
    )


def test_fp32_tells_what_is_met():
    """Of what Tenon chose itself where that was measured, else of tiled kernels; bursts decide."""
    found = fp32_report()
    asked, other = found["cases"]
    asked |= {"model": "bias_mul2_leaky_relu", "m": 1024, "n": 8192, "k": 8192}
    asked["contenders"][2]["times"]["burst"]["median_ms"] = 2.2 / 4.9
    header, _, row = map(cells, report_fp32.goal_table({"fp32": found})[2:5])
    at = {name: i for i, name in enumerate(header)}
    assert [row[at[name]] for name in ("Tenon by", "asked for", "met", "sustained")] == [
        "tiled",
        "4.8×",
        "yes",
        "2.20×",
    ]
    assert row[at["faster than eager: burst"]] == "**4.90×**" and row[-1] == "100.00%"
    asked["contenders"][3]["name"] = "auto"
    row = cells(report_fp32.goal_table({"fp32": found})[4])
    assert [row[at[name]] for name in ("Tenon by", "met")] == ["auto", "no"]
    assert "### " not in "\n".join(report_fp32.section({"fp32": found})) and other["m"] < 64


def test_names_of_kernels_are_short():
    assert report_fp32.short("void gemv2T<int, int, Params<float> >(Params<float>, float)") == "gemv2T"
    assert report_fp32.short("forward_run_tiled") == "forward_run_tiled"
    assert report_fp32.short("(anonymous)") == "(anonymous)"


def batch_norm_report():
    """Make a report of the layer of 1024 rows in bf16, and of the one of 16384."""
    names = {"models": ["bias_scale_batch_norm"], "strategies": ["auto"], "shapes": [[37, 24, 16]]}
    made = run(case(**names)) | {"m": 1024, "n": 8192, "k": 8192}
    many = copy.deepcopy(made) | {"m": 16384, "n": 4096, "k": 4096}
    for one, (auto, eager) in ((made, (1.02, 1.4)), (many, (1.2, 1.5))):
        for contender, value in zip(one["contenders"], (1.0, eager, auto), strict=True):
            ratio(contender, value)
    compiled = copy.deepcopy(many["contenders"][1]) | {"name": "compile"}
    compiled["times"] = {t: {"median_ms": 1.25} for t in report_batch_norm.SHOWN}
    many["contenders"].append(compiled)
    return {"environment": FACTS, "copy_bytes_per_s": 4e12, "cases": [made, many]}


def test_batch_norm_tells_what_is_met():
    found = batch_norm_report()
    header, _, product, bound, compiled = map(cells, report_batch_norm.goal_table(found))
    at = {name: i for i, name in enumerate(header)}
    assert [product[at[name]] for name in ("beside", "at most", "ratio", "met")] == [
        report_batch_norm.PRODUCT,
        "1.030",
        "**1.020**",
        "yes",
    ]
    allowed = 1.0 + 1.1 * 2 * 16384 * 4096 * 2 / 4e12 * 1e3
    assert [bound[at[name]] for name in ("its burst, ms", "ratio", "met")] == [
        f"{allowed:.4f}",
        f"**{1.2 / allowed:.3f}**",
        "no",
    ]
    assert [compiled[at[name]] for name in ("beside", "ratio", "met")] == ["torch.compile", "**0.960**", "no"]


def test_batch_norm_that_was_not_measured():
    found = batch_norm_report()
    found["cases"][0]["contenders"][2] = {"name": "auto", "tenon": True, "failed": "RuntimeError: no\nmore"}
    del found["cases"][1]["contenders"][3]
    rows = [cells(row) for row in report_batch_norm.goal_table(found)[2:]]
    assert [row[-2] for row in rows] == ["not measured", "no", "not measured"]
    assert "RuntimeError: no" in "\n".join(report_batch_norm.section({"batch_norm": found}))


def test_batch_norm_section():
    found = batch_norm_report()
    text = "\n".join(report_batch_norm.section({"batch_norm": found}))
    assert text.count("### ") == 3 and "batch_norm_compile.json" not in text
    errors = [cells(row) for row in report_batch_norm.error_table(found)[2:]]
    assert len(errors) == 2 and all(len(row) == len(cells(report_batch_norm.error_table(found)[0])) for row in errors)
    assert "batch_norm_compile.json" in "\n".join(
        report_batch_norm.section({"batch_norm": found, "batch_norm_compile": found})
    )
    kernels = {"calls": 20, "cases": [{"name": "a", "contenders": [{"name": "tiled", "kernels_us": {"k": 1.25}}]}]}
    text = "\n".join(report_batch_norm.section({"batch_norm": found, "batch_norm_kernels": kernels}))
    assert "| a | tiled | `k` | 1.2 |" in text and "batch_norm_kernels.json" in text
