# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench --tune: the schedules that are measured, which one is taken, and the table of them."""

import dataclasses
from pathlib import Path

import pytest
import tenon
from tenon.bench.candidates import candidates
from tenon.bench.choice import FINALISTS, choose, finalists, near
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem
from tenon.bench.tune import MOST
from tenon.bench.tuned_table import HEADER, TYPES, Key, Line, TableError, key_of, read_table, update_table

STREAM_K = "stream_k = true, "
(TUNED,) = (Path(__file__).parents[2] / "lib").rglob("WgmmaTuned.inc")


def problem(m=1024, n=8192, k=8192, dtype="bf16", model="bias_relu", dynamic=False):
    output = "f32" if dtype in ("tf32", "fp32") else dtype
    return Problem(read_epilogue(model, NAMED[model]), m, n, k, dtype, output, dynamic)


def schedule(given, text):
    """Have the compiler take a schedule; return the IR with the strategy."""
    return tenon.lower(given.mlir(), "strategy", "sm_90a", strategy="tiled", schedule=text)


def facts(text):
    """Return what a schedule says, by key."""
    family, *parts = text.split(", ")
    return {"family": family} | dict(part.split(" = ") for part in parts)


def listed(given):
    return [facts(text) for text in candidates(given).schedules]


# Candidates


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32", "fp32"])
@pytest.mark.parametrize(
    "shape", [(1, 8, 64), (13, 4096, 4096), (128, 32768, 8192), (1024, 8192, 8192), (5000, 5000, 5000)]
)
def test_the_compiler_takes_every_candidate(dtype, shape):
    given = problem(*shape, dtype)
    found = candidates(given).schedules
    assert found and len(set(found)) == len(found)
    for text in found[:: max(1, len(found) // 20)]:
        assert f"#tenon.schedule<{text}>" in " ".join(schedule(given, text).split())


def test_stages_are_as_many_as_fit():
    most = {}
    for one in listed(problem()):
        most.setdefault((one["tile"], one["warps"], "ping_pong" in one), set()).add(int(one["stages"]))
    assert most["192x128x64", "4x1", True] == {4, 5}  # with ping-pong, beside a smaller epilogue too
    for (tile, warps, pair), counts in list(most.items())[::9]:
        assert len(counts) <= 2 if pair else len(counts) == 1
        text = (
            f"wgmma, tile = {tile}, warps = {warps}, stages = {max(counts) + 1}, swizzle = 128, raster = 8, blocks = 1"
        )
        if max(counts) < 12:
            with pytest.raises(tenon.CompileError, match="shared memory"):
                schedule(problem(), text + (", ping_pong = true" if pair else ""))


@pytest.mark.parametrize(("key", "line"), read_table(TUNED)[1].items(), ids=str)
def test_what_measured_best_is_measured_again(key, line):
    """The table's lines are listed, but for a stream-K that divides nothing; most come early enough."""
    dtype = "tf32" if key.dtype == "TF32ByFP16" else {name: dtype for dtype, name in TYPES.items()}[key.dtype]
    model = "bias_gelu_residual_clamp" if key.epilogue == "Heavy" else "bias_relu"
    found = candidates(problem(key.m, key.n, key.k, dtype, model))
    assert found.epilogue.capitalize() == key.epilogue
    places = [
        i for i, text in enumerate(found.schedules) if text in (line.schedule, line.schedule.replace(STREAM_K, ""))
    ]
    assert places
    assert places[0] < MOST or key.dtype == "TF32"  # by method fp16 tf32 is faster


def test_all_forms_and_choices_are_there():
    found = listed(problem(8192, 8192, 8192))
    assert {(c["warps"], "ping_pong" in c) for c in found} == {
        (warps, pair) for warps, pair in (("8x1", False), ("4x1", True), ("4x1", False))
    } | {(warps, pair) for warps, pair in (("1x8", False), ("1x4", True), ("1x4", False))}
    assert {c.get("cluster") for c in found} == {None, "2x1", "1x2"}
    assert {c["raster"] for c in found} == {"4", "8", "12", "16", "32"}
    assert {c.get("stream_k") for c in found} == {None, "true"}


def test_a_part_of_a_tile_is_deferred_where_a_next_one_hides_it():
    deferred = [c for c in listed(problem(4096, 4096, 4096)) if "defer" in c]
    assert {"256x128x64", "128x256x64"} <= {c["tile"] for c in deferred}
    assert all(c["warps"].startswith("1x") and not c.keys() & {"ping_pong", "stream_k"} for c in deferred)
    assert not any("defer" in c for c in listed(problem(4096, 4096, 1024)))  # 16 stages hide little
    # Two tiles a block, and one.
    assert any("defer" in c for c in listed(problem(1024, 8192, 4096)) if c["tile"] == "256x128x64")
    assert not any("defer" in c for c in listed(problem(1024, 4096, 4096)) if c["tile"] == "256x128x64")
    assert not any("defer" in c for c in listed(problem(4096, 4096, 4096, dtype="fp32")))


def test_tf32_by_halves_and_as_it_is():
    found = listed(problem(4096, 4096, 4096, dtype="tf32"))
    assert {(c["tile"].split("x")[2], c.get("method")) for c in found} == {("32", None), ("64", "fp16")}
    assert not any("method" in c for c in listed(problem(dtype="f16")))
    assert {c["method"] for c in listed(problem(k=1002, dtype="tf32"))} == {"fp16"}  # TMA cannot copy such rows
    assert {c["method"] for c in listed(problem(dtype="fp32"))} == {"fp16x3"}


def test_few_rows_are_multiplied_with_operands_swapped_too():
    swapped = [c for c in listed(problem(13, 4096, 4096)) if c["warps"].startswith("1x")]
    assert {c["tile"].split("x")[0] for c in swapped} == {"16", "8"}
    assert {c["tile"].split("x")[1] for c in swapped} == {"64", "128", "192", "256"}
    assert {c["warps"] for c in swapped} == {"1x4", "1x8"} and {c.get("stream_k") for c in swapped} == {None, "true"}
    assert listed(problem(13, 4096, 4096))[0]["warps"] == "1x4"  # others multiply 51 rows that are not there


def test_no_choice_without_a_difference():
    found = listed(problem(64, 4096, 4096))
    assert {c["raster"] for c in found} == {"8"}  # of one row of tiles all groups are alike
    assert not any(c.get("cluster") == "2x1" and int(c["tile"].split("x")[0]) >= 64 for c in found)
    whole = [c for c in listed(problem(1024, 132 * 16, 64)) if c["tile"] == "128x128x64" and "cluster" not in c]
    assert whole and not any("stream_k" in c for c in listed(problem(128 * 12, 128 * 11, 64)) if c in whole)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (problem(k=63, dtype="fp32"), "no kernel of family wgmma can have it"),
        (problem(dtype="fp32", dynamic=True), "M is dynamic"),
        (problem(k=1001), "no kernel of family wgmma can have it"),
        (problem(dynamic=True), "M is dynamic"),
        (problem(model="bias_scale_batch_norm"), "not that of the product's kernel alone"),
    ],
)
def test_problems_without_candidates(given, why):
    found = candidates(given)
    assert why in found.why_none and not found.schedules


