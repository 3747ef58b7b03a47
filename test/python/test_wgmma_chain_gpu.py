# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of family wgmma begin before the kernel in front has ended, and still read nothing before it is written.

Each layer's x is the y of the layer before. Two tensors hold all of them in turn, so that what is read too early is
an older y, and what is written too early is lost to the layer that still reads it. All x of a chain differ, and
another kernel holds the stream until many calls wait in it: they then follow one another without a pause.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from cuda_driver import Spinner  # noqa: E402
from tenon_graphs.devices import require_hopper  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.tiled import compile_tiled  # noqa: E402
from tenon_graphs.wgmma import TARGET, compile_wgmma  # noqa: E402
from tiled_layers import Layer, same_bits  # noqa: E402

pytestmark = pytest.mark.gpu
MMA_SYNC = "mma_sync"
# Kinds of layer and schedules that take turns. Some leave multiprocessors free, where a later kernel begins at once.
CHAINS = {
    "wgmma_cooperative": ("bf16", ["wgmma_128x256", "wgmma_128x256_2x1_stream_k", "wgmma_256x128_1x2_stream_k"]),
    "wgmma_one_warpgroup": ("f16", ["wgmma_64x64_stream_k", "wgmma_64x40", "wgmma_64x8_1x2_stream_k"]),
    "wgmma_ping_pong": ("bf16", ["wgmma_128x192_ping_pong", "wgmma_64x256_ping_pong_stream_k"]),
    "wgmma_clusters": ("tf32", ["wgmma_128x256_1x2", "wgmma_256x128_2x1", "wgmma_128x128_2x1_ping_pong_stream_k"]),
    "wgmma_behind_a_cast": ("f32_by_bf16", ["wgmma_128x256", "wgmma_128x168_stream_k"]),
    "wgmma_beside_mma_sync": ("f16", ["wgmma_128x256", MMA_SYNC, "wgmma_64x64_stream_k"]),
}
SIZE, LENGTH, ROUNDS, REPLAYS = 2048, 6, 8, 4
ROWS = [1, 520, 1000]
HOLD_S = 0.01


