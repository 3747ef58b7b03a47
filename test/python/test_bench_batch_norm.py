# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench: layers that end in training batch norm; the CPU and a clock stand in for the GPU."""

import re
import types
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from bench_support import case, run  # noqa: E402
from tenon.bench import checks, measure  # noqa: E402
from tenon.bench.calls import ModelCall, TenonCall, make_call  # noqa: E402
from tenon.bench.compilation import job_of  # noqa: E402
from tenon.bench.config import ConfigError, read_cases, read_config  # noqa: E402
from tenon.bench.contender import of_peer  # noqa: E402
from tenon.bench.epilogue import NAMED, read_epilogue  # noqa: E402
from tenon.bench.evaluate import eager_model, exact_outputs, make_inputs, tolerances  # noqa: E402
from tenon.bench.ops import EpilogueError  # noqa: E402
from tenon.bench.source import DTYPES, Problem  # noqa: E402
from torch.nn import functional as F  # noqa: E402

CONFIGS = Path(__file__).parents[2] / "benchmarks" / "configs"
MODELS = [name for name in NAMED if "batch_norm" in name]
FULL = NAMED["bias_scale_batch_norm"][-1]
BARE = "%0 = tenon.batch_norm_training %acc : (tensor<MxNxA>) -> (tensor<MxNxA>)"


def problem(name="bias_scale_batch_norm", dtype="fp32", m=33, n=40, k=64, lines=None, data="random"):
    return Problem(read_epilogue(name, lines or NAMED[name]), m, n, k, dtype, DTYPES[dtype][0], data=data)


def exact(p, tensors):
    wide = {name: tensor.double() for name, tensor in tensors.items()}
    return exact_outputs(p.epilogue, wide["x"] @ wide["weight"].T, wide)


def test_outputs_of_the_model():
    p = problem("bias_batch_norm_gelu", "bf16", m=5, n=6, k=7)
    assert p.epilogue.updates == {"new_mean": "mean", "new_var": "var"}
    source = p.mlir()
    assert '-> (tensor<5x6xbf16> {tenon.name = "y"}, tensor<6xf32> {tenon.name = "new_mean"}' in source
    assert "return %2, %new_mean, %new_var : tensor<5x6xbf16>, tensor<6xf32>, tensor<6xf32>\n" in source
    assert "%gamma: tensor<6xf32> {tenon.param}, %beta: tensor<6xf32> {tenon.param}, %mean: tensor<6xf32>," in source
    tenon.lower(source, "fuse")


def test_a_batch_norm_of_the_product_alone():
    p = problem("mine", lines=(BARE,))
    assert p.epilogue.updates == {} and p.epilogue.operands == {}
    t = make_inputs(p, "cpu")
    torch.testing.assert_close(eager_model(p)(t).double(), exact(p, t)["y"], rtol=1e-4, atol=1e-5)
    assert measure.wrong(run(case(models=[{"name": "mine", "epilogue": [BARE]}], repeat=0))) == []


@pytest.mark.parametrize("model", MODELS)
def test_exact_outputs_are_those_of_pytorch(model):
    p = problem(model)
    wide = {name: tensor.double() for name, tensor in make_inputs(p, "cpu").items()}
    found = exact(p, wide)
    mean, var = wide["mean"].clone(), wide["var"].clone()
    z = F.linear(wide["x"], wide["weight"], wide["bias"]) * wide.get("scale", 1.0)
    y = F.batch_norm(z, mean, var, wide["gamma"], wide["beta"], training=True)
    y = F.gelu(y) if "gelu" in model else y
    for name, expected in (("y", y), ("new_mean", mean), ("new_var", var)):
        torch.testing.assert_close(found[name], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([FULL.replace("weight(%gamma)", "scale(%gamma)")], r"'scale\(%gamma\)' is none of weight\(%a\), bias"),
        ([FULL.replace("running(%mean, %var)", "running(%mean)")], r"'running\(%mean\)' is none of"),
        ([FULL.replace("bias(%beta)", "bias(1.0)")], r"'bias\(1.0\)' is none of"),
        ([FULL.replace(", %new_var =", " =").replace("%1 ", "%acc ")], r"write the results that there are, and '-> \("),
        ([FULL.replace("%1 ", "%acc ").replace(" -> (tensor<MxNxA>,", " -> (tensor<NxA>,")], "write the results that"),
        (
            [BARE.replace("%acc :", "%acc {decay = 1.0} :")],
            "'decay = 1.0' is no attribute of tenon.batch_norm_training",
        ),
        ([FULL.replace("%1 ", "%acc ").replace("%new_mean", "%7")], "cannot be called %7, nor a new running statistic"),
        ([FULL.replace("%1 ", "%acc ").replace("%new_mean", "%y")], "%y is there already"),
        (["%0, %1 = tenon.relu %acc : tensor<MxNxA>"], "tenon.relu has one result"),
    ],
)
def test_errors_of_the_text(lines, message):
    with pytest.raises(EpilogueError, match=message):
        read_epilogue("mine", tuple(lines))


