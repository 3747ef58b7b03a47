# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark of whole models: what needs no GPU and compiles nothing."""

import json
import math
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from whole_models import page, report, rows, workers  # noqa: E402
from whole_models.command import MODELS, jobs_of, parser  # noqa: E402
from whole_models.jobs import LAYERS, WHOLE, Job  # noqa: E402


def measured(model="lora", scenario="bf16", mode="default", compile_ms=2.0, tenon_ms=1.0, error=1e-3, **facts):
    row = rows.empty_row(Job(model, scenario, mode))
    row["samples_ms"] = {"eager": [3.0, 3.0, 3.0], "compile": [compile_ms] * 3, "tenon": [tenon_ms] * 3}
    row["errors"] = {"eager": {"output": 1e-3}, "compile": {"output": 1e-3}, "tenon": {"output": error}}
    row |= {"card": "a GPU", "date": "2026-01-02T03:04:05", "torch": "2.11", "triton": "3.6", "inputs": [[16, 32]]}
    rows.summarize(row)
    return row | facts


def called(contender, cold, warm):
    return {"model": "lora", "scenario": "bf16", "contender": contender, "cold_s": cold, "warm_s": warm}


def test_speed_is_of_medians_and_its_quartiles_of_rounds():
    assert rows.speed([2.0, 4.0, 6.0], [1.0, 2.0, 2.0]) == {"median": 2.0, "low": 2.0, "high": 3.0}
    assert rows.speed([3.0], [2.0]) == {"median": 1.5, "low": 1.5, "high": 1.5}
    assert rows.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert math.isnan(rows.geometric_mean([]))


def test_a_contender_that_failed_has_no_time():
    row = measured()
    row["failed"]["tenon"] = "RuntimeError: no"
    rows.summarize(row)
    assert set(row["ms"]) == {"eager", "compile"}
    assert set(row["speed"]) == {"eager/compile"}
    assert "FAILED tenon: RuntimeError: no" in rows.line(row)


def test_line():
    line = rows.line(measured(mode="reduce-overhead"))
    assert "\n" not in line
    for part in (
        "lora-bf16-reduce-overhead",
        "compile/tenon 2.000 (2.000-2.000)",
        "eager/tenon 3.000",
        "tenon 1.00e-03",
    ):
        assert part in line


def test_rows_of_a_kind_are_replaced():
    first, other, second = measured(tenon_ms=1.0), measured("vit"), measured(tenon_ms=4.0)
    merged = rows.merge([{"rows": [first, other]}, {"rows": [second], "first_calls": [called("tenon", [1], [1])]}])
    assert merged["rows"] == [other, second]
    assert len(merged["first_calls"]) == 1


def test_reports_are_json_whatever_was_measured(tmp_path):
    path = tmp_path / "folder/report.json"
    rows.write(path, rows.merge([{"rows": [measured(error=math.nan)]}]))
    assert json.loads(path.read_text()) == rows.read(path)
    assert rows.read(path)["rows"][0]["errors"]["tenon"]["output"] == "nan"
    assert [file.name for file in path.parent.iterdir()] == ["report.json"]
    assert rows.read(tmp_path / "none.json")["rows"] == []


def test_page_says_what_was_reached_and_what_not():
    found = [measured(), measured("vit", tenon_ms=2.5, error=1.2e-3), measured("bert")]
    found[2]["failed"]["tenon"] = "RuntimeError: no"
    rows.summarize(found[2])
    calls = [called("compile", [10.0, 9.0], [2.0]), called("tenon", [11.0], [2.25])]
    text = report.page({"rows": found, "first_calls": calls}, "some.json", "chart.svg")
    targets = next(line for line in text.splitlines() if line.startswith("| bf16, no gradients"))
    assert targets.split(" | ")[1:] == [
        "2 of 14",
        "0.800",
        "ViT-B/16 0.800; BERT-base not measured",
        "1.265",
        "1.10",
        "ViT-B/16 1.20 |",
    ]
    assert "| LoRA | 16×32 | 3.000 | 2.000 | 1.000 | 2.000 (2.000–2.000) | 3.000 |" in text  # noqa: RUF001
    assert "9.00 | 11.00 | 2.00 | 2.25 | 2.00 | 0.25" in text
    assert "BERT-base, bf16, no gradients, tenon: `RuntimeError: no`" in text


