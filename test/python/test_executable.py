# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.compile and what it returns: numbers, entries, files, threads."""

import copy
import os
import pickle
import re
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from torch.nn import functional as F  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {16384: 64, 8192: 48, 4096: 40, 2048: 64, 1024: 32, 512: 32, 384: 24, 256: 16}
TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}

MLP = """
func.func @forward(%x: tensor<?x24xTYPE>, %w: tensor<16x24xTYPE> {tenon.param}, %b: tensor<16xTYPE> {tenon.param})
    -> tensor<?x16xTYPE> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x24xTYPE>, tensor<16x24xTYPE>, tensor<16xTYPE>) -> tensor<?x16xTYPE>
  %1 = tenon.leaky_relu %0 {negative_slope = 0.1} : tensor<?x16xTYPE>
  return %1 : tensor<?x16xTYPE>
}
"""
F32 = MLP.replace("TYPE", "f32")


def mlp(x, w, b):
    return F.leaky_relu(F.linear(x, w, b), 0.1)


def batch_norm(x, weight, bias, scale, bn_weight, bn_bias, mean, var):
    mean, var = mean.clone(), var.clone()
    y = F.batch_norm(F.linear(x, weight, bias) * scale, mean, var, bn_weight, bn_bias, training=True)
    return y, mean, var


def multi_use(x, weight, bias, gain):
    z = F.linear(x, weight, bias)
    return z, F.silu(z) * gain


def two_linears(x, w0, b0, w1, b1):
    return F.linear(F.gelu(F.linear(x, w0, b0), approximate="tanh"), w1, b1)


def inference(x, weight, bias, bn_weight, bn_bias, mean, var):
    return F.relu(F.batch_norm(F.linear(x, weight, bias), mean, var, bn_weight, bn_bias))


REFERENCES = {
    "dynamic_batch": lambda x, w, b: F.mish(F.linear(x, w, b)).clamp(max=4),
    "inference_batch_norm": inference,
    "linear_leaky_relu": lambda x, w, b: F.leaky_relu(F.linear(x, w, b) * 2, 0.1),
    "linear_scale_batch_norm_1024": batch_norm,
    "linear_scale_batch_norm_16384": batch_norm,
    "multi_use": multi_use,
    "residual": lambda x, gate, w, b: x + gate * F.gelu(F.linear(x, w, b)),
    "two_linears": two_linears,
}


def shrink(text):
    """Replace the extents of tensors by small ones."""
    return re.sub(r"(?<=[<x])\d+(?=x)", lambda m: str(SMALL.get(int(m[0]), int(m[0]))), text)


