# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The native module: that its stub tells the truth, and how a launcher takes its arguments."""

import ast
import re
import typing
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import _native, compiler

STUB = Path(tenon.__file__).parent / "_native.pyi"
SOURCE = """
func.func @forward(%x: tensor<?x2xf32>, %w: tensor<2x2xf32>, %z: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %1 = tenon.add %0, %z : tensor<?x2xf32>, tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}
"""


def parameters(function):
    """Return the parameters' names of a function of the stub."""
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def native_parameters(function):
    """Return the parameters' names of a nanobind function."""
    signature = function.__nb_signature__[0][0]
    signature = signature[signature.index("(") + 1 : signature.rindex(")")]
    return re.findall(r"(?:^|, )(\w+)(?=[:,]|$)", re.sub(r"\[[^]]*\]", "", signature))


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_the_stub_is_the_module():
    body = ast.parse(STUB.read_text()).body
    stub = {node.name: node for node in body if hasattr(node, "name")}
    values = {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
    assert stub.keys() | values == public(vars(_native))
    for name, node in stub.items():
        native = getattr(_native, name)
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == native_parameters(native)
            continue
        members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        assert public(members) == public(vars(native)), name
        for member, definition in members.items():
            signature = getattr(getattr(native, member), "__nb_signature__", None)
            if signature:
                assert parameters(definition) == native_parameters(getattr(native, member)), (name, member)


def test_python_has_the_options_of_the_compiler():
    hints = typing.get_type_hints(compiler.Options)
    assert hints.keys() == _native.OPTIONS.keys() - {"parameters"}
    assert all(isinstance(_native.OPTIONS[name][0], hint) for name, hint in hints.items())
    with pytest.raises(TypeError, match="an option is not known"):
        _native.Options([], remarks=False, tile=3)


@pytest.mark.parametrize("name", [name for name, (_, words) in _native.OPTIONS.items() if words])
def test_an_option_has_the_words_that_it_lists(name):
    default, words = _native.OPTIONS[name]
    assert default in words
    for word in words:
        tenon.lower(SOURCE, "fuse", "sm_90a", **{name: word})
    expected = ", ".join(words[:-1]) + f" or {words[-1]}"
    with pytest.raises(tenon.CompileError, match=f"{name}=magic is not known; expected {expected}"):
        tenon.lower(SOURCE, "fuse", "sm_90a", **{name: "magic"})


@pytest.fixture
def launcher():
    return tenon.compile(SOURCE, "cpu").model.function("forward").launcher(1, 0)


def test_launcher(launcher):
    assert launcher.symbols == ["m"]
    assert launcher.tensors == ["x", "w", "z", "y0"]
    x, w, z = np.ones((3, 2), np.float32), np.eye(2, dtype=np.float32), np.full((3, 2), 2, np.float32)
    out = np.zeros((3, 2), np.float32)
    pointers = [a.ctypes.data for a in (x, w, z, out)]
    for kind in (tuple, list):
        out[:] = 0
        size = launcher.workspace_bytes(kind([3]))
        assert launcher(kind(pointers), kind([3]), 0, size, 0) is None
        np.testing.assert_array_equal(out, x + z)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([8, 8, 8], [3], 0, 0, 0), tenon.ArgumentError, r"4 pointers expected \(x, w, z, y0\), 3 given"),
        (([8, 8, 8, 8], [3, 4], 0, 0, 0), tenon.ArgumentError, r"1 extents expected \(m\), 2 given"),
        (([8, 8, 8, 8], 3, 0, 0, 0), tenon.ArgumentError, "extents are a tuple or list"),
        (([8, 8, 8, 8], [3], 0), tenon.ArgumentError, "takes pointers, extents, workspace"),
        (([8, 8, "8", 8], [3], 0, 0, 0), TypeError, "int"),
        (([8, 8, -8, 8], [3], 0, 0, 0), OverflowError, "negative"),
        (([8, 8, 8, 8], [2**70], 0, 0, 0), OverflowError, "too large|too big"),
        (([8, 8, 8, 8], [-3], 0, 0, 0), tenon.ArgumentError, r"shape \[m, 2\] expected, \[-3, 2\] given"),
        (([0, 8, 8, 8], [3], 0, 0, 0), tenon.ArgumentError, "'x': data is null"),
        (([8, 9, 8, 8], [3], 0, 0, 0), tenon.ArgumentError, "'w': .*not aligned"),
        (([8, 8, 8, 8], [3], 0, None, 0), TypeError, "int"),
    ],
)
def test_wrong_arguments(launcher, arguments, error, message):
    with pytest.raises(error, match=message):
        launcher(*arguments)


def test_no_keywords(launcher):
    with pytest.raises(tenon.ArgumentError, match="no keyword arguments"):
        launcher([8, 8, 8, 8], [3], 0, 0, stream=0)


def test_a_launcher_from_nowhere():
    with pytest.raises(tenon.ArgumentError, match="comes from NativeFunction.launcher"):
        _native.Launcher.__new__(_native.Launcher)([], [], 0, 0, 0)


def test_the_launcher_keeps_its_model():
    launcher = tenon.compile(SOURCE, "cpu").model.function("forward").launcher(1, 0)
    assert launcher.workspace_bytes((1,)) >= 0 and launcher.workspace_bytes((1,)) == launcher.workspace_bytes([1])


def test_no_such_function():
    with pytest.raises(tenon.NotFoundError, match="no function 'f'; it has: forward"):
        tenon.compile(SOURCE, "cpu").model.function("f")


def test_rows_outside_of_a_model_that_never_ran_on_a_gpu():
    model = tenon.compile(SOURCE, "cpu").model
    assert model.rows_outside(1, 0) == 0  # the CPU
    assert model.rows_outside(2, 0) == 0  # no GPU is needed to know that
    with pytest.raises(tenon.ArgumentError, match="counting the rows outside: device type 8; kDLCPU"):
        model.rows_outside(8, 0)


class Value:
    """What can be told to be another."""


def test_a_guard_asks_of_what_is_new():
    values, asked = {"x": Value(), "y": Value()}, []

    def admits(value):
        asked.append(value)
        return isinstance(value, Value)

    guard = _native.Guard(
        items=[], absent=[], attributes=[], sizes=[], results=[(values, "x"), (values, "y")], admits=admits
    )
    for _ in range(3):
        assert guard() == (values["x"], values["y"])
    assert asked == [values["x"], values["y"]]
    values["y"] = Value()
    assert guard() == (values["x"], values["y"]) and asked[2:] == [values["y"]]
    del asked[:], values["y"]
    assert guard() is None
    for wrong in (1, object(), None):
        values["y"] = wrong
        assert guard() is None and guard() is None and asked == [wrong] * 2
        asked.clear()


def test_what_a_guard_asks_may_fail():
    def fail(value):
        raise ValueError

    guard = _native.Guard(items=[], absent=[], attributes=[], sizes=[], results=[({"x": Value()}, "x")], admits=fail)
    assert guard() is None
    with pytest.raises(TypeError):
        _native.Guard.__new__(_native.Guard)()