def test_nothing_is_drawn_of_no_results(tmp_path, capsys):
    assert report.main(tmp_path / "none.json", tmp_path / "page.md") == 1
    assert "has no results" in capsys.readouterr().err
    rows.write(tmp_path / "tiny.json", rows.merge([{"rows": [measured(tiny=True)]}]))
    assert report.main(tmp_path / "tiny.json") == 1
    assert not list(tmp_path.glob("*.md"))


def test_jobs_go_by_mode_scenario_and_model():
    options = parser().parse_args(["--models", "vit,lora", "--scenarios", "fp32", "--mode", "default,reduce-overhead"])
    names = ["vit-fp32", "lora-fp32", "vit-fp32-reduce-overhead", "lora-fp32-reduce-overhead"]
    assert [job.name for job in jobs_of(options)] == names
    named = [job.model for job in jobs_of(parser().parse_args(["--scenarios", "fp32,fp32-step"]))]
    assert named == [*WHOLE, *LAYERS], "those that a scenario is for, where none are named"
    with pytest.raises(SystemExit, match="'lorra' is not known"):
        jobs_of(parser().parse_args(["--models", "lorra"]))


class Dying:
    """A worker whose process dies at one contender."""

    def __init__(self, at):
        self.at, self.jobs = at, []

    def run(self, job, limit_s):
        self.jobs.append(list(job.contenders))
        if self.at in job.contenders:
            raise workers.LostError(rows.empty_row(job), self.at, "the process died")
        return rows.empty_row(job)


def test_a_contender_that_ends_its_process_is_left_out():
    worker = Dying("tenon")
    row = workers.run_guarded(worker, Job("lora", "bf16"), 60)
    assert worker.jobs == [["eager", "compile", "tenon"], ["eager", "compile"]]
    assert row["failed"] == {"tenon": "the process died (at: tenon)"}
    assert workers.run_guarded(Dying("eager"), Job("lora", "bf16"), 60)["failed"] == {
        "eager": "the process died (at: eager)"
    }


def test_lists_of_models_are_the_same():
    pytest.importorskip("torch")
    from whole_models import models

    assert list(models.MODELS) == list(MODELS) == list(page.TITLES)


def test_float64_and_errors():
    torch = pytest.importorskip("torch")
    from whole_models.contenders import Workload
    from whole_models.exact import errors, observe_exact, relative_error

    load = Workload(Job("swiglu", "bf16-train", device="cpu", tiny=True))
    load.draw_target()
    exact = observe_exact(load.module, load.inputs, load.target, 1)
    parts = observe_exact(load.module, load.inputs, load.target, 4)
    assert exact.output.dtype == torch.float64
    assert len(exact.gradients) == 4  # of three weights and the input
    assert max(errors(parts, exact).values()) < 1e-12
    found = errors(load.contender("eager").observe(), exact)
    assert 1e-4 < found["output"] < 2e-2 and 1e-4 < found["gradients"] < 2e-2
    assert relative_error([torch.tensor([3.0, 5.0])], [torch.tensor([3.0, 4.0])]) == pytest.approx(0.2)
    assert math.isnan(relative_error([torch.tensor([math.nan])], [torch.ones(1)]))


def test_steps_of_an_optimizer_change_nothing():
    pytest.importorskip("torch")
    from whole_models.contenders import Workload

    load = Workload(Job("linear_act", "fp32-step", device="cpu", tiny=True))
    load.draw_target()
    contender = load.contender("eager")
    before = [p.detach().clone() for p in contender.parameters]
    first, second = contender.observe(), contender.observe()
    assert contender.parameters[0]._version > 0
    assert all(a.equal(b) for a, b in zip(contender.parameters, before, strict=True))
    assert all(a.equal(b) for a, b in zip(first.gradients, second.gradients, strict=True))
