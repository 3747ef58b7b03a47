# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench: turns, cases and the table; the CPU and a clock stand in for the GPU."""

import dataclasses
import json
import re
import time

import pytest

torch = pytest.importorskip("torch")
from bench_support import Clock, case, run  # noqa: E402
from tenon.bench import calls, measure, timing  # noqa: E402
from tenon.bench.calls import Call, ModelCall, ProductCall, TenonCall  # noqa: E402
from tenon.bench.compilation import compile_all  # noqa: E402
from tenon.bench.contender import Contender  # noqa: E402
from tenon.bench.table import table  # noqa: E402


def attempt_all(name, action):
    action()
    return True


def test_contenders_take_turns():
    clock = Clock()
    samples = timing.time_in_turn({"a": lambda: 1.0, "b": lambda: 2.0}, clock, 24, attempt_all)
    turns = {t: ["idle", (t, 1), "idle", (t, 10)] for t in (1.0, 2.0)}
    loads = {t: [(t, timing.SUSTAINED_S)] for t in turns}
    begun = set()
    for both in [turns] * 24 + [loads] * (4 + 4):  # four seconds of it before any counts
        events = [clock.order.pop(0) for _ in range(sum(map(len, both.values())))]
        first, last = both.values()
        assert events in (first + last, last + first)
        begun.add(str(events[len(first) - 1]))
    assert not clock.order and len(begun) == 4, "either begins some rounds"
    assert samples["b"] == {"single": [2.0] * 24, "burst": [1.8] * 24, "sustained": [1.8] * 4}
    assert timing.summary([3.0, 1.0, 2.0]) == {"median_ms": 2.0, "min_ms": 1.0, "max_ms": 3.0, "count": 3}
    assert [timing.sustained_rounds(n) for n in (0, 1, 3, 20, 100)] == [0, 1, 3, 3, 16]


# Of a contender's calls the first is captured; then come two from idle in each of four rounds, four to warm, and three
# under load.
@pytest.mark.parametrize("fails_at", [3, 10, 15])
def test_one_that_fails_gets_no_more_turns(fails_at):
    clock, made = Clock(), []

    def attempt(name, action):
        try:
            action()
        except MemoryError:
            return False
        return True

    def bad():
        made.append(1)
        if len(made) == fails_at:
            raise MemoryError
        return 5.0

    samples = timing.time_in_turn({"bad": bad, "good": lambda: 1.0}, clock, 4, attempt)
    assert len(made) == fails_at and samples.keys() == {"good"}
    assert [len(samples["good"][method]) for method in timing.METHODS] == [4, 4, 3]


class Graph:
    """A graph of calls."""

    def __init__(self, recorder, calls):
        self.replay = lambda: recorder.queue.append(calls)


class Event:
    """An event of a recorder."""

    def __init__(self, recorder):
        self.recorder, self.at = recorder, None

    def record(self):
        self.recorder.queue.append(self)

    def synchronize(self):
        queue = self.recorder.queue
        self.recorder.most = max(self.recorder.most, sum(isinstance(one, int) for one in queue))
        while self.at is None:
            one = queue.pop(0)
            if isinstance(one, int):
                self.recorder.now += one
            else:
                one.at = self.recorder.now

    def elapsed_time(self, other):
        return other.at - self.at


class Recorder:
    """Events and a graph of a GPU that takes 1 ms for each call, and does nothing before the host waits for it."""

    def __init__(self, monkeypatch, flush):
        self.now, self.queue, self.most = 0.0, [], 0
        monkeypatch.setattr(timing, "new_pair", lambda: (Event(self), Event(self)))
        self.gpu = timing.Gpu(flush=False)
        if flush:
            self.gpu._flushed = torch.ones(4)
        self.gpu._graphs["step"] = {calls: Graph(self, calls) for calls in (1, timing.BURST)}


@pytest.mark.parametrize("flush", [False, True])
def test_bursts_are_enqueued_ahead(monkeypatch, flush):
    recorder = Recorder(monkeypatch, flush)
    times = recorder.gpu.time_bursts("step", 0.01)
    assert len(times) > timing.AHEAD and set(times) == {1.0}, "each of ten calls takes 1 ms"
    assert recorder.most == (timing.AHEAD + 1) * (timing.BURST if flush else 1)
    assert not recorder.queue
    if flush:
        assert not recorder.gpu._flushed.any()


