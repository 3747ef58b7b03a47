# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench: configurations, and what is said of those that are wrong; epilogues and the models made of them."""

import json
from pathlib import Path

import pytest
import tenon
from tenon.bench.config import ConfigError, read_cases, read_config
from tenon.bench.epilogue import NAMED, EpilogueError, read_epilogue
from tenon.bench.source import DTYPES, Problem

CONFIGS = Path(__file__).parents[2] / "benchmarks" / "configs"
SCHEDULE = (
    "#tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1>"
)


def config(**changes):
    return {"models": ["bias"], "shapes": [[4, 16, 8]], "dtypes": ["bf16"]} | changes


def test_cases_are_products():
    cases = read_cases(
        config(models=["none", "bias"], shapes=[[[1, 3], 16, [8, 7]], [2, 2, 2]], dtypes=["f16", "tf32"])
    )
    assert len(cases) == len({case.name for case in cases}) == 2 * 5 * 2
    assert "bias-tf32-3x16x7" in {case.name for case in cases}


def test_contenders_in_turn():
    schedules = [SCHEDULE, {"schedule": SCHEDULE.replace("raster = 8", "raster = 4"), "dtypes": ["bf16"]}]
    options = {"strategies": ["tiled", "library"], "schedules": schedules, "peers": ["cublas", "eager"]}
    f16, bf16 = read_cases(config(dtypes=["f16", "bf16"], **options))
    names = ["cublas", "eager", "tiled", "library", "tiled-128x256x64-2x4-3"]
    assert [c.name for c in f16.contenders] == names
    assert [c.name for c in bf16.contenders] == [*names, f"{names[-1]}#2"]
    assert dict(f16.contenders[-1].options) == {"strategy": "tiled", "schedule": SCHEDULE[16:-1]}
    assert [c.tenon for c in f16.contenders] == [False, False, True, True, True]


