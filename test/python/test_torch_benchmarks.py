# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The benchmarks of PyTorch models: their tables and charts from a small report, and a trial of them on the CPU."""

import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import report_torch  # noqa: E402
import torch_cases  # noqa: E402
import torch_errors  # noqa: E402
import torch_tables  # noqa: E402
import torch_timing  # noqa: E402

FACTS = {"device": "a GPU", "torch": "2.11", "python": "3.12", "date": "2026-01-02", "not_reached": ["late-bf16-1x1"]}


def case(model="gelu", precision="bf16", batch=4096, failed=None, **ratios):
    """Make a result in which eager takes 2 ms and the others as many times that as the ratios say."""
    times = {"eager": 1.0, **{name.replace("_", "-"): ratio for name, ratio in ratios.items()}}
    return {
        "model": model,
        "precision": precision,
        "batch": batch,
        "width": 8192,
        "errors": {name: {"max": 3e-2, "rms": 5e-3 if name == "tenon" else 2.5e-3} for name in times},
        "scale": 0.5,
        "ms": {name: {"median": 2 * ratio, "min": ratio, "rounds": 9} for name, ratio in times.items()},
        "time_over_eager": {name: ratio for name, ratio in times.items() if name != "eager"},
        "failed": failed or {},
    }


@pytest.fixture
def report():
    compared = case(tenon=0.5, compile=0.8, compile_tenon=0.625)
    return FACTS | {"cases": [compared, case("relu", tenon=1.04), case("silu", "tf32", 128, tenon=1.03)]}


