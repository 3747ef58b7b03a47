# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.compile's strategy and schedule: what reaches the compiler, and that results on the CPU stay right."""

import numpy as np
import pytest
import tenon

SCHEDULE = "mma_sync,tile=64x128x32,warps=2x2,stages=3,swizzle=128,raster=4,blocks=1"


def source(precision):
    return f"""
func.func @forward(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {{tenon.param}}) -> tensor<?x32xf32> {{
  %0 = tenon.linear %x, %w precision<{precision}> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %1 = tenon.relu %0 : tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}}
"""


@pytest.mark.parametrize("strategy", ["library", "tiled"])
def test_the_strategy_is_written_on_the_layer(strategy):
    text = tenon.lower(source("tf32"), "strategy", "sm_80", strategy=strategy)
    assert f"#tenon.strategy<{strategy}>" in text
    assert "#tenon.strategy<" not in tenon.lower(source("tf32"), "strategy", "cpu", strategy=strategy)


def test_the_schedule_is_written_on_the_layer():
    text = tenon.lower(source("tf32"), "strategy", "sm_80", strategy="tiled", schedule=SCHEDULE)
    assert "tile = 64x128x32, warps = 2x2, stages = 3, swizzle = 128, raster = 4, blocks = 1>" in text


def test_a_schedule_that_the_target_cannot_run():
    with pytest.raises(tenon.CompileError) as raised:
        tenon.lower(source("tf32"), "strategy", "sm_80", strategy="tiled", schedule=SCHEDULE.replace("=3", "=99"))
    (error,) = raised.value.diagnostics
    assert error.line == 3 and "on sm_80" in error.message


@pytest.mark.parametrize(
    ("precision", "tolerance"), [("fp32", 2**-20), ("tf32", 2**-8), ("bf16", 2**-5), ("fp16", 2**-8)]
)
def test_a_tiled_model_runs_on_the_cpu(precision, tolerance):
    executable = tenon.compile(source(precision), "sm_80", strategy="tiled")
    assert any("tiled" in kernel for kernel in executable.kernels)
    (remark,) = [r for r in executable.remarks if r.category == "tenon-select-strategy"]
    assert remark.message == "tiled: strategy=tiled"
    values = remark.values
    assert values["choice"] == {"code": "AskedFor", "data": ["tiled"]}
    method, split = ("fp16x3", ["split"]) if precision == "fp32" else (values["method"], [])
    split = ["split"] if method.startswith("fp16") else split
    assert (values["strategy"], values["family"], values["method"]) == ("tiled", "mma_sync", method)
    assert values["kernels"] == [*split, "tiled", *(["guard"] if split else [])]
    assert values["predictions"][0]["target"] == "sm_80" and values["shared_bytes"] > 0
    numbers = np.random.default_rng(0)
    x, w = (numbers.standard_normal(shape, dtype=np.float32) for shape in ((5, 64), (32, 64)))
    expected = np.maximum(x.astype(np.float64) @ w.T, 0)
    np.testing.assert_allclose(executable(x, w), expected, rtol=tolerance, atol=8 * tolerance)
