# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: functions, lambdas and functools.partial that are a module's attributes."""

import ast
import functools

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
import torch.nn.functional as F  # noqa: E402
from optimize_functions import FUNCTIONS, REFUSED, make_scaled  # noqa: E402
from optimize_models import assert_follows, assert_same, dispatcher  # noqa: E402
from tenon.torch import optimize  # noqa: E402
from tenon.torch.modules.sources import tree_of  # noqa: E402
from torch import nn  # noqa: E402


class Activated(nn.Module):
    """Calls an attribute."""

    def __init__(self, function):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.function = function

    def forward(self, x):
        return self.function(torch.relu(self.linear(x)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_attribute_is_followed(name, x):
    model = Activated(FUNCTIONS[name]).eval()
    optimized = optimize(model)
    for _ in range(3):
        assert_follows(optimized, model, x)


@pytest.mark.parametrize("name", REFUSED)
@torch.no_grad()
def test_attribute_is_refused(name, x, capsys):
    model = Activated(REFUSED[name]).eval()
    optimized = optimize(model)
    for _ in range(3):
        assert_same(optimized(x), model(x))
    assert dispatcher(optimized).declined
    assert capsys.readouterr().out.count("tensor") == (6 if name == "prints" else 0)


def test_another_function_of_the_same_line(x):
    model = Activated(FUNCTIONS["left"]).eval()
    optimized = optimize(model)
    for name in ("left", "right", "partial", "left", "same"):
        model.function = FUNCTIONS[name]
        assert_follows(optimized, model, x)
        assert_follows(optimized, model, x)


def change_code(function):
    function.__code__ = FUNCTIONS["right"].__code__


def change_defaults(function):
    function.__defaults__ = (3.0,)


def change_keyword_default(function):
    function.__kwdefaults__["factor"] = 4.0


def change_cell(function):
    function.__closure__[0].cell_contents = 7.0


def change_keyword(function):
    function.keywords["negative_slope"] = 0.7


def add_keyword(function):
    function.keywords["negative_slope"] = -0.7


def set_state(function):
    function.__setstate__((F.elu, (), {"alpha": 0.5}, {}))


CHANGES = {
    "code": (lambda: lambda x: x * 2.0, change_code),
    "defaults": (lambda: lambda x, factor=2.0: x * factor, change_defaults),
    "keyword_default": (lambda: lambda x, *, factor=2.0: x * factor, change_keyword_default),
    "cell": (lambda: make_scaled(2.0), change_cell),
    "keyword": (lambda: functools.partial(F.leaky_relu, negative_slope=0.3), change_keyword),
    "new_keyword": (lambda: functools.partial(F.leaky_relu), add_keyword),
    "state": (lambda: functools.partial(F.leaky_relu, negative_slope=0.3), set_state),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_the_function_are_seen(name, x):
    make, change = CHANGES[name]

    class Behind(Activated):
        def forward(self, x):
            return self.function(self.linear(x).tanh())

    model = Behind(make()).eval()
    optimized = optimize(model)
    for _ in range(2):
        assert_follows(optimized, model, x)
    with torch.no_grad():
        before = model(x)
    change(model.function)
    for _ in range(2):
        assert_follows(optimized, model, x)
    with torch.no_grad():
        assert not torch.equal(before, model(x))


def test_tree_of_is_the_functions_own():
    factors = {name: tree_of(FUNCTIONS[name]).body.right.value for name in ("left", "right", "same")}
    assert factors == {"left": 2.0, "right": 3.0, "same": 2.0}
    assert ast.unparse(tree_of(FUNCTIONS["default"])) == "lambda x, factor=2.0: torch.relu(x) * factor"
    assert ast.unparse(tree_of(FUNCTIONS["chosen"])) == "lambda x: x if x.dim() == 2 else x + 1"


def test_tree_of_generated_code_is_not_known():
    twin = FUNCTIONS["left"].__code__.replace(co_consts=(None, 9.0))
    assert tree_of(type(make_scaled)(twin, {}, "twin")) is None
    assert tree_of(eval("lambda x: x * 2.0")) is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("f, g = (lambda: 1), (lambda: 2)", None),  # Python says no column for a constant result
        ("f, g = (lambda x: x + 1), (lambda x: x + 2)", "lambda x: x + 1"),
        ("f, g = (lambda x: (lambda y: y + x)(x)), 0", "lambda x: (lambda y: y + x)(x)"),
        ("f = (lambda x: lambda y: y + x)(1)", "lambda y: y + x"),
    ],
)
def test_tree_of_lambdas_of_one_line(line, found, tmp_path):
    path = tmp_path / "lambdas.py"
    path.write_text(line)
    scope = {}
    exec(compile(line, path, "exec"), scope)
    tree = tree_of(scope["f"])
    if found or tree is not None:  # or a version that does say it
        assert ast.unparse(tree) == (found or "lambda: 1")