def compile_step(kind, schedule, stem, device):
    """Compile the layer of all chains with a schedule."""
    graphs = [Layer(kind, SIZE, SIZE).graph()]
    if schedule != MMA_SYNC:
        return compile_wgmma(graphs, stem, device, kind, schedule).model
    text = "mma_sync,tile=128x128x64,warps=2x2,stages=3,swizzle=128,raster=8,blocks=1"
    return compile_tiled(graphs, stem, device, text, TARGET).model


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Give all models by kind and schedule, compiled at once."""
    require_hopper()
    torch.cuda.init()
    folder = tmp_path_factory.mktemp("chain")
    steps = sorted({(kind, schedule) for kind, schedules in CHAINS.values() for schedule in schedules})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda step: compile_step(*step, folder / "-".join(step), "cuda"), steps)
        return dict(zip(steps, made, strict=True))


class Chain:
    """Calls of which each reads what the one before wrote; all have one workspace."""

    def __init__(self, models, kind, m):
        layer = Layer(kind, SIZE, SIZE)
        self.inputs = [layer.draw(m, 100 + number)["x"] for number in range(ROUNDS)]
        self.x = torch.empty_like(self.inputs[0])
        self.buffers = [torch.empty_like(self.x) for _ in range(2)]
        # Variance remains about the same.
        self.mixer = torch.randn(SIZE, SIZE, device="cuda", generator=torch.Generator("cuda").manual_seed(m))
        self.mixer = (self.mixer / SIZE**0.5).to(self.x.dtype)
        bound, x = [], self.x
        for number in range(LENGTH):
            model = models[number % len(models)]
            run = next(entry["run"] for entry in model.manifest["entries"] if entry["name"] == layer.name)
            prepared = bind_entry(model, layer.name, {**layer.draw(m, number), "x": x})
            bound.append((model, run, prepared))
            x = self.buffers[number % 2]
        workspace = max((call.workspace for *_, call in bound), key=torch.numel)
        self.calls = [
            model.bind(run, call.inputs, [self.buffers[number % 2]], workspace)
            for number, (model, run, call) in enumerate(bound)
        ]
        torch.cuda.synchronize()

    def __call__(self, number, between=None, after=lambda: None):
        """Enqueue all calls on an input of that number, what is `between` two of them, and `after` each; return y."""
        self.x.copy_(self.inputs[number])
        after()
        for i, call in enumerate(self.calls):
            (y,) = call()
            after()
            if between:
                between(self, y, i)
                after()
        return y.clone()


def no_operation(chain, y, i):
    """Have the layers follow one another."""


def torch_operations(chain, y, i):
    """Have PyTorch change each y before it is read: element by element, and by a product."""
    if i % 2:
        y.mul_(-0.75)
    else:
        y.copy_(torch.mm(y, chain.mixer))


def elementwise_operation(chain, y, i):
    """Have PyTorch change every third y."""
    if i % 3 == 1:
        y.mul_(-0.75)


BETWEEN = [no_operation, torch_operations, elementwise_operation]


@pytest.fixture(params=list(CHAINS))
def models(request, compiled):
    """Give the models of a chain, and the kind of their layers."""
    kind, schedules = CHAINS[request.param]
    return [compiled[kind, schedule] for schedule in schedules], kind


def one_by_one(chain, between):
    """Return the results where each kernel begins when all before it have ended."""
    results = [chain(number, between, torch.cuda.synchronize) for number in range(ROUNDS)]
    # Else what is read too early could be the same.
    assert not any(same_bits(results[i], results[j]) for i in range(len(results)) for j in range(i))
    assert all(bool(torch.isfinite(result).all()) for result in results)
    return results


def assert_all_same(results, expected, what):
    torch.cuda.synchronize()
    wrong = [i for i, pair in enumerate(zip(results, expected, strict=True)) if not same_bits(*pair)]
    assert not wrong, f"{what}: other bits than one by one: rounds {wrong} of {len(results)}"


@pytest.mark.parametrize("m", ROWS)
@pytest.mark.parametrize("between", BETWEEN, ids=lambda operation: operation.__name__)
def test_without_synchronisation(models, m, between):
    chain, spinner = Chain(*models, m), Spinner()
    expected = one_by_one(chain, between)
    spinner.start(1, HOLD_S, torch.cuda.current_stream())
    results = [chain(number, between) for number in range(ROUNDS)]
    assert_all_same(results, expected, f"M = {m}")


@pytest.mark.parametrize("m", ROWS)
def test_in_a_cuda_graph(models, m):
    """Replays follow one another too; between two only the inputs change."""
    chain = Chain(*models, m)
    inputs = [tensor.clone() for tensor in chain.inputs]
    expected = {}
    for replay in range(REPLAYS):
        for number, tensor in enumerate(inputs):
            chain.inputs[number].copy_(tensor * (1.0 + replay / 4.0))
        expected[replay] = one_by_one(chain, elementwise_operation)
    graph, results = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        captured = [chain(number, elementwise_operation) for number in range(ROUNDS)]
    for replay in range(REPLAYS):
        for number, tensor in enumerate(inputs):
            chain.inputs[number].copy_(tensor * (1.0 + replay / 4.0))
        graph.replay()
        results.append([result.clone() for result in captured])
    for replay in range(REPLAYS):
        assert_all_same(results[replay], expected[replay], f"M = {m}, replay {replay}")


def test_what_is_chained_is_right(models):
    """The first layer of a chain, beside float64."""
    chain = Chain(*models, 520)
    layer = Layer(models[1], SIZE, SIZE)
    chain.x.copy_(chain.inputs[0])
    (y,) = chain.calls[0]()
    torch.cuda.synchronize()
    layer.assert_right(y, {**layer.draw(520, 0), "x": chain.inputs[0]}, "in a chain")