def test_groups_override():
    groups = [{"output": "f32"}, {"shapes": [[5, 5, 5]], "flush": True, "dynamic_m": True, "repeat": 3}]
    first, second = read_cases(config(groups=groups, target="sm_80"))
    assert (first.name, first.problem.output, first.repeat) == ("bias-bf16-to-f32-4x16x8", "f32", 30)
    assert (second.name, second.repeat, second.target) == ("bias-bf16-5x5x5-dynamic-flushed", 3, "sm_80")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": []}, "model is no key; the keys here are data, dtypes, dynamic_m,"),
        ({"models": []}, "models should be a list of one or more"),
        ({"models": ["bias_rel"]}, r"models\[0\]: there is no model 'bias_rel'; use none, bias,"),
        ({"models": [3]}, r"models\[0\] should be an object, in braces, but is 3"),
        ({"models": [{"name": "bias", "epilogue": ""}]}, r"models\[0\]\.name: give a word of its own"),
        ({"models": [{"name": "mine"}]}, r"models\[0\]\.epilogue: give MLIR text, or a list"),
        ({"models": [{"name": "mine", "epilogue": ["%0 = x"]}]}, r"models\[0\]\.epilogue: '%0 = x' is no op; write"),
        ({"shapes": [[4, 16]]}, r"shapes\[0\]: \[4, 16\] is no shape; write \[M, N, K\]"),
        ({"shapes": [[4, 16, 0]]}, r"shapes\[0\]: .* each from 1 on"),
        ({"shapes": [[True, 16, 1]]}, r"shapes\[0\]: .* is no shape"),
        ({"shapes": [[[], 16, 1]]}, r"shapes\[0\]: .* is no shape"),
        ({"dtypes": ["bf16", "f8"]}, r'dtypes\[1\]: there is no "f8"; use f16, bf16, tf32, fp32'),
        ({"strategies": ["fast"]}, r'strategies\[0\]: there is no "fast"; use auto, library, tiled'),
        ({"peers": "cublas"}, "peers should be a list, in brackets"),
        ({"strategies": [], "peers": []}, "strategies: nothing runs bf16; give a strategy"),
        ({"schedules": ["mma_sync"]}, r'schedules\[0\]: write "#tenon.schedule<mma_sync, tile'),
        (
            {"schedules": [SCHEDULE.replace("128x256x64", "128x256")]},
            r"schedules\[0\]: schedule=.*tile must be M x N x K",
        ),
        (
            {"schedules": [SCHEDULE, "#tenon.schedule<>"]},
            r"schedules\[1\]: .* is not a schedule: expected valid keyword",
        ),
        ({"groups": [{"schedules": ["#tenon.schedule<mma>"]}]}, r"groups\[0\]\.schedules\[0\]: .* is not a schedule"),
        ({"schedules": [{"schedule": SCHEDULE, "dtypes": ["x"]}]}, r'schedules\[0\]\.dtypes\[0\]: there is no "x"'),
        ({"output": "f64"}, 'output: there is no "f64"; use same, f32, f16, bf16'),
        ({"dynamic_m": 1}, "dynamic_m should be true or false, but is 1"),
        ({"new_parameters": 1}, "new_parameters should be true or false, but is 1"),
        ({"repeat": -1}, "repeat should be a number of rounds, or 0 for no timing, but is -1"),
        ({"repeat": True}, "repeat should be a number of rounds"),
        ({"target": "sm_70"}, 'target: there is no "sm_70"; use sm_80'),
        ({"groups": [{"colour": 1}]}, r"groups\[0\]\.colour is no key"),
        ({"groups": [{"models": ["no"]}]}, r"groups\[0\]\.models\[0\]: there is no model 'no'"),
        ({"groups": [{}, {"repeat": 1}]}, r"groups\[1\]\.models: bias-bf16-4x16x8 is in two groups"),
    ],
)
def test_errors_name_key_and_remedy(changes, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        read_cases(config(**changes))


def test_needed_keys():
    with pytest.raises(ConfigError, match="^dtypes is missing; give a list of one dtype or more"):
        read_cases({"models": ["bias"], "shapes": [[1, 1, 1]]})


def test_files(tmp_path):
    with pytest.raises(ConfigError, match="cannot read .*: No such file"):
        read_config(tmp_path / "gone.json")
    (tmp_path / "bad.json").write_text('{"models": [}')
    with pytest.raises(ConfigError, match="is no JSON: .* line 1 column 13"):
        read_config(tmp_path / "bad.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ConfigError, match="the configuration should be an object"):
        read_config(tmp_path / "list.json")
    (tmp_path / "twice.json").write_text('{"models": ["bias"], "groups": [{"dtypes": ["f16"], "dtypes": ["bf16"]}]}')
    with pytest.raises(ConfigError, match="^dtypes is there twice in one object; leave one of the two out"):
        read_config(tmp_path / "twice.json")
    with pytest.raises(ConfigError, match="cannot read .*: Is a directory; expected a JSON configuration"):
        read_config(tmp_path)


def test_names_of_schedules():
    """What tells two schedules of one tile apart is in the name; a number is where the rest differs."""
    form = (
        "#tenon.schedule<wgmma, tile = 128x168x64, warps = 8x1, stages = 5, swizzle = 128, raster = {}, blocks = 1{}>"
    )
    options = [(8, ""), (8, ", stream_k = true, cluster = 2x1, method = fp16x3"), (8, ", cluster = 1x2"), (4, "")]
    (case,) = read_cases(config(strategies=[], peers=[], schedules=[form.format(*option) for option in options]))
    names = ["", "-c2x1-sk-fp16x3", "-c1x2", "#2"]
    assert [c.name for c in case.contenders] == [f"tiled-128x168x64-8x1-5{name}" for name in names]


def test_configurations_of_the_repository():
    cases = {path.stem: read_config(path)[1] for path in CONFIGS.glob("*.json")}
    assert {"bf16-1024x8192x8192", "tf32-16384x4096x4096"} <= {
        case.name.removeprefix("bias_mul2_leaky_relu-") for case in cases["sm80"]
    }
    extents = [{getattr(case.problem, letter) for case in cases["sm80_ragged"]} for letter in "mnk"]
    assert [min(e) for e in extents] == [1, 1, 1] and all(case.repeat == 0 for case in cases["sm80_ragged"])
    assert {case.new_parameters for case in cases["fp32"]} == {case.new_parameters for case in cases["fp32_compile"]}
    assert {case.problem.m for case in cases["fp32"]} >= {1, 8, 16, 32, 64, 1024}
    for name in ("sm90a", "sm90a_compile", "sm90a_tune"):
        assert {case.problem.dtype for case in cases[name]} == {"f16", "bf16", "tf32"}


def test_sweep():
    """The sweep of sm_90a has the range that is asked for, odd sizes among them, and fits a GPU's memory."""
    cases = read_config(CONFIGS / "sm90a_sweep.json")[1]
    assert len(cases) >= 64
    assert all([c.name for c in case.contenders] == ["cublas", "tiled", "library", "auto"] for case in cases)
    spans = {letter: [getattr(case.problem, letter) for case in cases] for letter in "mnk"}
    ends = {letter: (min(span), max(span)) for letter, span in spans.items()}
    assert ends == {"m": (1, 32768), "n": (64, 32768), "k": (64, 32768)}
    assert all(any(extent % 2 for extent in span) for span in spans.values())
    for case in cases:  # x and w as they are made, three results of each contender, float64 blocks
        p = case.problem
        made = 4 * max(p.m, p.n) * p.k + 4 * (p.m + p.n) * p.k
        assert made + 12 * 4 * p.m * p.n + 12 * 8 * 4096**2 < 20e9, case.name


# Epilogues


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["%0 = tenon.softmax %acc : tensor<MxNxA>"], "tenon.softmax is not known here; use add, sub"),
        (["%0 = tenon.relu %acc : tensor<4x4xf32>"], "'tensor<4x4xf32>' is no type; write tensor<MxNxA>"),
        (["%0 = tenon.relu %acc, %acc : tensor<MxNxA>"], "'%acc, %acc' should be 1 of %value or number"),
        (["%0 = tenon.add 1.0, 2.0 : tensor<MxNxA>"], "with one %value at least"),
        (["%0 = tenon.add %acc, %b : tensor<MxNxA>"], r"there should be 2 type\(s\) after the colon"),
        (["%0 = tenon.mul %acc, 1.2.3 : tensor<MxNxA>"], "'1.2.3' is no number"),
        (["%0 = tenon.relu %acc : tensor<MxNxf32>"], "%acc has the type tensor<MxNxA> elsewhere"),
        (
            ["%0 = tenon.relu %acc {slope = 1.0} : tensor<MxNxA>"],
            "'slope = 1.0' is no attribute of tenon.relu, .* none",
        ),
        (["%acc = tenon.relu %acc : tensor<MxNxA>"], "%acc is there already"),
        (["%0 = tenon.add %acc, %1 : tensor<MxNxA>, tensor<NxT>"], "an operand cannot be called %1"),
        (["%0 = tenon.add %acc, %x : tensor<MxNxA>, tensor<NxT>"], "other than x, weight, y, acc"),
        (["%0 = tenon.relu %b : tensor<NxT>"], "the last op gives tensor<NxT>; it must give"),
    ],
)
def test_epilogue_errors(lines, message):
    with pytest.raises(EpilogueError, match=message):
        read_epilogue("mine", tuple(lines))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("output", ["f32", "f16", "bf16"])