def tensors(entry, m=7, seed=0):
    """Return random inputs; variances are positive."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for spec in entry.inputs:
        shape = [m if isinstance(extent, str) else extent for extent in spec.shape]
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        made.append((values.abs() if "var" in spec.name else values).to(getattr(torch, spec.dtype)))
    return made


def check(results, expected):
    """Compare with float64 results, relative to their rms."""
    results, expected = ([r] if torch.is_tensor(r) else list(r) for r in (results, expected))
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        assert result.shape == reference.shape
        tolerance = TOLERANCES[str(result.dtype).removeprefix("torch.")]
        error = (result.double() - reference).square().mean().sqrt()
        assert error <= tolerance * reference.square().mean().sqrt()


def double(inputs):
    return [t.double() for t in inputs]


@pytest.mark.parametrize("name", REFERENCES)
def test_example(name):
    exe = tenon.compile(shrink((EXAMPLES / f"{name}.mlir").read_text()), "cpu", name=name)
    inputs = tensors(exe["forward"])
    check(exe(*inputs), REFERENCES[name](*double(inputs)))
    assert exe.name == name


def test_every_example_has_a_reference():
    assert {path.stem for path in EXAMPLES.glob("*.mlir")} == REFERENCES.keys()


@pytest.mark.parametrize(
    ("mlir", "dtype"), [("f32", "float32"), ("f16", "float16"), ("bf16", "bfloat16"), ("f64", "float64")]
)
def test_dtypes(mlir, dtype):
    exe = tenon.compile(MLP.replace("TYPE", mlir), "cpu")
    inputs = tensors(exe["forward"])
    result = exe(*inputs)
    assert result.dtype == getattr(torch, dtype)
    check(result, mlp(*double(inputs)))


@pytest.mark.parametrize("m", [0, 1, 2, 33, 1000])
def test_dynamic_batch_compiles_once(m):
    exe = tenon.compile(F32, "cpu")
    compiled = tenon.cache.statistics().compiled
    inputs = tensors(exe["forward"], m)
    result = exe(*inputs)
    assert result.shape == (m, 16)
    if m:
        check(result, mlp(*double(inputs)))
    assert tenon.cache.statistics().compiled == compiled


def test_prepare_once_run_often():
    text = shrink((EXAMPLES / "inference_batch_norm.mlir").read_text())
    exe = tenon.compile(text, "cpu", allow_rounding_changes=True, fold_weights=True)
    entry = exe["forward"]
    assert [spec.name for spec in entry.activations] == ["x"] and len(entry.parameters) == 6
    assert exe.functions == ["forward_prepare", "forward_run"]
    x, *parameters = tensors(entry)
    prepared = entry.prepare(*parameters)
    expected = [inference(*double([x * factor, *parameters])) for factor in (1, 2)]
    for parameter in parameters[:1]:
        parameter.zero_()  # has been folded: later calls no longer read it
    for factor, reference in zip((1, 2), expected, strict=True):
        check(prepared(x * factor), reference)


def test_prepare_of_a_model_that_prepares_nothing():
    entry = tenon.compile(F32, "cpu")["forward"]
    x, w, b = tensors(entry)
    check(entry.prepare(w, b)(x), mlp(*double([x, w, b])))


UNREAD = """
func.func @forward(%x: tensor<?x8xf32>, %w: tensor<4x8xf32> {tenon.param}, %u: tensor<4xf32> {tenon.param},
                   %s: tensor<4xf32> {tenon.param}) -> tensor<?x4xf32> {
  %0 = tenon.silu %s : tensor<4xf32>
  %1 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %2 = tenon.mul %1, %0 : tensor<?x4xf32>, tensor<4xf32>
  return %2 : tensor<?x4xf32>
}
"""


def test_a_parameter_that_nothing_reads_is_an_argument():
    exe = tenon.compile(UNREAD, "cpu")
    entry = exe["forward"]
    assert exe.functions == ["forward_prepare", "forward_run"]
    assert [spec.name for spec in entry.parameters] == ["w", "u", "s"]
    x, w, u, s = tensors(entry)
    expected = F.linear(*double([x, w])) * F.silu(s.double())
    for result in (exe(x, w, u, s), entry.prepare(s=s, u=u, w=w)(x)):
        check(result, expected)


CANCELLED = """
func.func @forward(%x: tensor<16x8xf32>, %w: tensor<4x8xf32> {tenon.param}, %b: tensor<4xf32> {tenon.param},
                   %mean: tensor<4xf32> {tenon.param}, %var: tensor<4xf32> {tenon.param}) -> tensor<16x4xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<16x4xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %2 = tenon.batch_norm_inference %1 stats(%mean, %var) : tensor<16x4xf32>, tensor<4xf32>, tensor<4xf32>
  return %2 : tensor<16x4xf32>
}
"""


def test_a_bias_that_batch_norm_cancels_is_an_argument():
    exe = tenon.compile(CANCELLED, "cpu", allow_rounding_changes=True)
    x, w, b, mean, var = inputs = tensors(exe["forward"])
    y = F.batch_norm(F.linear(*double([x, w, b])), None, None, training=True)
    check(exe(*inputs), F.batch_norm(y, mean.double(), var.double()))


def test_arguments_by_name():
    exe = tenon.compile(F32, "cpu")
    entry = exe["forward"]
    x, w, b = tensors(entry)
    expected = exe(x, w, b)
    for result in (exe(x, b=b, w=w), entry(w=w, x=x, b=b), entry.prepare(b=b, w=w)(x=x), entry.prepare(w, b=b)(x)):
        assert torch.equal(result, expected)


@pytest.mark.parametrize(
    ("count", "names", "message"),
    [
        (1, "wq", r"forward\(\): there is no argument 'q'; it takes x, w, b"),
        (2, "wb", "argument 'w' is given both by position and by name"),
        (1, "b", "argument 'w' is missing; it takes x, w, b"),
        (3, "b", "argument 'b' is given both"),
    ],
)
def test_wrong_arguments_by_name(count, names, message):
    exe = tenon.compile(F32, "cpu")
    inputs = tensors(exe["forward"])
    with pytest.raises(tenon.ArgumentError, match=message):
        exe(*inputs[:count], **dict.fromkeys(names, inputs[0]))


def test_several_entries():
    exe = tenon.compile(F32 + F32.replace("@forward", "@other").replace("0.1", "0.5"), "cpu")
    inputs = tensors(exe["other"])
    check(exe["other"](*inputs), F.leaky_relu(F.linear(*double(inputs)), 0.5))
    with pytest.raises(tenon.ArgumentError, match=r"several entries \(forward, other\)"):
        exe(*inputs)
    with pytest.raises(tenon.NotFoundError, match="no entry 'third'; it has: forward, other"):
        exe["third"]


def test_properties():
    exe = tenon.compile(F32, "cpu", name="mlp", reference=True)
    assert (exe.name, exe.targets, exe.kernels) == ("mlp", ["cpu"], [])
    assert exe.manifest["cpu"] == "x86-64-v3"
    assert "forward_reference" in exe.functions and list(exe.entries) == ["forward"]
    assert "x: float32 [m, 24]" in repr(exe["forward"])
    assert exe.path.name == "libmlp.so"
    assert {"FuseBias", "FuseElementwise"} <= {remark.name for remark in exe.remarks}
    bias = next(remark for remark in exe.remarks if remark.name == "FuseBias")
    assert (bias.kind, bias.function, bias.line) == ("passed", "forward", 4)
    assert bias.arguments and str(bias).startswith("<string>:4:")


def test_paths_and_names(tmp_path):
    path = tmp_path / "2-layers.mlir"
    path.write_text(F32)
    assert tenon.compile(path, "cpu").name == "_2_layers"
    exe = tenon.compile(str(path), "cpu")
    assert exe.remarks[0].file == str(path)


def test_lower():
    assert "tenon.fused_linear" in tenon.lower(F32)
    assert "tenon.fused_linear" not in tenon.lower(F32, "simplify")
    assert "gpu.module" in tenon.lower(F32, "cuda-kernels", "sm_80")


def test_save_and_load(tmp_path):
    exe = tenon.compile(F32, "cpu", name="saved")
    exe.save(tmp_path / "libsaved.so")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libsaved.h", "libsaved.so"]
    assert "saved_forward(" in (tmp_path / "libsaved.h").read_text()
    loaded = tenon.load(tmp_path / "libsaved.so")
    assert loaded.manifest == exe.manifest and loaded.remarks == []
    inputs = tensors(exe["forward"])
    assert torch.equal(loaded(*inputs), exe(*inputs))
    loaded.save(str(tmp_path / "again.so"))
    assert (tmp_path / "again.h").exists()


def test_save_replaces_regular_files_alone(tmp_path):
    model = tenon.compile(F32, "cpu")
    device = tmp_path / "device"
    os.mkfifo(device)
    for target in (device, tmp_path):
        with pytest.raises(OSError, match="cannot write what is not a regular file"):
            model.save(target)
    assert device.is_fifo()


def test_save_writes_through_links(tmp_path):
    model = tenon.compile(F32, "cpu")
    (tmp_path / "real").mkdir()
    for link, file in (("lib.so", "lib.so.1"), ("lib.h", "model.h")):
        (tmp_path / link).symlink_to(f"real/{file}")
    (tmp_path / "real/lib.so.1").write_text("before")
    model.save(tmp_path / "lib.so")
    assert all((tmp_path / link).is_symlink() for link in ("lib.so", "lib.h"))
    assert {path.name for path in (tmp_path / "real").iterdir()} == {"lib.so.1", "model.h"}
    assert tenon.load(tmp_path / "lib.so").manifest == model.manifest


def test_a_model_saved_over_an_open_one(tmp_path):
    path = tmp_path / "libmodel.so"
    tenon.compile(F32, "cpu").save(path)
    first = tenon.load(path)
    tenon.compile(F32.replace("0.1", "0.5"), "cpu").save(path)
    second = tenon.load(path)
    inputs = tensors(first["forward"])
    check(first(*inputs), mlp(*double(inputs)))
    check(second(*inputs), F.leaky_relu(F.linear(*double(inputs)), 0.5))


def test_load_on_a_device():
    exe = tenon.compile(F32, "cpu")
    exe.load(1)
    with pytest.raises(tenon.TenonError):
        exe.load(2, 63)


def test_folders_for_c_programs():
    include, library = Path(tenon.get_include()), Path(tenon.get_library_dir())
    headers = ("tenon-c/Model.h", "tenon-c/Compiler.h", "dlpack/dlpack.h", "dlpack/NOTICE")
    assert [header for header in headers if not (include / header).is_file()] == []
    assert (library / "libtenon_runtime.so.0").is_file()


def test_tenon_torch_without_pytorch():
    command = "import sys; sys.modules['torch'] = None\n{}"
    for use in ("import tenon.torch", "import tenon; tenon.torch.optimize"):
        env = {"PYTHONPATH": ":".join(sys.path)}
        result = subprocess.run([sys.executable, "-c", command.format(use)], env=env, capture_output=True, text=True)
        last = result.stderr.strip().splitlines()[-1]
        assert last.endswith("Error: tenon.torch needs PyTorch 2.11 or later: pip install torch"), result.stderr


def test_importing_tenon_does_not_import_torch():
    command = "import sys, tenon; assert 'torch' not in sys.modules; print(tenon.__version__)"
    env = {"PYTHONPATH": ":".join(sys.path)}
    result = subprocess.run([sys.executable, "-c", command], env=env, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == tenon.__version__


def test_threads():
    exe = tenon.compile(F32, "cpu")
    x, w, b = tensors(exe["forward"], 64)
    expected = mlp(*double([x, w, b]))
    prepared = exe["forward"].prepare(w, b)

    def work(number):
        for m in range(1, 40):
            rows = slice(number, number + m)
            check(prepared(x[rows]), expected[rows])
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_numpy_in_numpy_out():
    exe = tenon.compile(F32, "cpu")
    inputs = tensors(exe["forward"])
    result = exe(*(t.numpy() for t in inputs))
    assert isinstance(result, np.ndarray) and result.dtype == np.float32
    check(torch.from_numpy(result), mlp(*double(inputs)))


COPIES = [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]


@pytest.mark.parametrize("again", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_copies(again):
    executable = tenon.compile(F32, "cpu")
    inputs = tensors(executable["forward"])
    other = again(executable)
    assert other is not executable and other.name == executable.name and other.remarks == executable.remarks
    assert other.manifest == executable.manifest and other.entries.keys() == executable.entries.keys()
    assert torch.equal(other(*inputs), executable(*inputs))
    entry = again(executable["forward"])
    assert repr(entry) == repr(executable["forward"])
    assert torch.equal(entry(*inputs), executable(*inputs))


@pytest.mark.parametrize("again", COPIES[:2], ids=["copy", "deepcopy"])
def test_copies_within_a_module(again):
    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(16, 24), requires_grad=False)
            self.executable = tenon.compile(F32, "cpu")
            self.entry = self.executable["forward"]

    module = Holder()
    other = again(module)
    x, b = torch.randn(5, 24), torch.randn(16)
    assert torch.equal(other.entry(x, other.weight, b), module.executable(x, module.weight, b))


def test_pickled_for_another_process(tmp_path):
    """The files come along: neither the file that was pickled nor the cache is needed."""
    executable = tenon.compile(F32, "cpu", name="moved")
    executable.save(tmp_path / "libmoved.so")
    loaded = tenon.load(tmp_path / "libmoved.so")
    inputs = tensors(loaded["forward"])
    (tmp_path / "pickled").write_bytes(pickle.dumps((loaded, loaded["forward"], inputs)))
    for name in ("libmoved.so", "libmoved.h"):
        (tmp_path / name).unlink()
    code = f"""import pathlib, pickle
executable, entry, inputs = pickle.loads(pathlib.Path({str(tmp_path / "pickled")!r}).read_bytes())
executable.save({str(tmp_path / "libsaved.so")!r})
print(executable(*inputs).equal(entry(*inputs)), executable(*inputs).sum().item())"""
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path), "TENON_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"True {loaded(*inputs).sum().item()}\n"
    assert (tmp_path / "libsaved.h").exists()
    assert len([path for path in (tmp_path / "cache").iterdir() if path.is_dir()]) == 1
    with pytest.raises(FileNotFoundError):
        pickle.dumps(loaded)
    assert torch.equal(copy.deepcopy(loaded)(*inputs), loaded(*inputs))


@pytest.mark.parametrize("again", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_what_was_prepared_is_not_copied(again):
    entry = tenon.compile(F32, "cpu")["forward"]
    prepared = entry.prepare(*tensors(entry)[1:])
    with pytest.raises(TypeError, match="prepare again"):
        again(prepared)


def test_an_executable_is_freed_at_once():
    executable = tenon.compile(F32, "cpu")
    freed = weakref.ref(executable)
    del executable
    assert freed() is None
