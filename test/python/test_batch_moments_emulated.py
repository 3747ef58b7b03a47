# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics that leave a layer, the batch's moments and those saved for a backward pass, by the emulator of PTX."""

import shutil

import numpy as np
import pytest
from ptx_emulator.floats import bf16_to_f32, f32_to_bf16
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import mma_sync, random, wgmma
from tenon_graphs.execute import TENON_OPT, tool

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

TWO_PHASE, INPUT_MOMENTS, K, EPS = ", reduction = two_phase", ", reduction = input_moments", 72, 1e-3
# Target, schedule, element, precision, N.
LAYERS = {
    "mma_bf16": ("sm_80", mma_sync(64, TWO_PHASE), "bf16", "", 40),
    "wgmma_bf16": ("sm_90a", wgmma("64x16", 64, "4x1", TWO_PHASE), "bf16", "", 40),
    "wgmma_bf16_swapped": ("sm_90a", wgmma("64x64", 64, "1x4", TWO_PHASE), "bf16", "", 40),
    "wgmma_tf32": ("sm_90a", wgmma("128x16", 32, "8x1", ", cluster = 2x1" + TWO_PHASE), "f32", "precision<tf32>", 40),
    "mma_fp32": ("sm_80", mma_sync(64, ", method = fp16x3" + TWO_PHASE), "f32", "", 37),
}
NORMS = LAYERS | {
    "input_moments": ("sm_80", mma_sync(64, INPUT_MOMENTS), "bf16", "", 40),
    "resident": ("sm_90a", wgmma("64x32", 64, "4x1", ", reduction = resident"), "bf16", "", 40),
    "resident_mma": ("sm_80", mma_sync(64, ", method = fp16x3, reduction = resident"), "f32", "", 37),
}
M = 150
# Of y, in bf16 and f32; those of the statistics are relative to them.
NEAR = {"bf16": 2.0**-5, "f32": 2.0**-17}
CLOSE = 2.0**-20


def layer(schedule, element, precision, n, body, rows="?"):
    """Return a function of one tiled layer, whose region begins with z = x w^T * s."""
    x, w, z, v = (
        f"tensor<{rows}x{K}x{element}>",
        f"tensor<{n}x{K}x{element}>",
        f"tensor<{rows}x{n}x{element}>",
        f"tensor<{n}xf32>",
    )
    types = f"{z}, {v}, {v}"
    return f"""
func.func @forward(%x: {x}, %w: {w}, %s: tensor<{n}x{element}>) -> ({types}) {{
  %0:3 = tenon.fused_linear %x, %w {precision} : {x}, {w}
      epilogue(%acc: {z}, %scale = %s: tensor<{n}x{element}>) -> ({types})
      attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.mul %acc, %scale : {z}, tensor<{n}x{element}>
{body.format(z=z, v=v)}
  }}
  return %0#0, %0#1, %0#2 : {types}
}}"""


MOMENTS = """    %2:2 = tenon.batch_moments %1 : ({z}) -> ({v}, {v})
    tenon.yield %1, %2#0, %2#1 : {z}, {v}, {v}"""
SAVED = f"""    %2:3 = tenon.batch_norm_training %1 {{{{eps = {EPS:e}, save_statistics}}}}
        : ({{z}}) -> ({{z}}, {{v}}, {{v}})
    tenon.yield %2#0, %2#1, %2#2 : {{z}}, {{v}}, {{v}}"""


def compile_layer(text, target, folder):
    path = folder / "layer.mlir"
    path.write_text(text)
    passes = "--tenon-to-tiled", "--canonicalize", "--cse", "--tenon-bufferize", "--canonicalize", "--cse"
    return Model(tool(TENON_OPT, path, *passes), target, folder)


def load(values, element):
    return (bf16_to_f32(values) if element == "bf16" else values).astype(np.float64)


