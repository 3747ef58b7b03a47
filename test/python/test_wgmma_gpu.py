# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of family wgmma of every schedule compute what the layers say, at every edge of a tile, and write no more."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from tenon_graphs.devices import require_hopper  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.wgmma import SCHEDULES, compile_wgmma  # noqa: E402
from tiled_layers import Layer, same_bits  # noqa: E402

pytestmark = pytest.mark.gpu
CASES = [(kind, schedule) for kind in ("bf16", "f16", "tf32") for schedule in SCHEDULES]
FEATURES = [8, 40, 777, 1000, 1111]
DEPTHS = [8, 64, 72, 1096]
# One executable serves them all, in this order.
ROWS = [129, 1, 1000, 64, 0, 63, 2, 65]


def layers_of(case):
    """Return layers of each N; over the cases with each K."""
    number = CASES.index(case)
    return [
        Layer(case[0], n, DEPTHS[(i + number) % len(DEPTHS)], bare=(i + number) % 3 == 0)
        for i, n in enumerate(FEATURES)
    ]


def compile_case(case, folder, device):
    layers = layers_of(case)
    return layers, compile_wgmma([layer.graph() for layer in layers], folder / "-".join(case), device, *case).model


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Give all models, compiled at once."""
    require_hopper()
    torch.cuda.init()
    folder = tmp_path_factory.mktemp("wgmma")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda case: compile_case(case, folder, "cuda"), CASES)
        return dict(zip(CASES, made, strict=True))


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_any_batch(compiled, case):
    layers, model = compiled[case]
    for layer in layers:
        for m in ROWS:
            tensors, memory = layer.draw(m), Guarded()
            call = bind_entry(model, layer.name, memory.copy(tensors), memory)
            first = call()[0].clone()
            second = call()[0]
            torch.cuda.synchronize()
            memory.check()
            layer.assert_right(first, tensors, case[1])
            assert same_bits(first, second), f"{layer.name}, M = {m}: the second call has other bits"
