# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench --tune: the schedules that are measured, which one is taken, and the table of them."""

import dataclasses

import pytest
import tenon
from tenon.bench.candidates import MAX_STAGES, PING_PONG_BYTES, candidates, estimate, is_heavy, why_none
from tenon.bench.choice import FINALISTS, choose, finalists, near
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem
from tenon.bench.tune import MOST
from tenon.bench.tuned_table import HEADER, Key, Line, TableError, key_of, read_table, update_table


def problem(m=1024, n=8192, k=8192, dtype="bf16", model="bias_relu", dynamic=False):
    output = "f32" if dtype in ("tf32", "fp32") else dtype
    return Problem(read_epilogue(model, NAMED[model]), m, n, k, dtype, output, dynamic)


def schedule(given, text):
    """Have the compiler take a schedule; return the IR with the strategy."""
    return tenon.lower(given.mlir(), "strategy", "sm_90a", strategy="tiled", schedule=text)


# Candidates


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32", "fp32"])
@pytest.mark.parametrize(
    "shape", [(1, 8, 64), (13, 4096, 4096), (128, 32768, 8192), (1024, 8192, 8192), (5000, 5000, 5000)]
)
def test_the_compiler_takes_every_candidate(dtype, shape):
    given = problem(*shape, dtype)
    found = candidates(given)
    assert found and len({c.text(dtype) for c in found}) == len({c.name for c in found}) == len(found)
    for candidate in found[::7]:
        assert f"#tenon.schedule<{candidate.text(dtype).split(', stream_k')[0]}" in schedule(
            given, candidate.text(dtype)
        ).replace("\n", " ")


def test_stages_are_as_many_as_fit():
    found = candidates(problem())
    largest = {}
    for one in found:
        form = (one.tile, one.consumers, one.ping_pong)
        largest[form] = max(largest.get(form, one), one, key=lambda c: c.stages)
    for one in found:  # with ping-pong, beside a smaller epilogue too
        most = {one.most_stages} | ({one.stages_beside(PING_PONG_BYTES)} if one.ping_pong else set())
        assert 2 <= one.stages <= MAX_STAGES and one.stages in most
    assert {c.stages for c in found if c.tile == (192, 128) and c.ping_pong} == {4, 5}
    for one in (c for c in largest.values() if c.stages < MAX_STAGES):
        with pytest.raises(tenon.CompileError, match="shared memory"):
            schedule(problem(), dataclasses.replace(one, stages=one.stages + 1).text("bf16"))


def form(candidate):
    """Return what the fastest of a layer are told apart by."""
    return candidate.tile, candidate.warps, candidate.ping_pong, candidate.cluster


def test_likely_ones_come_first():
    first = candidates(problem())[0]
    assert (form(first), first.stages) == (((256, 128), "1x8", False, (1, 2)), 4)
    heavy = candidates(problem(16384, 4096, 4096, model="bias_gelu_residual_clamp"))[0]
    assert heavy.ping_pong  # an epilogue that is long beside the products hides under the next tile's
    times = [estimate(c, problem()) for c in candidates(problem())]
    assert times == sorted(times)
    assert candidates(problem()) == candidates(problem())


def test_all_forms_and_choices_are_there():
    found = candidates(problem(8192, 8192, 8192))[:600]
    forms = {(c.warpgroups, c.ping_pong) for c in candidates(problem(200, 4096, 4096))}
    assert forms == {(2, False), (1, True), (1, False)}
    assert {c.cluster for c in found} == {(1, 1), (2, 1), (1, 2)}
    assert {c.raster for c in found} == {4, 8, 12, 16, 32} and {c.stream_k for c in found} == {False, True}


@pytest.mark.parametrize(
    ("shape", "fastest"),
    [
        ((1024, 8192, 8192), [((256, 128), "1x8", False, (1, 2)), ((128, 256), "1x8", False, (2, 1))]),
        ((4096, 4096, 4096), [((256, 128), "1x8", False, (1, 2)), ((128, 256), "1x8", False, (2, 1))]),
        ((16384, 4096, 4096), [((192, 256), "1x8", False, (2, 1)), ((192, 128), "4x1", True, (1, 2))]),
        ((8192, 8192, 8192), [((192, 256), "1x8", False, (2, 1)), ((192, 128), "4x1", True, (1, 2))]),
    ],
)
def test_what_measured_best_is_measured_again(shape, fastest):
    """These were the fastest on an H200 (sm90a_swapped_large.json); --tune measures the first 48."""
    found = [form(c) for c in candidates(problem(*shape))[:MOST] if not c.stream_k]
    assert found.index(fastest[0]) < found.index(fastest[1])


def test_large_tiles_have_either_operand_first():
    """Each form is there with warps along M and along N; only the latter has 192 accumulators for two together."""
    found = candidates(problem(8192, 8192, 8192))
    kinds = {(c.warps, c.ping_pong) for c in found}
    assert kinds == {(f"{a}x{b}", p) for a, b, p in ((8, 1, False), (4, 1, True), (4, 1, False))} | {
        (f"{a}x{b}", p) for a, b, p in ((1, 8, False), (1, 4, True), (1, 4, False))
    }
    together = [c for c in found if c.consumers == 2 and not c.ping_pong]
    assert max(c.accumulators for c in together if c.swapped) == 192
    assert max(c.accumulators for c in together if not c.swapped) == 128
    swapped = {c.tile for c in found if c.swapped}
    assert swapped >= {(256, 128), (128, 256), (192, 256), (192, 128), (128, 192), (256, 64)}
    assert {n for _, n in swapped} == {64, 128, 192, 256}
    assert {c.cluster for c in found if c.swapped} == {(1, 1), (2, 1), (1, 2)}