def operands(element, m, n):
    """Return x, w and a scale; tf32 has all their digits."""
    arrays = random(m, K), random(n, K, seed=1), random(1, n, seed=2)[0]
    if element == "bf16":
        return [f32_to_bf16(a) for a in arrays]
    return [(a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in arrays]


@pytest.fixture(scope="module", params=LAYERS)
def moments_layer(request, tmp_path_factory):
    target, schedule, element, precision, n = LAYERS[request.param]
    text = layer(schedule, element, precision, n, MOMENTS)
    return compile_layer(text, target, tmp_path_factory.mktemp("layer")), element, n


# One row; a ragged last tile; more moments than a kernel's head takes.
@pytest.mark.parametrize("m", [1, 150, 2500])
def test_moments_of_a_layer(moments_layer, m):
    """They are those of what is stored, which no kernel reads."""
    model, element, n = moments_layer
    x, w, s = operands(element, m, n)
    model.launched.clear()
    z, mean, m2 = model.call("forward", x, w, s)
    assert sum("_combine" in kernel for kernel in model.launched) == 1
    assert not any("_reduce" in kernel for kernel in model.launched)
    expected = load(x, element) @ load(w, element).T * load(s, element)
    assert np.abs(load(z, element) - expected).max() <= NEAR[element] * np.abs(expected).max()
    stored = load(z, element)
    assert np.abs(mean - stored.mean(0)).max() <= CLOSE * np.abs(stored).max()
    squares = ((stored - stored.mean(0)) ** 2).sum(0)
    assert (np.abs(m2 - squares) <= CLOSE * squares.max()).all()


# Of what is stored, and of its product with what is near %mean, which is not.
SUMS = """
func.func @forward(%x: {x}, %w: {w}, %h: {y}, %u: {y}, %v: tensor<{n}xf32>) -> ({y}, {s}, tensor<{n}xf32>) {{
  %0:3 = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: {y}, %a = %h: {y}, %b = %u: {y}, %mean = %v: tensor<{n}xf32>) -> ({y}, {s}, tensor<{n}xf32>)
      attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.gate %acc, %a : {y}, {y}
    %2 = tenon.batch_sum %1 : ({y}) -> {s}
    %3 = tenon.cast %b : {y} -> tensor<?x{n}xf32>
    %4 = tenon.sub %3, %mean : tensor<?x{n}xf32>, tensor<{n}xf32>
    %5 = tenon.mul %4, %1 : tensor<?x{n}xf32>, {y}
    %6 = tenon.batch_sum %5 : (tensor<?x{n}xf32>) -> tensor<{n}xf32>
    tenon.yield %1, %2, %6 : {y}, {s}, tensor<{n}xf32>
  }}
  return %0#0, %0#1, %0#2 : {y}, {s}, tensor<{n}xf32>
}}"""
SUMMING = {
    "mma_bf16": ("sm_80", mma_sync(64, TWO_PHASE), "bf16", 40),
    "mma_bf16_odd": ("sm_80", mma_sync(64, TWO_PHASE), "bf16", 37),
    "mma_fp32": ("sm_80", mma_sync(64, ", method = fp16x3" + TWO_PHASE), "f32", 37),
    "wgmma_bf16_swapped": ("sm_90a", wgmma("64x64", 64, "1x4", TWO_PHASE), "bf16", 72),
    "wgmma_bf16_in_turn": ("sm_90a", wgmma("128x64", 64, "1x4", ", ping_pong = true" + TWO_PHASE), "bf16", 72),
    "wgmma_bf16_swapped_large": ("sm_90a", wgmma("128x128", 64, "1x8", TWO_PHASE), "bf16", 136),
    "wgmma_f16x3_swapped": ("sm_90a", wgmma("64x64", 64, "1x4", ", method = fp16x3" + TWO_PHASE), "f32", 40),
}


@pytest.mark.parametrize("name", SUMMING)
def test_sums_of_what_is_stored_and_of_what_is_not(name, tmp_path):
    """Each is added up in f32 and rounded once; no kernel reads what is stored."""
    target, schedule, element, n = SUMMING[name]
    x, w, y = f"tensor<?x{K}x{element}>", f"tensor<{n}x{K}x{element}>", f"tensor<?x{n}x{element}>"
    text = SUMS.format(x=x, w=w, y=y, s=f"tensor<{n}x{element}>", n=n, schedule=schedule)
    model = compile_layer(text, target, tmp_path)
    for m in (1, 150, 2500):
        arrays = [random(*shape, seed=i) for i, shape in enumerate([(m, K), (n, K), (m, n), (m, n)])]
        x, w, h, u = map(f32_to_bf16, arrays) if element == "bf16" else arrays
        v = random(1, n, seed=7)[0]
        model.launched.clear()
        z, total, projection = model.call("forward", x, w, h, u, v)
        assert not any("_reduce" in kernel for kernel in model.launched)
        expected = np.where(load(h, element) <= 0, 0, load(x, element) @ load(w, element).T)
        stored = load(z, element)
        assert np.abs(stored - expected).max() <= NEAR[element] * np.abs(expected).max()
        rounded = 2.0**-8 if element == "bf16" else 2.0**-23
        terms = stored * (load(u, element) - v)
        for got, of, once in ((load(total, element), stored, rounded), (projection, terms, 2.0**-23)):
            # In a kernel what is stored may not be rounded yet.
            lost = CLOSE + (2.0**-8 if of is terms and element == "bf16" else 0)
            assert (np.abs(got - of.sum(0)) <= once * np.abs(of.sum(0)) + lost * np.abs(of).sum(0)).all()


SUM = """
func.func @forward(%x: tensor<?x{k}xbf16>, %w: tensor<{k}x{n}xbf16>, %h: tensor<?x{n}xbf16>)
    -> (tensor<?x{n}xbf16>, tensor<{n}xbf16>) {{
  %0:2 = tenon.fused_linear %x, %w layout<mk_kn> : tensor<?x{k}xbf16>, tensor<{k}x{n}xbf16>
      epilogue(%acc: tensor<?x{n}xbf16>, %y = %h: tensor<?x{n}xbf16>) -> (tensor<?x{n}xbf16>, tensor<{n}xbf16>)
      attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.gate %acc, %y : tensor<?x{n}xbf16>, tensor<?x{n}xbf16>
    %2 = tenon.batch_sum %1 : (tensor<?x{n}xbf16>) -> tensor<{n}xbf16>
    tenon.yield %1, %2 : tensor<?x{n}xbf16>, tensor<{n}xbf16>
  }}
  return %0#0, %0#1 : tensor<?x{n}xbf16>, tensor<{n}xbf16>
}}"""


@pytest.mark.parametrize("schedule", [wgmma("64x64", 64, "4x1", TWO_PHASE), wgmma("64x64", 64, "1x4", TWO_PHASE)])
def test_a_bias_gradient_beside_the_gradient(schedule, tmp_path):
    """It is that of what is stored, which no kernel reads: a sum in f32, rounded once. An infinity stays one."""
    n = 72
    model = compile_layer(SUM.format(n=n, k=K, schedule=schedule), "sm_90a", tmp_path)
    for m in (1, 150, 2500):
        x, w, h = (f32_to_bf16(random(*shape, seed=i)) for i, shape in enumerate([(m, K), (K, n), (m, n)]))
        model.launched.clear()
        z, total = model.call("forward", x, w, h)
        assert not any("_reduce" in kernel for kernel in model.launched)
        expected = np.where(load(h, "bf16") <= 0, 0, load(x, "bf16") @ load(w, "bf16"))
        stored = load(z, "bf16")
        assert np.abs(stored - expected).max() <= NEAR["bf16"] * np.abs(expected).max()
        exact = stored.sum(0)
        close = 2.0**-8 * np.abs(exact) + CLOSE * np.abs(stored).sum(0)
        assert (np.abs(load(total, "bf16") - exact) <= close).all()
    x[0], w[:, 0], h[0] = f32_to_bf16(np.float32([np.inf, 1.0, 1.0]))
    w[:, 1] = f32_to_bf16(np.float32([-1.0]))[0]
    total = load(model.call("forward", x, w, h)[1], "bf16")
    assert total[0] == np.inf
    assert total[1] == -np.inf


@pytest.mark.parametrize("m", [2048, 4096])
def test_a_sum_beside_what_is_made_of_what_is_stored(m, tmp_path):
    """More parts of a sum than one kernel's head adds up, of a known number: another kernel combines them before."""
    n, y = 72, f"tensor<{m}x72xbf16>"
    source = f"""
func.func @forward(%x: tensor<{m}x{K}xbf16>, %w: tensor<{n}x{K}xbf16>, %h: {y}) -> ({y}, tensor<{n}xf32>, {y}) {{
  %0:3 = tenon.fused_linear %x, %w : tensor<{m}x{K}xbf16>, tensor<{n}x{K}xbf16>
      epilogue(%acc: {y}, %a = %h: {y}) -> ({y}, tensor<{n}xf32>, {y})
      attributes {{strategy = #tenon.strategy<tiled>,
                   schedule = #tenon.schedule<{wgmma("64x64", 64, "4x1", TWO_PHASE)}>}} {{
    %1 = tenon.relu %acc : {y}
    %2 = tenon.batch_sum %1 : ({y}) -> tensor<{n}xf32>
    %3 = tenon.mul %1, %a : {y}, {y}
    tenon.yield %1, %2, %3 : {y}, tensor<{n}xf32>, {y}
  }}
  return %0#0, %0#1, %0#2 : {y}, tensor<{n}xf32>, {y}
}}"""
    model = compile_layer(source, "sm_90a", tmp_path)
    x, w, h = (f32_to_bf16(random(*shape, seed=i)) for i, shape in enumerate([(m, K), (n, K), (m, n)]))
    z, total, product = model.call("forward", x, w, h)
    stored = load(z, "bf16")
    expected = np.maximum(load(x, "bf16") @ load(w, "bf16").T, 0)
    assert np.abs(stored - expected).max() <= NEAR["bf16"] * np.abs(expected).max()
    assert (np.abs(total - stored.sum(0)) <= CLOSE * np.abs(stored).sum(0)).all()
    assert np.abs(load(product, "bf16") - stored * load(h, "bf16")).max() <= NEAR["bf16"] * np.abs(expected).max()


@pytest.mark.parametrize("name", NORMS)
def test_saved_statistics(name, tmp_path):
    target, schedule, element, precision, n = NORMS[name]
    rows = M if name.startswith("resident") else "?"
    model = compile_layer(layer(schedule, element, precision, n, SAVED, rows), target, tmp_path)
    x, w, s = operands(element, M, n)
    y, mean, inverse = model.call("forward", x, w, s)
    z = load(x, element) @ load(w, element).T * load(s, element)
    # Two-phase takes those of z as it is stored.
    near = 2.0**-9 if element == "bf16" else 2.0**-17
    deviation = np.sqrt(z.var(0) + EPS)
    assert (np.abs(mean - z.mean(0)) <= near * np.abs(z).max(0)).all()
    assert (np.abs(inverse * deviation - 1) <= 4 * near).all()
    assert np.abs(load(y, element) - (z - z.mean(0)) / deviation).max() <= NEAR[element] * 2


def epilogue(n, element, rows="?"):
    """Return a function of one epilogue on buffers."""
    statistic = "f64" if element == "f64" else "f32"
    z, v = f"{rows}x{n}x{element}", f"{n}x{statistic}"
    return f"""
func.func @forward(%z: memref<{z}>, %m: memref<{v}>, %q: memref<{v}>) {{
  tenon.epilogue ins(%a = %z: memref<{z}>) outs(%m: memref<{v}>, %q: memref<{v}>) {{
    %1 = tenon.mul %a, 2.0 : tensor<{z}>
    %2:2 = tenon.batch_moments %1 : (tensor<{z}>) -> (tensor<{v}>, tensor<{v}>)
    tenon.yield %2#0, %2#1 : tensor<{v}>, tensor<{v}>
  }}
  return
}}"""


@pytest.mark.parametrize(
    ("element", "n", "unit"), [("f32", 40, 2.0**-24), ("f16", 1032, 2.0**-24), ("f64", 7, 2.0**-53)]
)
def test_moments_on_their_own(element, n, unit, tmp_path):
    """Columns far from zero lose what rounding the means of their parts takes; without rows all is 0."""
    model = Model(epilogue(n, element), "sm_80", tmp_path)
    for m in (0, 1, 37, 600):
        z = np.random.default_rng(m).standard_normal((m, n))
        z = (z + (1000 if element != "f16" else 3)).astype(ELEMENTS[element])
        outputs = [model.device.put(np.full(n, 7.0, np.float64 if element == "f64" else np.float32)) for _ in "ab"]
        model.run("forward", z, *outputs)
        mean, m2 = (model.device.get(output) for output in outputs)
        wide = 2 * z.astype(np.longdouble)  # f64 is tested too
        expected = wide.mean(0) if m else np.zeros(n)
        rounding = unit * np.abs(expected).max()
        assert np.abs(mean - expected).max() <= 4 * rounding
        squares = ((wide - expected) ** 2).sum(0)
        assert (np.abs(m2 - squares) <= 2 * rounding * np.sqrt(m * squares) + 16 * unit * squares).all()


def test_one_row_that_is_known_to_be_one(tmp_path):
    """A matrix of one row does not vary by row; what is reduced is computed before the rows are walked."""
    model = Model(epilogue(40, "f32", rows=1), "sm_80", tmp_path)
    z = random(1, 40)
    mean, m2 = (model.device.put(np.full(40, 7.0, np.float32)) for _ in "ab")
    model.run("forward", z, mean, m2)
    assert (model.device.get(mean) == 2 * z[0]).all()
    assert (model.device.get(m2) == 0).all()
