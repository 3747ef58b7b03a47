# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures of the tests that call compiled models."""

import pytest
from tenon_graphs.modules import open_module


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
    graphs, model = open_module("calls", device, tmp_path_factory.mktemp("calls"))
    if device == "cuda":
        model.load()
    return graphs, model


@pytest.fixture(scope="session", params=[0, 40, 80, 120])
def gpu_graphs(request, tmp_path_factory):
    """Give random graphs, and the model that they were compiled to."""
    skip_without_gpu()
    graphs, model = open_module(f"graphs{request.param}", "cuda", tmp_path_factory.mktemp("graphs"))
    model.load()
    return graphs, model
