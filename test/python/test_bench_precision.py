# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""benchmarks/bench_precision.py, run on the CPU, and the tables that are made of its report."""

import copy
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import split_reference

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import bench_precision  # noqa: E402
import profile_kernels  # noqa: E402
import report_precision  # noqa: E402
from precision_data import DISTRIBUTIONS, Draw  # noqa: E402
from tenon.bench.compilation import Job  # noqa: E402

ROWS, EXTENTS = 24, [1, 200]


@pytest.fixture(scope="module")
def report():
    shown = []
    before = torch.get_float32_matmul_precision()
    made = bench_precision.run(ROWS, EXTENTS, "cpu", lambda report: shown.append(len(report["cases"])))
    torch.set_float32_matmul_precision(before)
    assert shown == list(range(1, len(made["cases"]) + 1))
    return made


def find(report, distribution, k, precision):
    (found,) = [
        case
        for case in report["cases"]
        if (case["distribution"], case["k"], case["precision"]) == (distribution, k, precision)
    ]
    return found


def test_every_case_is_measured(report):
    assert len(report["cases"]) == len(DISTRIBUTIONS) * len(EXTENTS) * 2
    for case in report["cases"]:
        for one in case["contenders"].values():
            assert "failed" not in one and one["not_finite"] == 0
            assert 0 <= one["rms"] <= one["max"] and 0 <= one["rms_scaled"] <= one["max_scaled"]
            if case["distribution"] in ("kernelbench", "uniform", "normal"):
                assert one["max_scaled"] < 1e-6 and one["close"] == 1.0


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize(("precision", "parts"), [("fp32", 2), ("tf32", 1)])
def test_rows_outside_are_those_of_the_definition(report, name, precision, parts):
    seed = list(DISTRIBUTIONS).index(name)
    pair = DISTRIBUTIONS[name](Draw(seed, "cpu"), ROWS, ROWS, 200)
    expected = [int((split_reference.split(t.numpy(), parts)[1] < 0).sum()) for t in pair]
    assert list(find(report, name, 200, precision)["rows_outside"].values()) == expected


def test_data_is_what_it_says():
    drawn = {name: draw(Draw(0, "cpu"), 64, 32, 500) for name, draw in DISTRIBUTIONS.items()}
    assert all(x.shape == (64, 500) and w.shape == (32, 500) for x, w in drawn.values())
    assert all(t.dtype == torch.float32 and bool(t.isfinite().all()) for pair in drawn.values() for t in pair)
    assert all(float(t.min()) >= 0 for t in drawn["positive"])
    sizes = np.log10(drawn["log_uniform"][0].abs().numpy())
    assert -6 <= sizes.min() < -5.9 and 5.9 < sizes.max() <= 6
    rows = drawn["scaled_rows"][0].abs().amax(dim=1)
    assert rows.min() < 1e-20 and rows.max() > 1e20
    x = drawn["outliers"][0].abs()
    assert ((x > 1e4).sum(dim=1) <= 1).all() and (x > 1e4).sum() > 60
    x = drawn["denormal"][0]
    assert not x[::8].any() and (x[1].abs() < torch.finfo(torch.float32).tiny).all() and x[1].any()


def test_errors_of_a_result():
    exact = torch.tensor([[1.0, -2.0, 0.0]], dtype=torch.float64)
    got = torch.tensor([[1.5, -2.0, float("nan")]])
    norms = torch.tensor([[2.0, 4.0, 0.0]], dtype=torch.float64)
    found = bench_precision.errors(got, exact, norms, exact.float())
    assert (found["max"], found["max_scaled"], found["not_finite"]) == (0.5, 0.25, 1)
    assert found["rms"] == pytest.approx((0.25 / 3) ** 0.5) and found["close"] == pytest.approx(1 / 3)