def test_a_batch_of_one_row():
    config = {"models": MODELS, "shapes": [[[4, 1], 8, 8]], "dtypes": ["bf16"]}
    with pytest.raises(ConfigError, match="^shapes: bias_scale_batch_norm takes the variance of a batch; give M of 2"):
        read_cases(config)


def test_eager_updates_statistics_of_its_own():
    """In place, as in a training loop; checks begin with those that the other contenders are given."""
    p = problem()
    t = make_inputs(p, "cpu")
    before = {name: tensor.clone() for name, tensor in t.items()}
    call = ModelCall(p, eager_model(p), t)
    call()
    first = {name: tensor.clone() for name, tensor in call.outputs.items()}
    call()
    assert torch.equal(call.result, first["y"]) and not torch.equal(call.statistics["new_mean"], first["new_mean"])
    call.poison()
    call()
    assert all(torch.equal(tensor, first[name]) for name, tensor in call.outputs.items())
    assert all(torch.equal(tensor, before[name]) for name, tensor in t.items())


@pytest.mark.parametrize("data", ["random", "offset"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", MODELS)
def test_case_on_the_cpu(model, dtype, data):
    made = case(models=[model], shapes=[[37, 24, 16]], dtypes=[dtype], data=data)
    assert made.name == f"{model}-{dtype}-37x24x16" + ("-offset" if data == "offset" else "")
    result = run(made)
    assert result["data"] == data and measure.wrong(result) == []
    cublas, eager, ours = result["contenders"]
    assert list(ours["statistics"]) == ["new_mean", "new_var"] == list(eager["statistics"])
    assert ours["same_bits"] and ours["within_tolerance"] and eager["close_to_eager"] == 1.0
    assert all(one["worst_error_over_tolerance"] <= 1.0 for one in ours["statistics"].values())
    assert "close_to_eager" not in cublas


def test_a_wrong_statistic_is_found(monkeypatch):
    """With y as it should be."""
    launch = TenonCall.__call__

    def biased(self):
        launch(self)
        self.statistics["new_var"] *= 36 / 37

    monkeypatch.setattr(TenonCall, "__call__", biased)
    made = case(models=["bias_scale_batch_norm"], shapes=[[37, 24, 16]], dtypes=["fp32"], repeat=0)
    result = run(made)
    assert measure.wrong(result) == ["library"]
    assert result["contenders"][-1]["worst_error_over_tolerance"] <= 1.0


def test_wrong_normalisation_is_found():
    """With another divisor, with the statistics of all rows but the last, without eps."""
    p = problem(m=64, n=40, k=256)
    t = make_inputs(p, "cpu")
    t["scale"] *= 0.05
    good = {name: tensor.float() for name, tensor in exact(p, t).items()}
    z = F.linear(t["x"], t["weight"], t["bias"]) * t["scale"]

    def normalised(var, mean, eps=1e-5):
        return good | {"y": (z - mean) * (var + eps).rsqrt() * t["gamma"] + t["beta"]}

    mean, var = z.mean(0), z.var(0, correction=0)
    results = {
        "good": normalised(var, mean),
        "divisor": normalised(z.var(0), mean),
        "rows": normalised(var, z[:-1].mean(0)),
        "eps": normalised(var, mean, eps=0.0),
    }
    errors = checks.compare(p, t, results, {})
    assert {name: e["y"].within for name, e in errors.items()} == dict.fromkeys(results, False) | {"good": True}


def test_data_of_large_means():
    """Columns have the mean and deviation that are asked for, and one pass over them in f32 loses the variance."""
    p = problem(m=4096, k=128, data="offset", lines=(BARE,), name="mine")
    t = make_inputs(p, "cpu")
    z = t["x"].double() @ t["weight"].double().T
    assert torch.allclose(z[:, ::4].mean(0), torch.tensor(1e4, dtype=torch.float64), rtol=1e-3)
    assert 0.008 < z[:, ::4].std(0).mean() < 0.012 and z[:, 1::4].mean(0).abs().max() < 10.0
    allowed = tolerances(p, z, torch.zeros_like(z), {})["y"]
    f = z.float()
    one_pass = (f - f.mean(0)) * ((f * f).mean(0) - f.mean(0).square() + 1e-5).rsqrt()
    off = (one_pass.double() - exact(p, t)["y"]).abs()
    assert not ((off <= allowed)[:, ::4]).all() and (off <= allowed)[:, 1::4].all()


def test_blocks_have_all_rows(monkeypatch):
    p = problem()
    t = make_inputs(p, "cpu")
    call = ModelCall(p, eager_model(p), t)
    call()
    whole = checks.compare(p, t, {"eager": call.outputs}, {})["eager"]
    monkeypatch.setattr(checks, "SIDE", 16)
    parts = checks.compare(p, t, {"eager": call.outputs}, {})["eager"]
    assert len(list(checks.reference(p, t))) > 3
    for name, errors in whole.items():
        assert (parts[name].count, parts[name].rms) == (errors.count, pytest.approx(errors.rms))


def test_reductions_are_contenders():
    words = ["separate", "two_phase", "resident", "input_moments"]
    made = case(models=["bias_scale_batch_norm"], strategies=[], peers=[], reductions=words)
    assert [c.name for c in made.contenders] == words
    assert dict(made.contenders[1].options) == {"strategy": "tiled", "reduction": "two_phase"}


@pytest.mark.parametrize("found", ["two_phase", "separate"])
def test_another_reduction_than_the_one_that_was_asked_for(found, monkeypatch):
    """It is a failure: the time would stand under the wrong name. Of what Tenon chose itself it is only said."""
    values = [{"strategy": "tiled", "reduction": "resident"}, {"reduction": found}]  # chosen, and after all
    remarks = [tenon.Remark("analysis", "", "", "", "tiled: because", arguments={"Values": v}) for v in values]
    monkeypatch.setattr(tenon, "compile", lambda *_, **__: types.SimpleNamespace(remarks=remarks))
    made = case(models=["bias_scale_batch_norm"], strategies=["auto"], reductions=["separate", "two_phase"])
    for contender in made.contenders:
        if contender.tenon:
            compiled = job_of(made, contender, "sm_90a").run()
            if contender.name in ("auto", found):
                assert (compiled.failed, compiled.reduction) == ("", found)
            else:
                assert compiled.failed == f"computed by {found}; tiled: because"


def test_peers_that_compile(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda model, **_: model)
    made = case(models=["bias_scale_batch_norm"])
    call = make_call(of_peer("compile"), made, make_inputs(made.problem, "cpu"), None)
    call()
    assert set(call.outputs) == {"y", "new_mean", "new_var"}


def test_configurations_have_what_is_asked_for():
    """Issue 7's layers: each with eager and every reduction, and with torch.compile where it is compared with that."""
    cases = read_config(CONFIGS / "batch_norm.json")[1]
    timed = {case.name: {c.name for c in case.contenders} for case in cases if case.repeat}
    shapes = {re.sub(".*batch_norm_?", "", name).strip("-") for name in timed}
    big = [f"{dtype}-{shape}" for shape in ("1024x8192x8192", "16384x4096x4096") for dtype in ("bf16", "tf32", "fp32")]
    assert shapes == {*big, "fp32-16384x8192x128", "bf16-16384x8192x128", "gelu-bf16-65536x4096x512"}
    for names in timed.values():
        assert names >= {"cublas", "eager", "auto", "separate", "two_phase", "resident"}
    compiled = {name for name, names in timed.items() if "compile" in names}
    others = {case.name for case in read_config(CONFIGS / "batch_norm_compile.json")[1]}
    assert compiled | others == set(timed) and not compiled & others
    offset = {case.problem.dtype for case in cases if case.problem.data == "offset"}
    assert offset == {"bf16", "tf32", "fp32"}
