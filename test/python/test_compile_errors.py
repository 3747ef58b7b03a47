# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler and the loader say of a wrong model, as exceptions with places."""

import pickle
import subprocess
import sys

import pytest
import tenon
from tenon.device import best_target

GOOD = """func.func @forward(%x: tensor<4x6xf32>, %w: tensor<3x6xf32>) -> tensor<4x3xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x6xf32>, tensor<3x6xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
"""


def test_syntax_error_has_its_place():
    with pytest.raises(tenon.CompileError) as raised:
        tenon.compile(GOOD.replace("return", "returns"), "cpu")
    (error,) = raised.value.diagnostics
    assert (error.severity, error.file, error.line, error.column) == ("error", "<string>", 3, 3)
    assert "returns" in error.message and str(raised.value).startswith("<string>:3:3: error: ")


def test_verifier_error_names_the_file_and_has_notes(tmp_path):
    path = tmp_path / "wrong.mlir"
    path.write_text(GOOD.replace("tensor<3x6xf32>", "tensor<3x7xf32>"))
    with pytest.raises(tenon.CompileError) as raised:
        tenon.compile(path, "cpu")
    error = raised.value.diagnostics[0]
    assert (error.file, error.line) == (str(path), 2)
    assert [note.severity for note in error.notes] == ["note"] * len(error.notes)
    with pytest.raises(tenon.CompileError):
        tenon.lower(path)


def test_the_exception_survives_pickling():
    with pytest.raises(tenon.CompileError) as raised:
        tenon.compile("func.func @f(", "cpu")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert copy.diagnostics == raised.value.diagnostics and str(copy) == str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "sm_12"}, "sm_12"),
        ({"target": ["cpu", "gfx90a"]}, "gfx90a"),
        ({"target": "cpu", "name": "1st"}, "1st"),
        ({"target": "cpu", "cpu": "pentium"}, "pentium"),
        ({"target": "cpu", "strategy": "magic"}, "strategy=magic is not known; expected auto, library or tiled"),
        ({"target": "cpu", "schedule": "tile = 1"}, r"schedule=tile = 1 is not a schedule: .* such as mma_sync, tile"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(tenon.CompileError, match=message):
        tenon.compile(GOOD, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 5}, 'target should be "cpu", a GPU such as "sm_90a", or several of them, but is 5'),
        ({"target": ["cpu", 5]}, r"target should be .*, but is \['cpu', 5\]"),
        ({"target": b"cpu"}, "target should be .*, but is b'cpu'"),
        ({"target": "cpu", "schedule": 5}, "schedule should be a string, but is 5"),
        ({"target": "cpu", "strategy": None}, "strategy should be a string, but is None"),
        ({"target": "cpu", "name": ["a"]}, r"name should be a string, but is \['a'\]"),
        ({"target": "cpu", "reference": "yes"}, "reference should be True or False, but is 'yes'"),
    ],
)
def test_options_of_other_types(options, message):
    for function in (tenon.compile, tenon.lower):
        with pytest.raises(TypeError, match=f"^{message}$"):
            function(GOOD, **options)


def test_a_printed_schedule_is_taken():
    text = "mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1"
    source = GOOD.replace("f32", "f16").replace("x6x", "x64x")
    within, printed = (
        tenon.lower(source, "strategy", "sm_80", strategy="tiled", schedule=given)
        for given in (text, f"#tenon.schedule<{text}>")
    )
    assert within == printed and text in printed


def test_unknown_option():
    with pytest.raises(TypeError, match="stratgy is not an option; there are name, allow_rounding_changes, "):
        tenon.lower(GOOD, "fuse", stratgy="tiled")


def test_unknown_stage():
    with pytest.raises(tenon.CompileError, match="simplify"):
        tenon.lower(GOOD, "nonsense")
    with pytest.raises(TypeError, match="stage should be a string, but is 5"):
        tenon.lower(GOOD, 5)


def test_no_such_source(tmp_path):
    with pytest.raises(tenon.NotFoundError, match=r"cannot read model '.*gone\.mlir': No such file"):
        tenon.compile(tmp_path / "gone.mlir")
    with pytest.raises(tenon.NotFoundError, match="Is a directory"):
        tenon.compile(tmp_path)
    with pytest.raises(tenon.NotFoundError, match="the model is an empty string; expected MLIR text or the path"):
        tenon.compile("")


def test_a_pytorch_model_is_no_source():
    nn = pytest.importorskip("torch").nn
    remedy = r"an object of Linear; .*tenon\.torch\.optimize.*tenon\.torch\.aot_compile"
    for function in (tenon.compile, tenon.lower):
        with pytest.raises(TypeError, match=remedy):
            function(nn.Linear(2, 2))


def test_load_refuses_what_is_no_model(tmp_path):
    with pytest.raises(tenon.NotFoundError, match="no such file"):
        tenon.load(tmp_path / "libgone.so")
    (tmp_path / "text.so").write_text("hello")
    with pytest.raises(tenon.NotFoundError, match="is not a compiled model: it is no shared object") as raised:
        tenon.load(tmp_path / "text.so")
    assert str(raised.value).count("text.so") == 1
    with pytest.raises(tenon.NotFoundError, match="not a compiled model"):
        tenon.load(tenon._native.__file__)
    exe = tenon.compile(GOOD, "cpu")
    (tmp_path / "cut.so").write_bytes(exe.path.read_bytes()[:-100])
    with pytest.raises(tenon.NotFoundError, match="cut short"):
        tenon.load(tmp_path / "cut.so")


def test_save_where_it_cannot(tmp_path):
    exe = tenon.compile(GOOD, "cpu")
    with pytest.raises(FileNotFoundError) as raised:
        exe.save(tmp_path / "no" / "libmodel.so")
    assert str(raised.value) == f"[Errno 2] cannot write libmodel.so: No such file or directory: '{tmp_path / 'no'}'"
    with pytest.raises(tenon.ArgumentError, match=r"name the shared object libmodel\.so"):
        exe.save(tmp_path / "model.h")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("capability", "target"),
    [
        (None, "cpu"),
        ((7, 5), "cpu"),
        ((8, 0), "sm_80"),
        ((8, 6), "sm_86"),
        ((8, 7), "sm_86"),
        ((8, 9), "sm_89"),
        ((9, 0), "sm_90a"),
        ((10, 0), "sm_90"),
        ((12, 0), "sm_90"),
    ],
)
def test_target_of_a_gpu(capability, target):
    assert best_target(capability) == target


def test_default_target_without_a_driver():
    command = "import tenon.device; print(tenon.device.default_target())"
    env = {"TENON_LIBCUDA": "/nonexistent.so", "PYTHONPATH": ":".join(sys.path)}
    result = subprocess.run([sys.executable, "-c", command], env=env, capture_output=True, text=True, check=True)
    assert result.stdout == "cpu\n"
