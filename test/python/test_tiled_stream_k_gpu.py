# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles divided along K among thread blocks: right and the same bits whatever the workspace held and the GPU does."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from cuda_driver import Spinner  # noqa: E402
from tenon_graphs.devices import require_hopper  # noqa: E402
from tenon_graphs.execute import bind, bind_entry  # noqa: E402
from tenon_graphs.tiled import compile_tiled  # noqa: E402
from tenon_graphs.wgmma import compile_wgmma  # noqa: E402
from tiled_layers import Layer, same_bits  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
SHAPES = [(256, 1024), (768, 4096), (2048, 1024), (520, 8200), (256, 16384), (2048, 16384)]
BATCHES = [1, 2, 17, 64, 129, 300]
FEW_SHAPES, FEW_BATCHES = [(256, 1024), (520, 8200), (2048, 16384)], [1, 129, 300]
SCHEDULES = {
    "large": "mma_sync,tile=128x256x{k},warps=2x4,stages=3,swizzle=128,raster=8,blocks=1,stream_k=true",
    "two_blocks": "mma_sync,tile=64x64x{k},warps=2x2,stages=4,swizzle=128,raster=8,blocks=2,stream_k=true",
    "flat": "mma_sync,tile=16x128x{k},warps=1x4,stages=4,swizzle=128,raster=4,blocks=1,stream_k=true",
}
MMA_SYNC = [(kind, schedule) for kind in ("f16", "bf16", "tf32") for schedule in SCHEDULES]
WGMMA = [
    ("bf16", "wgmma_128x256_2x1_stream_k"),
    ("tf32", "wgmma_256x128_1x2_stream_k"),
    ("f16", "wgmma_64x64_stream_k"),
    ("bf16", "wgmma_64x256_ping_pong_stream_k"),
    ("tf32", "wgmma_128x128_2x1_ping_pong_stream_k"),
]
TIMEOUT_S = 20


def compile_layers(kind, schedule, folder, device):
    layers = {(n, k): Layer(kind, n, k) for n, k in SHAPES}
    graphs, stem = [layer.graph() for layer in layers.values()], folder / f"{kind}_{schedule}"
    if (kind, schedule) in WGMMA:
        return layers, compile_wgmma(graphs, stem, device, kind, schedule).model
    text = SCHEDULES[schedule].format(k=32 if kind == "tf32" else 64)
    compiled = compile_tiled(graphs, stem, device, text)
    assert (compiled.tiled, compiled.library) == (len(layers), 0)
    return layers, compiled.model


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Give a function that returns the models of wgmma or the others, compiled at once when first asked for."""
    folder = tmp_path_factory.mktemp("stream_k")
    torch.cuda.init()

    @cache
    def compile_all(is_wgmma):
        cases = WGMMA if is_wgmma else MMA_SYNC
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda case: compile_layers(*case, folder, "cuda"), cases)
            return dict(zip(cases, made, strict=True))

    return compile_all


@pytest.fixture(params=MMA_SYNC + WGMMA, ids="-".join)
def case(request):
    """Give a kind of layer and the name of a schedule."""
    if request.param in WGMMA:
        require_hopper()
    return request.param


@pytest.fixture
def model(case, compiled):
    return compiled(case in WGMMA)[case]


class Run:
    """A layer with tensors of its own, and a workspace that can be filled."""

    def __init__(self, layers, model, shape, m, seed=0):
        self.layer, self.m = layers[shape], m
        self.tensors = self.layer.draw(m, seed)
        self.call = bind_entry(model, self.layer.name, self.tensors)

    def refill(self, seed):
        """Give other inputs of the same parameters, enqueued on the current stream."""
        for name, values in self.layer.draw(self.m, seed).items():
            if name in ("x", "residual"):
                self.tensors[name].copy_(values)

    def spoil(self, how):
        """Fill the workspace with what a call must not rely on."""
        workspace = self.call.workspace.view(torch.uint8)
        if how == "random":
            workspace.random_(0, 256)
        else:
            workspace.fill_(how)

    def __call__(self):
        """Call on the current stream; return a copy of the result, made on that stream."""
        self.call.outputs[0].fill_(float("nan"))
        return self.call()[0].clone()


def runs_of(model, shapes=FEW_SHAPES, batches=FEW_BATCHES):
    """Give a run of each shape and batch."""
    for shape in shapes:
        for m in batches:
            yield Run(*model, shape, m)


def assert_all_same(results, expected, run, what):
    torch.cuda.synchronize()
    wrong = [i for i, result in enumerate(results) if not same_bits(result, expected[i])]
    assert not wrong, f"{run.layer.name}, M = {run.m}: other bits {what}: results {wrong} of {len(results)}"


def test_tiles_are_divided(model):
    """A block's partial tile and flag are in the workspace: else nothing here is tested."""
    for run in runs_of(model):
        assert run.call.workspace.numel() * run.call.workspace.element_size() > 100_000


