# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures of the tests that call compiled models, through C and through PyTorch.

Tests of PyTorch need the package `tenon`: installed, or in PYTHONPATH as build/python. Nothing else here
needs a build tree until a fixture is asked for.
"""

import contextlib
import os
import random
import sys
import types
from dataclasses import dataclass, field

import pytest

# Of random modules; one for all processes of a run.
os.environ.setdefault("TENON_SEED", str(random.randrange(1_000_000)))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"random modules: TENON_SEED={os.environ['TENON_SEED']}")


def skip_without_gpu():
    torch = pytest.importorskip("torch", reason="torch allocates the GPU's tensors")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    if request.param == "cuda":
        skip_without_gpu()
    return request.param


@pytest.fixture(scope="session")
def calls(device, tmp_path_factory):
    """Give the graphs of dynamic M, and the model that they were compiled to."""
    from tenon_graphs.modules import open_module

    graphs, model = open_module("calls", device, tmp_path_factory.mktemp("calls"))
    if device == "cuda":
        model.load()
    return graphs, model


@pytest.fixture(scope="session", params=[0, 40, 80, 120])
def gpu_graphs(request, tmp_path_factory):
    """Give random graphs, and the model that they were compiled to."""
    from tenon_graphs.modules import open_module

    skip_without_gpu()
    graphs, model = open_module(f"graphs{request.param}", "cuda", tmp_path_factory.mktemp("graphs"))
    model.load()
    return graphs, model


# PyTorch


@pytest.fixture(scope="session", autouse=True)
def compiled_models_cache(tmp_path_factory):
    """Have the session compile each model once, and trust nothing that an earlier one compiled."""
    before = dict(os.environ)
    os.environ["TENON_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("inductor"))
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """Forget what torch.compile compiled, since its limit of recompilations counts by code, not by test."""
    yield
    if "torch._dynamo" in sys.modules:
        sys.modules["torch._dynamo"].reset()


@pytest.fixture(autouse=True)
def everything_fused(request, monkeypatch):
    """Raise where Tenon fails, and have it take all that it can, on the CPU too, with the rest run op by op.

    Tests marked `defaults` get what users get.
    """
    monkeypatch.setenv("TENON_STRICT", "1")
    if "torch" not in sys.modules:
        return
    from tenon.torch import failures, options
    from tenon.torch.choice import judge

    failures.told.clear()
    if not request.node.get_closest_marker("defaults"):
        monkeypatch.setattr(options, "default_rest", lambda device_type: "eager")
        monkeypatch.setattr(options.Options, "compiles_for", lambda self, device: True)
        monkeypatch.setattr(judge.Judge, "measures", lambda self, device: False)


@dataclass
class Compiled:
    """What Tenon compiled while a test ran: the MLIR text of each partition."""

    sources: list[str] = field(default_factory=list)

    @property
    def linears(self):
        return sum(source.count("= tenon.linear ") for source in self.sources)


@pytest.fixture
def compiled(monkeypatch):
    """Record the partitions that are compiled during a test."""
    call = pytest.importorskip("tenon.torch.calls.call")
    record, init = Compiled(), call.FusedCall.__init__

    def recording(self, partition, *args, **kwargs):
        record.sources.append(partition.source)
        init(self, partition, *args, **kwargs)

    monkeypatch.setattr(call.FusedCall, "__init__", recording)
    return record


@pytest.fixture
def bare_products(monkeypatch):
    """Have products with nothing behind them compiled, as they are where trials find that they are faster."""
    from tenon.torch.choice.candidate import Candidate

    monkeypatch.setattr(Candidate, "is_bare", False)


@pytest.fixture(params=["compile", "optimize"])
def front_end(request):
    """Give each way to have a module compiled."""
    from torch_models.check import FRONT_ENDS

    return FRONT_ENDS[request.param]


@pytest.fixture
def x():
    """Give an input of the models in optimize_models.py."""
    return pytest.importorskip("torch").randn(4, 8)


@pytest.fixture
def scaled():
    """Give a model and its optimized form."""
    from optimize_models import Scaled
    from tenon.torch import optimize

    model = Scaled().eval()
    return model, optimize(model)


@pytest.fixture
def timed(monkeypatch, tmp_path):
    """Judge as on a GPU, with times that the test gives: `times` has Tenon's and PyTorch's, `seen` what was timed."""
    torch = pytest.importorskip("torch")
    from tenon.torch.choice import judge as judging
    from tenon.torch.options import Options

    record = types.SimpleNamespace(times=([0.5], 1.0), seen=[], products=[], loss=0.0)

    def time_candidate(candidate, calls, call_behind=None):
        record.seen.append(candidate)
        return record.times[0] * len(calls), record.times[1]

    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(judging.Judge, "measures", lambda self, device: True)
    monkeypatch.setattr(judging, "undisturbed", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(judging, "time_candidate", time_candidate)
    monkeypatch.setattr(judging, "time_apart", lambda *products: record.products.append(products[:3]) or record.loss)
    monkeypatch.setattr(judging, "_FEW_ROWS", 0)  # the tests' few rows stand for many
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, strategy: strategy == "tiled")
    monkeypatch.setattr(Options, "targets_for", lambda self, device: ["cpu"])
    monkeypatch.setattr("tenon.torch.options.default_rest", lambda device: "inductor")
    monkeypatch.setattr(torch.compiler.config, "force_disable_caches", True)  # no verdict outlives its test
    return record
