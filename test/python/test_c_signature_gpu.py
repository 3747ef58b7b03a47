# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C functions of a model on a GPU: the same calls, whatever strategy the model was compiled for."""

import ctypes

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the models")
from tenon_graphs.devices import require_gpu  # noqa: E402
from tenon_graphs.tiled import TARGET  # noqa: E402

pytestmark = pytest.mark.gpu

SOURCE = """
func.func @forward(%x: tensor<?x512xf32>, %w: tensor<256x512xf32> {tenon.param})
    -> (tensor<?x256xf32> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %w : (tensor<?x512xf32>, tensor<256x512xf32>) -> tensor<?x256xf32>
  %1 = tenon.mish %0 : tensor<?x256xf32>
  return %1 : tensor<?x256xf32>
}
"""


class DLTensor(ctypes.Structure):
    """A matrix of float32 on GPU 0; device (2, 0), dtype (kDLFloat, 32, 1)."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    )

    def __init__(self, tensor):
        super().__init__(
            tensor.data_ptr(), (2, 0), 2, 2 | 32 << 8 | 1 << 16, (ctypes.c_int64 * 2)(*tensor.shape), None, 0
        )


@pytest.fixture(params=["library", "tiled"])
def library(request, tmp_path):
    from tenon import compiler

    require_gpu()
    compiler.build(SOURCE, tmp_path / "libmodel.so", TARGET, name="model", strategy=request.param)
    made = ctypes.CDLL(tmp_path / "libmodel.so")
    made.name = request.param
    return made


def check(library, status):
    runtime = ctypes.CDLL("libtenon_runtime.so.0")
    runtime.tenonLastError.restype = ctypes.c_char_p
    assert status == 0, runtime.tenonLastError()


def allocate(size):
    return torch.empty(size.value, dtype=torch.uint8, device="cuda")


def memory(buffer):
    """Return the two arguments that memory is."""
    return ctypes.c_void_p(buffer.data_ptr() if buffer.numel() else None), ctypes.c_size_t(buffer.numel())


def test_whole_and_in_two_steps(library):
    x = torch.randn(300, 512, device="cuda")
    w = torch.randn(256, 512, device="cuda")
    y = torch.empty(300, 256, device="cuda")
    expected = torch.nn.functional.mish(x.double() @ w.double().t())
    xs, ws, ys = (ctypes.byref(DLTensor(tensor)) for tensor in (x, w, y))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    size, kept = ctypes.c_size_t(), ctypes.c_size_t()

    check(library, library.model_forward_workspace_size(xs, ws, ctypes.byref(size)))
    workspace = allocate(size)
    check(library, library.model_forward(xs, ws, ys, *memory(workspace), stream))
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-4)
    whole = y.clone()

    check(library, library.model_forward_prepare_workspace_size(ws, ctypes.byref(kept), ctypes.byref(size)))
    assert (kept.value > 0) == (library.name == "tiled")  # the halves of w
    prepared = allocate(kept)
    check(library, library.model_forward_prepare(ws, *memory(prepared), *memory(allocate(size)), stream))
    check(library, library.model_forward_run_workspace_size(xs, ws, ctypes.byref(size)))
    workspace = allocate(size)
    graph = torch.cuda.CUDAGraph()
    y.zero_()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(library, library.model_forward_run(xs, ws, ys, *memory(prepared), *memory(workspace), captured))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, whole)