def test_a_part_of_a_tile_is_deferred_where_a_next_one_hides_it():
    deferred = [c for c in candidates(problem(4096, 4096, 4096))[:MOST] if c.defer]
    assert {(256, 128), (128, 256)} <= {c.tile for c in deferred}
    assert all(c.swapped and c.accumulators <= 128 and not c.ping_pong and not c.stream_k for c in deferred)
    assert all("defer = true" in c.text("bf16") and c.name.endswith("-d") for c in deferred)
    assert not any(c.defer for c in candidates(problem(4096, 4096, 1024)))  # 16 stages hide little
    # Two tiles a block, and one.
    assert any(c.defer for c in candidates(problem(1024, 8192, 4096)) if c.tile == (256, 128))
    assert not any(c.defer for c in candidates(problem(1024, 4096, 4096)) if c.tile == (256, 128))
    assert not any(c.defer for c in candidates(problem(4096, 4096, 4096, dtype="fp32")))


def test_tf32_by_halves_comes_before_tf32_as_it_is():
    found = candidates(problem(4096, 4096, 4096, dtype="tf32"))
    assert all(c.method == "fp16" and c.accumulators <= 176 for c in found[:MOST])
    assert "256x128x64" in found[0].text("tf32") and found[0].text("tf32").endswith("method = fp16")
    direct = next(c for c in found if not c.method)
    assert "x32, " in direct.text("tf32") and "method" not in direct.text("tf32")
    assert not any(c.method for c in candidates(problem(dtype="f16")))


def test_widths_fill_waves():
    """With 176 columns each, 8 x 47 tiles are 2.85 waves of 132; with 192, 2.6 and as many rounds."""
    assert {c.tile for c in candidates(problem())} >= {(128, 176), (128, 256), (176, 128)}


def test_split_products_have_sums_beside_their_accumulators():
    found = candidates(problem(dtype="fp32"))
    assert {c.tile for c in found} >= {(128, 128), (128, 168), (128, 192), (256, 96), (64, 192)}
    assert max(c.accumulators for c in found) == 96
    assert (64, 192) in {c.tile for c in found if c.ping_pong}
    # 8 x 49 tiles of 168 are 2.97 waves, 8 x 47 of 176 2.85; only these can be in a cluster that shares rows of w.
    assert found[0].tile == (128, 168)
    assert (2, 1) in {c.cluster for c in found if c.tile == (128, 176)}
    assert estimate(found[0], problem(dtype="fp32")) > 2 * estimate(found[0], problem())


def test_few_rows_are_multiplied_with_operands_swapped_too():
    swapped = [c for c in candidates(problem(13, 4096, 4096)) if c.swapped]
    assert {c.tile[0] for c in swapped} == {16, 8} and {c.tile[1] for c in swapped} == {64, 128, 192, 256}
    assert {c.warps for c in swapped} == {"1x4", "1x8"} and {c.stream_k for c in swapped} == {False, True}
    assert not any(c.cluster == (1, 2) and c.tile[0] % 16 for c in swapped)
    assert candidates(problem(13, 4096, 4096))[0].swapped  # others multiply 51 rows that are not there
    assert not any(c.swapped and c.ping_pong for c in candidates(problem(256, 4096, 4096)))
    split = [c for c in candidates(problem(200, 4096, 4096, dtype="fp32")) if c.swapped]
    assert split and max(c.accumulators for c in split) <= 96


def test_no_choice_without_a_difference():
    found = candidates(problem(64, 4096, 4096))
    assert {c.raster for c in found} == {8}  # of one row of tiles all groups are alike
    assert not any(c.cluster == (2, 1) and c.tile[0] >= 64 for c in found)
    whole = [c for c in candidates(problem(1024, 132 * 16, 64)) if c.tile == (128, 128) and c.cluster == (1, 1)]
    assert whole and not any(c.stream_k for c in whole if (8 * -(-132 * 16 // 128)) % 132 == 0)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (problem(k=63, dtype="fp32"), "precision fp32 with K below 64"),
        (problem(dtype="fp32", dynamic=True), "M is dynamic"),
        (problem(k=1001), "no multiple of 16 bytes"),
        (problem(dynamic=True), "M is dynamic"),
        (problem(model="bias_scale_batch_norm"), "not that of the product's kernel alone"),
    ],
)
def test_problems_without_candidates(given, why):
    assert why in why_none(given) and candidates(given) == []


def test_rows_that_tma_cannot_copy_are_split():
    assert {c.method for c in candidates(problem(k=1002, dtype="tf32"))} == {"fp16"}


def test_weight_of_an_epilogue():
    assert [name for name in NAMED if is_heavy(problem(model=name))] == [
        "bias_gelu",
        "bias_silu",
        "bias_gelu_residual_clamp",
        "bias_batch_norm_gelu",
    ]
    residual = read_epilogue("mine", ("%0 = tenon.add %acc, %r : tensor<MxNxA>, tensor<MxNxT>",))
    assert is_heavy(dataclasses.replace(problem(), epilogue=residual))


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
        key_of(problem(*shape, dtype)) for dtype in ("f16", "bf16") for shape in ((9, 8, 16), (2, 16, 8), (1, 8, 16))
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
    assert key_of(problem(2, 16, 8, "tf32", "bias_gelu")) == Key("TF32", "Heavy", 16, 8, 2)
    assert key_of(problem(2, 16, 8, "tf32"), "..., method = fp16") == Key("TF32ByFP16", "Light", 16, 8, 2)
    assert key_of(problem(2, 16, 8, "fp32"), "..., method = fp16x3") == Key("FP32", "Light", 16, 8, 2)
