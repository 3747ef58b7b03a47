# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench --tune: what is measured and written; the CPU and a clock stand in for the GPU."""

import json
import re
import time

import pytest

torch = pytest.importorskip("torch")
from bench_support import Clock, case  # noqa: E402
from tenon import device  # noqa: E402
from tenon.bench import choice, cli, measure, results, timing, tune, tuning  # noqa: E402
from tenon.bench.calls import Call, TenonCall  # noqa: E402
from tenon.bench.compilation import Compiled, compile_all, job_of  # noqa: E402
from tenon.bench.config import read_cases  # noqa: E402
from tenon.bench.tuned_table import read_table  # noqa: E402


def planned(limit=4, **changes):
    found, notes = tune.plan([case(shapes=[[256, 24, 16]], **changes)], limit)
    assert notes == []
    (one,) = found.values()
    return one


class Times(Clock):
    """A clock by which calls take what is said of those that are captured, in order."""

    def __init__(self, *passes):
        super().__init__()
        self.passes, self.taken = list(passes), {}

    def capture(self, step):
        if step in self.taken and not self.passes[0]:
            self.passes.pop(0)
        step()
        self.taken[step] = self.passes[0].pop(0)

    def time(self, step, calls):
        return self.taken[step]

    def time_bursts(self, step, seconds):
        return [self.taken[step]] * 3


def measured(one, clock):
    jobs = compile_all([one], "cpu", lambda items, total: items)
    compiled = {c: jobs[job_of(one, c, "cpu")] for c in one.contenders if c.tenon}
    return tuning.tune_case(one, compiled, "cpu", 1e9, lambda flush: clock)


@pytest.fixture
def on_cpu(monkeypatch):
    """Compile what is planned for the CPU."""
    monkeypatch.setattr(tune, "TARGET", "cpu")


def test_plan():
    config = {"models": ["bias", "bias_relu", "bias_gelu"], "shapes": [[64, 64, [64, 65]]], "dtypes": ["bf16"]}
    cases, notes = tune.plan(read_cases(config), 3)
    assert [c.name for c in cases.values()] == ["bias-bf16-64x64x64", "bias_gelu-bf16-64x64x64"]
    assert all([c.name for c in one.contenders[:2]] == ["cublas", "library"] for one in cases.values())
    assert all(len(one.contenders) == 5 and one.target == "sm_90a" for one in cases.values())
    assert "left out: bias_relu-bf16-64x64x64: bias-bf16-64x64x64 has the same line in the table" in notes
    assert len(notes) == 4 and "no kernel of family wgmma" in notes[0]
    assert "its target is sm_80" in tune.plan(read_cases(config | {"target": "sm_80"}), 3)[1][0]


def test_quick_passes_then_the_best_in_all_ways(on_cpu, monkeypatch):
    monkeypatch.setattr(choice, "FINALISTS", 2)
    clock = Times([1.0, 9.0, 1.1, 1.12, 1.3, 1.14], [1.0, 1.3, 1.15, 1.2], [1.0, 9.0, 0.9, 0.8])
    result = measured(planned(), clock)
    cublas, library, *ours = result["contenders"]
    assert [c["quick_ms"]["burst"] for c in (cublas, library, *ours)] == [1.0, 9.0, 1.1, 1.12, 1.3, 1.14]
    assert [c["quick_ms"].get("sustained") for c in (cublas, library, *ours)] == [1.0, None, 1.3, 1.15, None, 1.2]
    assert ["times" in c for c in ours] == [False, True, False, True]
    assert ours[3]["worst_time_over_cublas"] == 0.8 and library["worst_time_over_cublas"] == 9.0
    assert result["chosen"] == ours[3]["name"] and ours[3]["chosen"] and "chosen" not in ours[1]
    assert tune.line_of(result).schedule == ours[3]["options"]["schedule"] and tune.line_of(result).remark == "0.800"
    json.dumps(result, allow_nan=False)


def test_the_earlier_of_equals_is_chosen(on_cpu):
    result = measured(planned(), Times([1.0] * 6, [1.0] * 5, [1.0, 1.0, 1.0049, 1.0, 1.0, 1.0]))
    assert result["chosen"] == result["contenders"][2]["name"]


def test_none_is_chosen_without_cublas(on_cpu, monkeypatch):
    monkeypatch.setattr(tuning, "BASE", "gone")
    result = measured(planned(), Times([1.0] * 6, [1.0] * 4, [1.0] * 2))
    assert result["chosen"] is None and tune.line_of(result) is None


def test_wrong_results_are_not_timed(on_cpu, monkeypatch):
    launch, seen = TenonCall.__call__, []

    def second_is_wrong(self):
        seen.append(self) if self not in seen else None
        launch(self)
        if seen.index(self) == 1:
            self.result[0, 0] += 1.0

    monkeypatch.setattr(TenonCall, "__call__", second_is_wrong)
    result = measured(planned(), Times([1.0, 1.0, 2.0, 2.0, 2.0], [1.0, 2.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0, 2.0]))
    wrong = result["contenders"][2]
    assert measure.wrong(result) == [wrong["name"]] and "quick_ms" not in wrong
    assert result["chosen"] == result["contenders"][3]["name"]
    monkeypatch.setattr(TenonCall, "__call__", Call.poison)
    result = measured(planned(), Times([1.0], [1.0], [1.0]))
    assert result["chosen"] is None and tune.line_of(result) is None and len(measure.wrong(result)) == 5