@pytest.mark.parametrize("dynamic", [False, True])
def test_case_on_the_cpu(dynamic):
    result = run(case(dynamic_m=dynamic, strategies=["library", "auto"]))
    by_name = {c["name"]: c for c in result["contenders"]}
    assert list(by_name) == ["cublas", "eager", "library", "auto"]
    assert all(c["within_tolerance"] and c["same_bits"] for c in by_name.values())
    ours = by_name["library"]
    assert ours["rms_error_over_cublas"] == ours["rms_error"] / by_name["cublas"]["rms_error"]
    assert ours["options"] == {"strategy": "library"} and ours["compile_s"] > 0
    assert ours["time_over_cublas"] == {"single": 1.0, "burst": 1.0, "sustained": 1.0}
    assert ours["times"]["burst"] == {"median_ms": 1.8, "min_ms": 1.8, "max_ms": 1.8, "count": 2}
    assert ours["w_bytes_over_copy_rate"] == pytest.approx(24 * 16 * 2 / 1.8e-3 / 1e9)
    assert ours["burst_tflop_per_s"] == pytest.approx(2e-12 * 5 * 24 * 16 / 1.8e-3)
    json.dumps(result, allow_nan=False)
    assert measure.wrong(result) == []


def test_prepared_parameters():
    """A scale of the weight is prepared, and the bias beside it taken as it is."""
    lines = ["%0 = tenon.mul %scale, 2.0 : tensor<NxT>", "%1 = tenon.mul %acc, %0 : tensor<MxNxA>, tensor<NxT>"]
    made = case(models=[{"name": "mine", "epilogue": lines}], dtypes=["fp32"])
    jobs = compile_all([made], "cpu", lambda items, total: items)
    (compiled,) = jobs.values()
    assert "prepare" in compiled.executable.manifest["entries"][0]
    assert measure.wrong(run(made)) == [] and "failed" not in run(made)["contenders"][-1]


@pytest.mark.parametrize("new_parameters", [False, True])
def test_parameters_that_are_new_in_every_run(new_parameters, monkeypatch):
    """Without the key a run launches one function, with it also the one that prepares the parameters."""
    lines = ["%0 = tenon.mul %scale, 2.0 : tensor<NxT>", "%1 = tenon.mul %acc, %0 : tensor<MxNxA>, tensor<NxT>"]
    made = case(models=[{"name": "mine", "epilogue": lines}], dtypes=["fp32"], new_parameters=new_parameters, repeat=0)
    assert made.name.endswith("-new-parameters") == new_parameters
    launched, run_one = [], calls._Bound.run
    monkeypatch.setattr(calls._Bound, "run", lambda self, stream: launched.append(run_one(self, stream)))
    result = run(made)
    assert len(launched) == 1 + 2 * (2 if new_parameters else 1)  # prepared once, then checked by two runs
    assert result["new_parameters"] is new_parameters
    assert result["contenders"][-1]["within_tolerance"] and result["contenders"][-1]["same_bits"]


@pytest.mark.parametrize(("peer", "mode"), [("compile", "max-autotune-no-cudagraphs"), ("compile_default", "default")])
def test_modes_of_torch_compile(peer, mode, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "compile", lambda model, **options: asked.append(options) or model)
    result = run(case(peers=[peer], repeat=0))
    assert [options["mode"] for options in asked] == [mode]
    assert result["contenders"][0]["name"] == peer and result["contenders"][0]["within_tolerance"]


def test_time_that_torch_compile_takes(monkeypatch):
    """It compiles at its first call, which is before the results are checked, and may fail later."""

    def compile_slowly(model, **_):
        made = []

        def run(tensors):
            if not made:
                time.sleep(0.2)
            made.append(model(tensors))
            if len(made) > 1 and fails:
                raise RuntimeError("no")
            return made[0]

        return run

    monkeypatch.setattr(torch, "compile", compile_slowly)
    for fails in (False, True):
        compiled, eager = run(case(peers=["compile", "eager"], strategies=[], repeat=0))["contenders"]
        assert compiled["compile_s"] >= 0.2 and ("failed" in compiled) == fails
        assert "compile_s" not in eager


def test_operands_that_are_no_names_in_c():
    lines = ["%0 = tenon.add %acc, %stream : tensor<MxNxA>, tensor<NxT>"]
    result = run(case(models=[{"name": "mine", "epilogue": lines}]))
    assert result["contenders"][-1]["within_tolerance"]