def test_weight_of_an_epilogue():
    assert [name for name in NAMED if candidates(problem(model=name)).epilogue == "heavy"] == [
        "bias_gelu",
        "bias_silu",
        "bias_gelu_residual_clamp",
    ]
    residual = read_epilogue("mine", ("%0 = tenon.add %acc, %r : tensor<MxNxA>, tensor<MxNxT>",))
    assert candidates(dataclasses.replace(problem(), epilogue=residual)).epilogue == "heavy"


# The choice


def test_ties_go_to_the_earlier():
    assert choose({"a": 1.004, "b": 1.0, "c": 1.002}) == "a"
    assert choose({"a": 1.006, "b": 1.004, "c": 1.0}) == "b"
    assert choose({}) is None


def test_near_the_least():
    times = {str(i): 1.0 + i / 100 for i in range(9)}
    assert near(times) == list("012345") and near({"a": 2.0, "b": 1.0}) == ["a", "b"] and near({}) == []


def test_two_tunings_agree():
    """Noise of less than a tie changes nothing."""
    first = {"a": 1.0, "b": 1.003, "c": 1.05}
    second = {"a": 1.003, "b": 0.999, "c": 1.04}
    assert choose(first) == choose(second) == "a"
    many = {f"c{i}": 1.0 + 0.004 * (i % 2) for i in range(10)}
    others = {f"c{i}": 1.004 - 0.004 * (i % 2) for i in range(10)}
    assert finalists(many) == finalists(others) == [f"c{i}" for i in range(FINALISTS)]