def test_any_workspace(model):
    """Results are within bounds, and the same bits, whatever the workspace held before."""
    for run in runs_of(model, SHAPES, BATCHES):
        results = []
        for how in (0xFF, "random", 0, 0x01, "random"):
            run.spoil(how)
            results.append(run())
        results.append(run())  # on what the last call left
        assert_all_same(results, [results[0]] * len(results), run, "with another workspace")
        run.layer.assert_right(results[0], run.tensors, "stream-K")


def alone(run, seeds):
    """Return the results of inputs one by one, with a synchronisation after each."""
    results = []
    for seed in seeds:
        run.refill(seed)
        results.append(run())
        torch.cuda.synchronize()
    return results


def test_back_to_back(model):
    """Calls with a workspace in common follow one another on a stream."""
    for run in runs_of(model):
        expected = alone(run, range(10))
        inputs = [run.layer.draw(run.m, seed) for seed in range(10)]
        torch.cuda.synchronize()
        results = []
        for tensors in inputs:
            for name in ("x", "residual"):
                run.tensors[name].copy_(tensors[name])
            results.append(run())
        assert_all_same(results, expected, run, "without synchronisation")
        run.refill(9)
        run.layer.assert_right(results[9], run.tensors, "the tenth call")


def test_cuda_graph_replays(model):
    """A graph, whose launches bring the same token each time, serves changed inputs and a spoilt workspace."""
    for run in runs_of(model):
        expected = alone(run, range(12))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run.call()
        results = []
        for seed in range(12):
            run.refill(seed)
            run.call.outputs[0].fill_(float("nan"))
            if seed % 4 == 3:
                run.spoil("random")
            graph.replay()
            results.append(run.call.outputs[0].clone())
        assert_all_same(results, expected, run, "from a CUDA graph")
        for _ in range(50):
            graph.replay()
        assert_all_same([run.call.outputs[0]], [expected[11]], run, "after 50 replays in a row")


def test_two_streams_at_once(model):
    """Calls with workspaces of their own share the multiprocessors."""
    streams = [torch.cuda.Stream() for _ in range(2)]
    for shape in FEW_SHAPES:
        for m in FEW_BATCHES:
            runs = [Run(*model, shape, m, seed) for seed in range(2)]
            expected = [run() for run in runs]
            torch.cuda.synchronize()
            results = [[], []]
            for _ in range(20):
                for run, stream, kept in zip(runs, streams, results, strict=True):
                    with torch.cuda.stream(stream):
                        kept.append(run())
            for run, kept, wanted in zip(runs, results, expected, strict=True):
                assert_all_same(kept, [wanted] * len(kept), run, "beside another stream")


def wait_for(event, what):
    """Wait for an event; end the process where it does not come, since nothing can be done on the GPU any more."""
    limit = time.monotonic() + TIMEOUT_S
    while not event.query():
        if time.monotonic() > limit:
            print(f"DEADLOCK: {what}: not done after {TIMEOUT_S} s", flush=True)
            os._exit(1)
        time.sleep(0.001)


@pytest.mark.parametrize("free", [1, 2, 17])
def test_few_multiprocessors_are_free(model, case, free):
    """A call ends while another kernel holds all other multiprocessors: no block waits for one not yet started."""
    if free < 17 and ("_2x1_" in case[1] or "_1x2_" in case[1]):
        pytest.skip("so few multiprocessors need not have two near each other, which a cluster takes")
    spinner, aside, stream = Spinner(), torch.cuda.Stream(), torch.cuda.Stream()
    for shape in [(520, 8200), (2048, 1024)]:
        run = Run(*model, shape, 129)
        expected = run()
        torch.cuda.synchronize()
        begun, done, over = (torch.cuda.Event() for _ in range(3))
        begun.record(aside)
        spinner.start(spinner.multiprocessors - free, 0.15, aside)
        over.record(aside)
        wait_for(begun, "the other kernel")
        time.sleep(0.01)
        with torch.cuda.stream(stream):
            run.call.outputs[0].fill_(float("nan"))
            run.call()
            done.record()
        wait_for(done, f"{run.layer.name} with {free} multiprocessors free")
        assert not over.query(), "the other kernel was over first, so nothing was tested"
        assert_all_same([run.call.outputs[0]], [expected], run, f"with {free} multiprocessors free")


def test_prepared_and_run_in_one_graph(compiled):
    """What prepares a parameter and what reads it follow one another in a captured graph too."""
    layers, model = compiled(False)["tf32", "large"]
    layer = layers[520, 8200]
    tensors = layer.draw(129)
    entry = next(e for e in model.manifest["entries"] if e["name"] == layer.name)
    prepare = bind(model, entry["prepare"], [tensors["w"]])
    by_name = {**tensors, "prepared": prepare.outputs[0]}
    inputs = model.functions[entry["run"]]["inputs"]
    call = bind(model, entry["run"], [by_name["prepared" if i["role"] == "prepared" else i["name"]] for i in inputs])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prepare()
        call()
    for seed in range(3):
        for name, values in layer.draw(129, seed).items():
            tensors[name].copy_(values)
        graph.replay()
        layer.assert_right(call.outputs[0], tensors, f"replay {seed}")