def test_models_are_valid(dtype, output):
    """Tenon reads each named model: static and dynamic M, all types of results."""
    for i, (name, lines) in enumerate(NAMED.items()):
        source = Problem(read_epilogue(name, lines), 5, 6, 7, dtype, output, dynamic_m=i % 2 == 0).mlir()
        assert "tenon.linear" in tenon.lower(source, "simplify") + source
        assert ("tensor<?x7x" in source, "tensor<5x7x" in source) == (i % 2 == 0, i % 2 == 1)


def test_mlir_of_a_model():
    lines = (
        "%0 = tenon.add %acc, %bias : tensor<MxNxA>, tensor<NxT>",
        "%1 = tenon.gelu %0 approximate<tanh> : tensor<MxNxA>",
    )
    source = Problem(read_epilogue("mine", lines), 5, 6, 7, "tf32", "bf16").mlir()
    assert source == (
        "func.func @forward(%x: tensor<5x7xf32>, %weight: tensor<6x7xf32> {tenon.param}, "
        "%bias: tensor<6xf32> {tenon.param})\n"
        '    -> (tensor<5x6xbf16> {tenon.name = "y"}) {\n'
        "  %acc = tenon.linear %x, %weight precision<tf32> : (tensor<5x7xf32>, tensor<6x7xf32>) -> tensor<5x6xf32>\n"
        "  %0 = tenon.add %acc, %bias : tensor<5x6xf32>, tensor<6xf32>\n"
        "  %1 = tenon.gelu %0 approximate<tanh> : tensor<5x6xf32>\n"
        "  %y = tenon.cast %1 : tensor<5x6xf32> -> tensor<5x6xbf16>\n"
        "  return %y : tensor<5x6xbf16>\n}\n"
    )


def test_examples_of_the_guide():
    """The configurations in docs/Benchmarking.md are right, and its messages are those that are given."""
    guide = (CONFIGS.parents[1] / "docs" / "Benchmarking.md").read_text()
    blocks = [block.partition("```")[0] for block in guide.split("```json\n")[1:]]
    assert blocks and all(read_cases(json.loads(block)) for block in blocks)
    rows = [row.split(" | ") for row in guide.splitlines() if row.startswith("| `{")]
    assert len(rows) > 10
    for wrong, message in rows:
        with pytest.raises(ConfigError) as raised:
            read_cases(config() | json.loads(wrong.strip("| `")))
        assert str(raised.value).startswith(message.strip("| `").removesuffix("..."))


def test_own_configurations_go_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_config(Path("sm80")) == read_config(CONFIGS / "sm80.json")
    with pytest.raises(ConfigError, match="no such file, and none of .*sm80, sm80_ragged"):
        read_config(Path("sm81"))