def test_schedules_are_of_the_targets_family():
    for target, family in (("sm_90a", "wgmma"), ("sm_80", "mma_sync")):
        for precision, name in (("fp32", "fp16x3"), ("tf32", "fp16")):
            schedule = dict(bench_precision.contenders(precision, 64, target)[name])["schedule"]
            assert schedule.startswith(f"{family}, ") and schedule.endswith(f"method = {name}")
        assert "fp16x3" not in bench_precision.contenders("fp32", 63, target)


def test_what_is_left_to_the_library_is_not_measured_as_tiled():
    """Also where the compiler thinks otherwise of a K than the benchmark does."""
    schedule = dict(bench_precision.contenders("fp32", 64, "sm_80")["fp16x3"])["schedule"]
    job = Job(bench_precision.layer(8, 8, 16, "fp32"), "sm_80", bench_precision.tiled(schedule))
    assert "K is 16" in bench_precision.usable(job.run(), job)
    job = Job(job.source, "sm_80", bench_precision.tiled())
    assert not isinstance(bench_precision.usable(job.run(), job), str)


def with_errors(report, distribution, k, precision, name, **figures):
    made = copy.deepcopy(report)
    find(made, distribution, k, precision)["contenders"][name].update(figures)
    return made


def cells(row):
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_ratios_to_cublas(report):
    theirs = {"max_scaled": 4.0, "rms_scaled": 2.0}
    made = with_errors(report, "normal", 200, "fp32", "cublas", **theirs)
    made = with_errors(made, "normal", 200, "fp32", "fp16x3", max_scaled=3.0, rms_scaled=1.0)
    header, _, *rows = map(cells, report_precision.ratio_table(made, "fp32", "fp16x3"))
    assert header == ["data", "K = 1", "K = 200"] and [row[0] for row in rows] == list(DISTRIBUTIONS)
    at = list(DISTRIBUTIONS).index("normal")
    assert rows[at][2] == "0.750 / 0.500"
    made = with_errors(made, "normal", 200, "fp32", "fp16x3", rms_scaled=2.5)
    rows = report_precision.ratio_table(made, "fp32", "fp16x3")[2:]
    assert cells(rows[at])[2] == "**0.750 / 1.250**"
    assert "- fp16x3: normal, K = 200: **0.750 / 1.250**" in report_precision.worse(made, "fp32")
    made = with_errors(made, "normal", 200, "fp32", "cublas", max_scaled=0.0)
    assert cells(report_precision.ratio_table(made, "fp32", "fp16x3")[2 + at])[2] == "–"


def test_failures_are_named(report):
    made = with_errors(report, "normal", 200, "tf32", "fp16", failed="CompileError: no\nmore")
    assert report_precision.failures(made) == ["Not computed:", "", "- tf32, fp16, K = 200: CompileError: no", ""]
    assert report_precision.failures(report) == []


def test_page_gets_the_tables(report, monkeypatch):
    monkeypatch.setattr(report_precision, "LONG_K", 200)
    page = report_precision.PAGE.read_text()
    lines = report_precision.section(report)
    written = report_precision.update(page, lines)
    assert report_precision.update(written, lines) == written
    before, after = page.split(report_precision.BEGIN)[0], page.split(report_precision.END)[1]
    assert written.startswith(before) and written.endswith(after) and "### Precision tf32" in written
    (row,) = [line for line in written.splitlines() if re.match(r"\| log_uniform \| 100% of x, 100% of w \|", line)][:1]
    assert len(cells(row)) == 2 + len(find(report, "log_uniform", 200, "fp32")["contenders"])
    with pytest.raises(SystemExit, match="lacks"):
        report_precision.update("no markers", lines)


def test_kernels_are_summed_by_name():
    events = [("split", 2.0), ("product", 10.0), ("guard", 1.0), ("split", 3.0), ("product", 11.0), ("guard", 1.0)]
    found = profile_kernels.by_kernel(events, calls=2)
    assert found == {"split": 2.5, "product": 10.5, "guard": 1.0} and list(found) == ["split", "product", "guard"]