def test_layers_left_to_the_library_are_refused():
    one = planned(2)

    class Library:
        def get(self, job):
            return Compiled(type("E", (), {"remarks": []})(), 1.0)

    compiled = tune.compiled_for(one, Library())
    assert [c.name for c in tune.accepted(one, compiled).contenders] == ["cublas", "library"]
    assert tune.refused(compiled) == {c.name: "not tiled" for c in one.contenders[2:]}


def test_time_budget(monkeypatch):
    now = iter([0.0, 0.0, 4.0, 8.0, 12.0])
    monkeypatch.setattr(tune.time, "perf_counter", lambda: next(now))
    assert list(tune.in_time(["a", "b", "c", "d"], 11.0)) == ["a", "b"]
    monkeypatch.undo()
    assert list(tune.in_time(["a", "b"], None)) == ["a", "b"]


def test_a_hang_ends_the_process(capsys, monkeypatch):
    left = []
    monkeypatch.setattr(tuning.os, "_exit", left.append)
    monkeypatch.setattr(tuning, "HANG_S", 0.01)
    trial = tuning.Watched(case(), {}, "cpu")
    assert trial.attempt("slow", lambda: time.sleep(0.3))
    assert left == [tuning.HUNG]
    assert "bias_gelu_residual_clamp-bf16-5x24x16: slow still ran after" in capsys.readouterr().err


# The command


def write(tmp_path, **changes):
    config = {"models": ["bias"], "shapes": [[256, 64, 64]], "dtypes": ["bf16"], "repeat": 1}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config | changes))
    return path


def stand_in(monkeypatch):
    """Have the command measure on the CPU what is compiled for a GPU."""
    monkeypatch.setattr(cli, "check_device", lambda target: None)
    monkeypatch.setattr(device, "default_target", lambda: "sm_90a")
    monkeypatch.setattr(timing, "copy_rate", lambda: 1e9)
    monkeypatch.setattr(timing, "Gpu", Clock)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(results, "environment", lambda device: {"device": "none"})
    one = tuning.tune_case
    monkeypatch.setattr(tuning, "tune_case", lambda *a: one(*a[:2], "cpu", *a[3:]))


def test_command(tmp_path, capsys, monkeypatch):
    stand_in(monkeypatch)
    output, path = tmp_path / "tuning.json", tmp_path / "WgmmaTuned.inc"
    arguments = [str(write(tmp_path)), "--tune", str(path), "-o", str(output), "--table", "--candidates", "2"]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("worst/cuBLAS") and len(out) == 6 and out[3].endswith("chosen")
    assert out[-1] == f"1 of 1 layers tuned, in {path}; 0 candidates wrong"
    (measured_case,) = json.loads(output.read_text())["cases"]
    (line,) = read_table(path)[1].values()
    assert measured_case["chosen"] == measured_case["contenders"][2]["name"] and measured_case["refused"] == {}
    assert line.schedule == measured_case["contenders"][2]["options"]["schedule"]


def test_dry_run(tmp_path, capsys):
    path = tmp_path / "WgmmaTuned.inc"
    arguments = ["--tune", str(path), "--dry-run", "--candidates", "1"]
    shapes = [[256, 64, [60, 64]]]
    assert cli.main([str(write(tmp_path, dtypes=["bf16", "fp32"], shapes=shapes)), *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1].strip() for line in out[:2]] == ["bias-bf16-256x64x60", "bias-fp32-256x64x60"]
    assert [re.fullmatch(r"bias-(\w+)-256x64x64: tiled-\d+x\d+x\d+-.*", line)[1] for line in out[2:4]] == [
        "bf16",
        "fp32",
    ]
    assert out[-1] == "2 layers, 2 candidates compile, 0 layers have none" and not path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--candidates", "3", "--dry-run"], "--candidates belongs to --tune TABLE.inc"),
        (["--tune-seconds", "3", "--dry-run"], "--tune-seconds belongs to --tune TABLE.inc"),
        (["--tune", "t.inc", "--candidates", "0", "--dry-run"], "--candidates should be more than 0"),
        (["--tune", "t.inc", "--target", "sm_80", "--dry-run"], "--tune is for sm_90a; leave out --target"),
        (["--tune", "t.inc", "--repeat", "0", "--dry-run"], "--tune needs timing; give --repeat"),
        (["--tune", "t.inc"], "where should the report go"),
        (["--tune", "gone/t.inc", "-o", "r.json"], "--tune: there is no folder 'gone'"),
        (["--tune", "t.inc", "-o", "r.json"], "--tune measures kernels of sm_90a, but this GPU takes sm_80"),
    ],
)
def test_misuse(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.setattr(cli, "check_device", lambda target: None)
    monkeypatch.setattr(device, "default_target", lambda: "sm_80")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        cli.main([str(write(tmp_path)), *arguments])
    assert left.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dynamic_m": True}, "--tune: no case is left; see above"),
        ({"repeat": 0}, "--tune: bias-bf16-256x64x64 is not timed; set repeat"),
    ],
)
def test_configurations_that_cannot_be_tuned(tmp_path, capsys, changes, message):
    with pytest.raises(SystemExit) as left:
        cli.main([str(write(tmp_path, **changes)), "--tune", "t.inc", "--dry-run"])
    assert left.value.code == 2 and message in capsys.readouterr().err


def test_a_table_that_cannot_be_read(tmp_path, capsys, monkeypatch):
    stand_in(monkeypatch)
    path = tmp_path / "t.inc"
    path.write_bytes(b"\xff")
    with pytest.raises(SystemExit):
        cli.main([str(write(tmp_path)), "--tune", str(path), "-o", str(tmp_path / "r.json")])
    assert "--tune: cannot read" in capsys.readouterr().err