def cells(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_cases_are_distinct_and_cover_the_zoo():
    cases = torch_cases.all_cases()
    assert len({c.name for c in cases}) == len(cases)
    assert {c.model for c in cases} == set(torch_cases.MODELS)
    assert min(c.batch for c in cases) == 128
    founders = {(c.precision, c.batch, c.width) for c in cases if c.model == "linear_leaky_relu" and c.compare}
    assert founders == {(precision, 1024, 8192) for precision in ("bf16", "tf32", "fp32")}


@pytest.mark.parametrize("name", ["promoted", "f64", "per_row", "bn_train_plain"])
def test_case_builds_the_same_each_time(name):
    made = next(c for c in torch_cases.trial_cases() if c.model == name)
    for a, b in zip(made.build("cpu").state_dict().values(), made.build("cpu").state_dict().values(), strict=True):
        assert torch.equal(a, b)
    assert [t.dtype for t in made.inputs("cpu")] == [t.dtype for t in torch_cases.MODELS[name].inputs()] or (
        made.precision == "bf16" and {t.dtype for t in made.inputs("cpu")} == {torch.bfloat16}
    )


def test_errors_are_of_results_and_buffers():
    exact = ([torch.tensor([3.0, 4.0], dtype=torch.float64)], [torch.tensor([1.0], dtype=torch.float64)])
    got = ([torch.tensor([3.5, 4.0])], [torch.tensor([0.75])])
    assert torch_errors.errors(got, exact) == {"max": 0.5, "rms": 0.125**0.5, "buffers_max": 0.25}
    assert torch_errors.scale(exact) == 12.5**0.5


def test_nan_is_an_error():
    found = torch_errors.errors(([torch.tensor([float("nan"), 1.0])], []), ([torch.ones(2).double()], []))
    assert found["max"] != found["max"]
    assert found["rms"] != found["rms"]


def test_contenders_take_turns(monkeypatch):
    order = []
    steps = {"eager": lambda: order.append("e"), "tenon": lambda: order.append("t")}
    monkeypatch.setattr(torch_timing, "burst", lambda step, *_: step() or {"e": 1.0, "t": 2.0}[order[-1]])
    samples = torch_timing.time_in_turn(steps, "cpu", limit_s=0.0)
    assert "".join(order) == "eeettt" + "et" * (1 + torch_timing.FEWEST_ROUNDS)
    assert torch_timing.summary(samples["tenon"]) == {"median": 2.0, "min": 2.0, "rounds": torch_timing.FEWEST_ROUNDS}


def test_short_calls_make_long_bursts(monkeypatch):
    calls = []
    monkeypatch.setattr(torch_timing, "burst", lambda step, device, count=10: calls.append(count) or 0.01)
    torch_timing.time_in_turn({"eager": int, "tenon": int}, "cpu", limit_s=0.0)
    assert set(calls[2:]) == {600}  # 6 ms


def test_close_contenders_get_more_rounds(monkeypatch):
    monkeypatch.setattr(torch_timing, "burst", lambda step, *_: step())
    samples = torch_timing.time_in_turn({"eager": lambda: 1.0, "tenon": lambda: 1.05}, "cpu", limit_s=0.0)
    assert len(samples["eager"]) == torch_timing.CLOSE_ROUNDS * torch_timing.FEWEST_ROUNDS


def test_time_limit():
    with pytest.raises(TimeoutError, match=r"0\.01 s"), torch_timing.time_limit(0.01):
        time.sleep(5)


def test_summary_counts_slower_cases(report):
    rows = [cells(row) for row in torch_tables.summary_table(report["cases"])[2:]]
    assert rows[0][:4] == ["bf16", "larger batches", "2", "1.39×"]  # sqrt(1 / (0.5 * 1.04))
    assert rows[0][5:7] == ["0.96× (relu-bf16-4096x8192)", "1"]
    assert rows[0][7:] == ["1.0e-02", "5.0e-03"]
    assert rows[1][:2] == ["tf32", "batch 128"]
    assert rows[1][6] == "0"  # 3 % slower is allowed
    assert [c["model"] for c in torch_tables.slower_cases(report["cases"])] == ["relu"]


def test_case_table_shows_times_and_errors(report):
    table = torch_tables.case_table(report["cases"])
    assert {len(cells(row)) for row in table} == {10}
    assert cells(table[2])[2:] == [
        *["bf16", "2.0000", "1.0000", "1.6000", "1.2500", "2.00×"],
        *["3.0e-02 / 5.0e-03", "3.0e-02 / 2.5e-03"],
    ]
    assert cells(table[3])[5:7] == ["–", "–"]


def test_failure_is_shown(report):
    report["cases"].append(case("gate", failed={"tenon": "RuntimeError: no such thing\nmore"}))
    assert "failed" in torch_tables.case_table(report["cases"])[-1]
    assert "- gate, bf16, 4096×8192: tenon: RuntimeError: no such thing\n" in report_torch.full_page(report)
    last = torch_tables.summary_lines(report)[-1]
    assert last == "4 cases measured, 1 with failures, 1 not reached"


def test_section_holds_figures_against_promises(report):
    host = {"us": dict.fromkeys(["bare", "remainder", "tenon", "eager", "compile-tenon", "guards"], 9.0)}
    host |= {"model": "gelu", "precision": "bf16", "overhead_us": 15.5}
    calls = [{"seconds": s, "compiled": 0, "hits": 1} for s in (0.5, 1.25)]
    run = {"front_end": "optimize", "model": "gelu", "precision": "bf16", "cache": "warm", "calls": calls}
    text = report_torch.section(
        {"torch": report, "torch_host": FACTS | {"cases": [host]}, "torch_first_call": FACTS | {"runs": [run]}}
    )
    assert "| time over eager's, largest of 3 cases | 1.040 | 1.03 | 1 cases above |" in text
    assert any("| 15.5 µs | 15 µs | 1 of 1 above |" in line for line in text)
    assert any("| 1.25 s | 1.0 s | 1 of 2 above |" in line for line in text)
    assert "| optimize | gelu | bf16 | warm | 0.50 1.25 | 0 | 1 |" in text


def test_charts(report, tmp_path):
    pytest.importorskip("matplotlib")
    import plot_torch

    bars, zoo = plot_torch.draw(report, tmp_path)
    assert ElementTree.parse(bars).getroot().tag.endswith("svg")
    assert all(f"<!-- {text} -->" in bars.read_text() for text in ("2.00", "1.25", "1.60", "4096 × 8192"))
    assert all(f"<!-- {name} -->" in zoo.read_text() for name in ("gelu", "relu", "silu"))


def run_script(name, *arguments):
    command = [sys.executable, BENCHMARKS / name, "--device", "cpu", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return done


def test_trial_of_bench_torch(tmp_path):
    pytest.importorskip("tenon.torch")
    output = tmp_path / "torch.json"
    done = run_script("bench_torch.py", "--cases", "^relu-(bf16|fp32)|^dropout_train-fp32", "--output", output)
    report = json.loads(output.read_text())
    assert [torch_tables.case_name(c) for c in report["cases"]] == [
        "relu-bf16-128x64",
        "relu-fp32-128x64",
        "dropout_train-fp32-128x64",
    ]
    for result in report["cases"]:
        assert result["failed"] == {}
        assert result["ms"].keys() == {"eager", "tenon"}
    relu, _, dropout = report["cases"]
    assert relu["errors"]["tenon"]["rms"] <= 2 * relu["errors"]["eager"]["rms"]
    assert "errors" not in dropout
    assert done.stdout.endswith("3 cases measured, 0 with failures, 0 not reached\n")
    assert done.stderr.count("\n") == 3


def test_no_case_matches(tmp_path):
    pytest.importorskip("tenon.torch")
    command = [sys.executable, BENCHMARKS / "bench_torch.py", "--cases", "nothing", "--output", tmp_path / "r"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no case matches 'nothing'" in done.stderr


def test_trial_of_bench_host(tmp_path):
    pytest.importorskip("tenon.torch")
    run_script("bench_host.py", "--cases", "^linear_leaky_relu-fp32", "--output", tmp_path / "host.json")
    (result,) = json.loads((tmp_path / "host.json").read_text())["cases"]
    assert 0 < result["us"]["bare"] < result["us"]["tenon"]
    assert 0 < result["overhead_us"] < result["us"]["tenon"]


def test_trial_of_bench_first_call(tmp_path):
    pytest.importorskip("tenon.torch")
    import bench_first_call

    cold, warm = bench_first_call.run_plan("optimize", "linear_leaky_relu", "cpu", 1, 1)
    assert [(c["compiled"], c["hits"]) for c in cold["calls"] + warm["calls"]] == [(1, 0), (0, 1)]
