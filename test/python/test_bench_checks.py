# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench: what is computed, and the errors that are found, on tensors of the CPU."""

import math

import pytest

torch = pytest.importorskip("torch")
from tenon.bench import checks  # noqa: E402
from tenon.bench.calls import ModelCall  # noqa: E402
from tenon.bench.epilogue import NAMED, read_epilogue  # noqa: E402
from tenon.bench.evaluate import TORCH, eager_model, exact_outputs, make_inputs, tolerances  # noqa: E402
from tenon.bench.source import DTYPES, Problem  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def problem(name="bias_gelu_residual_clamp", dtype="bf16", m=33, n=40, k=64, output=None, lines=None):
    epilogue = read_epilogue(name, lines or NAMED[name])
    return Problem(epilogue, m, n, k, dtype, output or DTYPES[dtype][0])


def test_inputs():
    made = make_inputs(problem("row_scale_bias", m=500), "cpu")
    assert {name: tuple(t.shape) for name, t in made.items()} == {
        "x": (500, 64),
        "weight": (40, 64),
        "row": (500, 1),
        "bias": (40,),
    }
    assert all(t.dtype == torch.bfloat16 for t in made.values())
    assert made["x"].min() >= 0 and made["row"].min() < -0.9 and made["weight"].abs().max() <= 64**-0.5


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(
    ("dtype", "output"), [("f16", "f16"), ("bf16", "bf16"), ("tf32", "f32"), ("fp32", "f32"), ("fp32", "bf16")]
)
def test_eager_is_within_tolerance(name, dtype, output):
    p = problem(name, dtype, output=output)
    tensors = make_inputs(p, "cpu")
    call = ModelCall(p, eager_model(p), tensors)
    call()
    assert call.result.dtype == TORCH[output]
    errors = checks.compare(p, tensors, {"eager": call.outputs}, {})["eager"]
    assert list(errors) == ["y", *p.epilogue.updates] and errors["y"].count == 33 * 40
    assert all(e.within and 0 < e.rms < e.largest for e in errors.values())


def test_eager_is_what_a_user_writes():
    p = problem("bias_mul2_leaky_relu", "fp32")
    t = make_inputs(p, "cpu")
    expected = F.leaky_relu(F.linear(t["x"], t["weight"], t["bias"]) * 2, 0.1)
    assert torch.equal(eager_model(p)(t), expected)


def test_ops():
    lines = (
        "%0 = tenon.sub 1.0, %acc : tensor<MxNxA>",
        "%1 = tenon.div %0, %d : tensor<MxNxA>, tensor<A>",
        "%2 = tenon.min %1, 0.5 : tensor<MxNxA>",
        "%3 = tenon.max %2, %acc : tensor<MxNxA>, tensor<MxNxA>",
        "%4 = tenon.clamp %3 {max = 0.25 : f64} : tensor<MxNxA>",
        "%5 = tenon.gelu %4 approximate<tanh> : tensor<MxNxA>",
        "%6 = tenon.cast %5 : tensor<MxNxA> -> tensor<MxNxbf16>",
        "%7 = tenon.mish %6 : tensor<MxNxbf16>",
    )
    p = problem("mine", "fp32", lines=lines)
    acc, d = torch.linspace(-1, 1, 33 * 40).reshape(33, 40), torch.tensor(3.0)
    expected = F.gelu(torch.maximum(((1 - acc) / d).clamp(max=0.5), acc).clamp(max=0.25), approximate="tanh")
    exact = exact_outputs(p.epilogue, acc.double(), {"d": d.double()})["y"]
    torch.testing.assert_close(exact, F.mish(expected).double(), rtol=1e-5, atol=1e-6)
    allowed = tolerances(p, acc.double(), torch.zeros_like(exact), {"d": d.double()})["y"]
    rounded = F.mish(expected.bfloat16()).double()
    assert ((rounded - exact).abs() <= allowed).all() and (rounded != exact).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_wrong_results_are_found(dtype):
    """A step along K that is left out, a swapped pair of columns, a missing bias, one element that is not written."""
    p = problem("bias", dtype, k=128)
    t = make_inputs(p, "cpu")
    good = eager_model(p)(t)
    lost = eager_model(p)(t | {"x": torch.cat([t["x"][:, :112], torch.zeros_like(t["x"][:, 112:])], 1)})
    swapped = torch.cat([good[:, 1:2], good[:, :1], good[:, 2:]], 1)
    bare = (t["x"].float() @ t["weight"].float().T).to(good.dtype)
    hole = good.clone()
    hole[32, 39] = float("nan")
    wrong = {"lost": lost, "swapped": swapped, "bare": bare, "hole": hole}
    results = {name: {"y": y} for name, y in (wrong | {"good": good}).items()}
    errors = {name: e["y"] for name, e in checks.compare(p, t, results, {}).items()}
    assert {name: e.within for name, e in errors.items()} == dict.fromkeys(wrong, False) | {"good": True}
    assert errors["hole"].not_finite == 1 and math.isfinite(errors["hole"].rms)


def test_blocks_cover_everything(monkeypatch):
    p = problem("bias_gelu_residual_clamp", "fp32")
    t = make_inputs(p, "cpu")
    results = {"eager": {"y": eager_model(p)(t)}}
    whole = checks.compare(p, t, results, {})["eager"]["y"]
    monkeypatch.setattr(checks, "ELEMENTS", 64 * 7)
    parts = checks.compare(p, t, results, {})["eager"]["y"]
    assert len(list(checks.reference(p, t))) == 5 * 6
    assert (parts.count, parts.largest) == (whole.count, pytest.approx(whole.largest))
    assert parts.rms == pytest.approx(whole.rms) and parts.worst == pytest.approx(whole.worst)


def test_products_are_finished_exactly():
    p = problem("bias_relu", "fp32")
    t = make_inputs(p, "cpu")
    product = (t["x"].double() @ t["weight"].double().T).float()
    errors = checks.compare(p, t, {"eager": {"y": eager_model(p)(t)}}, {"cublas": product})
    assert errors["cublas"]["y"].within
    assert checks.over(errors, "eager", "cublas") == errors["eager"]["y"].rms / errors["cublas"]["y"].rms
    assert checks.over(errors, "eager", "gone") is None


def test_bits():
    a = torch.tensor([0.0, float("nan")])
    assert checks.same_bits(a, a.clone())
    assert not checks.same_bits(a, torch.tensor([-0.0, float("nan")]))