def test_no_timing():
    result = run(case(repeat=0))
    assert all("times" not in c and "max_error" in c for c in result["contenders"])


def test_wrong_and_unwritten_results(monkeypatch):
    launch = TenonCall.__call__

    def off_by_one(self):
        launch(self)
        self.result[4, 23] += 0.5

    monkeypatch.setattr(TenonCall, "__call__", off_by_one)
    assert measure.wrong(run(case())) == ["library"]
    monkeypatch.setattr(TenonCall, "__call__", Call.poison)
    result = run(case())
    assert result["contenders"][-1]["not_finite_count"] == 5 * 24 and measure.wrong(result) == ["library"]


def test_wrong_and_then_failed(monkeypatch):
    """A failure while timing does not hide that the result was wrong."""

    def fail(self, step):
        raise RuntimeError("launch failed")

    monkeypatch.setattr(TenonCall, "__call__", Call.poison)
    monkeypatch.setattr(Clock, "capture", fail)
    result = run(case())
    assert measure.wrong(result) == ["library"]
    assert table([result])[-1].endswith("WRONG, FAILED RuntimeError: launch failed")


def test_precision_is_put_back():
    before = torch.get_float32_matmul_precision()
    run(case(dtypes=["tf32"]))
    run(case(dtypes=["fp32"]))
    assert torch.get_float32_matmul_precision() == before


def test_results_that_differ_from_run_to_run(monkeypatch):
    launch, runs = TenonCall.__call__, []

    def drifting(self):
        launch(self)
        runs.append(1)
        self.result[0, 0] = self.result[0, 0] * (1 + 2**-7 * (len(runs) % 2))

    monkeypatch.setattr(TenonCall, "__call__", drifting)
    result = run(case(models=["none"], repeat=0))
    assert not result["contenders"][-1]["same_bits"] and measure.wrong(result) == ["library"]


def test_failures_leave_the_others(monkeypatch):
    def fail(self):
        raise torch.OutOfMemoryError("CUDA out of memory\nmore")

    monkeypatch.setattr(ModelCall, "__call__", fail)
    cublas, eager, library = run(case())["contenders"]
    assert eager["failed"].startswith("OutOfMemoryError: CUDA out of memory") and "times" not in eager
    assert "times" in cublas and "times" in library
    monkeypatch.setattr(ProductCall, "__call__", fail)
    result = run(case())
    assert result["contenders"][2]["rms_error_over_cublas"] is None
    assert "worst_time_over_cublas" not in result["contenders"][2]
    assert measure.wrong(result) == []
    lines = table([result])
    assert lines[1].split()[:3] == ["-", "bias_gelu_residual_clamp-bf16-5x24x16", "cublas"]
    assert lines[2].endswith("FAILED OutOfMemoryError: CUDA out of memory")


def test_all_fail(monkeypatch):
    monkeypatch.setattr(measure, "make_call", lambda *_: 1 / 0)
    assert {c["failed"] for c in run(case())["contenders"]} == {"ZeroDivisionError: division by zero"}


@pytest.mark.parametrize("what", ["make_inputs", "checks.compare", "time_in_turn"])
def test_what_all_need_fails(monkeypatch, what):
    """Out of memory for the data or the reference: every contender has failed, and the run goes on."""
    monkeypatch.setattr(f"tenon.bench.measure.{what}", lambda *_: 1 / 0)
    contenders = run(case())["contenders"]
    assert {c["failed"] for c in contenders} == {"ZeroDivisionError: division by zero"}


def test_what_does_not_compile_is_a_failure():
    broken = Contender("broken", tenon=True, options=(("schedule", "nonsense"),))
    result = run(dataclasses.replace(case(), contenders=(*case().contenders, broken)))
    assert "CompileError" in result["contenders"][-1]["failed"] and measure.wrong(result) == []


def test_table_is_aligned():
    result = run(case())
    lines = table([result])
    assert re.split("  +", lines[0].strip())[:4] == ["worst/cuBLAS", "case", "contender", "single ms"]
    ends = [match.end() for match in re.finditer(r"burst ms|rms error", lines[0])]
    assert all(line[end - 1] != " " and line[end : end + 1] == " " for line in lines for end in ends)
    assert lines[-1].split()[0] == "1.000" and lines[-1].endswith("correct")