def test_finalists_are_the_fastest_in_order():
    times = {f"c{i}": 2.0 - 0.1 * i for i in range(10)}
    assert finalists(times) == [f"c{i}" for i in range(4, 10)]
    assert finalists({"a": 1.0}) == ["a"] and finalists({}) == []


# The table

KEY = Key("BF16", "Light", 8192, 8192, 1024)
TEXT = "wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 2x1"


def test_table_is_written_and_read(tmp_path):
    path = tmp_path / "WgmmaTuned.inc"
    update_table(path, {KEY: Line(TEXT, "0.981")})
    assert path.read_text() == f'{HEADER}TUNED(BF16, 1024, 8192, 8192, Light, "{TEXT}") // 0.981\n'
    assert read_table(path) == (HEADER, {KEY: Line(TEXT, "0.981")}, "")


def test_other_lines_stay(tmp_path):
    path = tmp_path / "WgmmaTuned.inc"
    kept = 'TUNED(F16, 1, 2, 3, Heavy, "wgmma, tile = 64x64x64")\n'
    path.write_text(
        f'// Ours.\n#ifndef TUNED\n#endif\n\n{kept}TUNED(BF16, 1024,\n  8192, 8192, Light, "old")\n\n#undef TUNED\n'
    )
    update_table(path, {KEY: Line("new")})
    line = 'TUNED(BF16, 1024, 8192, 8192, Light, "new")\n'
    assert path.read_text() == f"// Ours.\n#ifndef TUNED\n#endif\n\n{line}{kept}\n#undef TUNED\n"
    path.write_text("// Nothing yet.\n#undef TUNED\n")
    update_table(path, {KEY: Line("new")})
    assert path.read_text() == f"// Nothing yet.\n{line}#undef TUNED\n"


def test_lines_are_in_order(tmp_path):
    keys = [
        key_of(problem(*shape, dtype), "light")
        for dtype in ("f16", "bf16")
        for shape in ((9, 8, 16), (2, 16, 8), (1, 8, 16))
    ]
    update_table(tmp_path / "t.inc", {key: Line("x") for key in keys})
    lines = [line for line in (tmp_path / "t.inc").read_text().splitlines() if line.startswith("TUNED")]
    assert [line[6:].split(", Light")[0] for line in lines] == [
        f"{dtype}, {shape}" for dtype in ("BF16", "F16") for shape in ("1, 8, 16", "9, 8, 16", "2, 16, 8")
    ]


def test_tables_that_cannot_be_read(tmp_path):
    path = tmp_path / "t.inc"
    path.write_text('TUNED(F16, 1, 2, 3, Heavy, "a")\nint x;\nTUNED(F16, 1, 2, 4, Heavy, "a")\n')
    with pytest.raises(TableError, match="t.inc' has 'int x;' among its lines; put it above or below"):
        update_table(path, {})
    with pytest.raises(TableError, match="cannot read"):
        read_table(tmp_path)


def test_keys():
    key = key_of(problem(2, 16, 8, "tf32"), "heavy")
    assert key == key.of_schedule("...") == Key("TF32", "Heavy", 16, 8, 2)
    assert key.of_schedule("..., method = fp16") == Key("TF32ByFP16", "Heavy", 16, 8, 2)
    split = key_of(problem(2, 16, 8, "fp32"), "light")
    assert split.of_schedule("..., method = fp16x3") == Key("FP32", "Light", 16, 8, 2)
