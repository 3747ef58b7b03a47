# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator of PTX itself: arithmetic whose bits matter, and what it must not let pass."""

import copy
import re
import shutil

import numpy as np
import pytest
from ptx_emulator import Device, PtxError
from ptx_emulator.floats import f32_to_bf16
from ptx_emulator.host import Model
from ptx_emulator.matrices import cut

HEADER = """
.version 8.0
.target sm_90a
.address_size 64
.visible .global .align 8 .u64 counter;
.visible .entry kernel(.param .u64 x, .param .u64 y)
.reqntid 64
{
  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %d<8>;
  .shared .align 16 .b8 buffer[1024];
  ld.param.u64 %d0, [x];
  ld.param.u64 %d1, [y];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d0, %d0, %d2;
  add.s64 %d1, %d1, %d2;
  mov.u32 %r9, buffer;
  shl.b32 %r8, %r0, 2;
  add.s32 %r8, %r8, %r9;
"""
NUMBERS = np.random.default_rng(0)


def run(body, x=None, extent=64):
    device = Device(HEADER + body + "ret;\n}")
    x = np.arange(64, dtype=np.uint32) if x is None else x
    y = device.empty((extent,), np.uint32)
    device.launch("kernel", 1, [device.put(x), y])
    return device, y


def compute(body, x=None):
    device, y = run(f"ld.global.b32 %r1, [%d0];\n{body}\nst.global.b32 [%d1], %r2;\n", x)
    return device.get(y)


def fails(body, match, **kwargs):
    with pytest.raises(PtxError, match=match):
        run(body, **kwargs)


def test_integers():
    x = NUMBERS.integers(0, 1 << 32, 64, dtype=np.uint32)
    signed = x.view(np.int32)
    assert (compute("mul.hi.u32 %r2, %r1, -858993459;", x) == x.astype(np.uint64) * 3435973837 >> 32).all()
    assert (compute("shr.s32 %r2, %r1, 40;", x).view(np.int32) == signed >> 31).all()
    assert (compute("shl.b32 %r2, %r1, 33;", x) == 0).all()
    assert (compute("min.s32 %r2, %r1, -5;", x).view(np.int32) == np.minimum(signed, -5)).all()
    assert (compute("prmt.b32 %r2, %r1, %r1, 0x0123;", x) == x.byteswap()).all()
    assert (compute("bfe.u32 %r2, %r1, 7, 5;", x) == (x >> 7) % 32).all()
    assert (compute("bfe.s32 %r2, %r1, 7, 5;", x).view(np.int32) == signed << 20 >> 27).all()
    assert (compute("bfe.s32 %r2, %r1, 30, 5;", x).view(np.int32) == signed >> 30).all()
    assert (compute("bfe.s32 %r2, %r1, 7, 0;", x) == 0).all()
    quotients = np.trunc(signed.astype(np.float64) / -7).astype(np.int32)
    assert (compute("div.s32 %r2, %r1, -7;", x).view(np.int32) == quotients).all()


def test_sums_of_tensor_cores_are_cut():
    exact = np.array([1 + 2.0**-24, -1 - 2.0**-23 - 2.0**-24, 3.0, np.inf, np.nan])
    assert np.array_equal(cut(exact), np.float32([1, -1 - 2.0**-23, 3, np.inf, np.nan]), equal_nan=True)


def test_bf16_rounds_to_even():
    values = np.float32([1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-8 - 2.0**-20, np.inf])
    assert f32_to_bf16(values).tolist() == [0x3F80, 0x3F82, 0xBF81, 0x7F80]


def test_conversions():
    x = np.float32([1.5, 2.5, -0.5, 3e9, -3e9, np.nan, 65520, 1e-8] * 8)
    bits = x.view(np.uint32)
    assert compute("cvt.rni.s32.f32 %r2, %r1;", bits).view(np.int32)[:6].tolist() == [2, 2, 0, 2**31 - 1, -(2**31), 0]
    halves = compute("cvt.rn.f16.f32 %h0, %r1; mov.b32 %r2, {%h0, %h0};", bits)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    assert np.array_equal((halves & 0xFFFF).astype(np.uint16).view(np.float16), expected, equal_nan=True)


def test_threads_that_diverge_meet_again():
    body = """
    and.b32 %r1, %r0, 1; setp.eq.b32 %p0, %r1, 0; mov.b32 %r3, 0; @%p0 bra EVEN;
    LOOP: add.s32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r0; @%p1 bra LOOP;
    EVEN: redux.sync.max.u32 %r2, %r3, -1; st.global.b32 [%d1], %r2;
    """
    device, y = run(body)
    assert device.get(y).tolist() == [31] * 32 + [63] * 32


def jump(index: str) -> str:
    return f"""
    {index} mov.b32 %r2, 0;
    TARGETS: .branchtargets ONE, TWO,
        ONE; brx.idx %r1, TARGETS;
    ONE: add.s32 %r2, %r2, 1;
    TWO: add.s32 %r2, %r2, 2; st.global.b32 [%d1], %r2;
    """


@pytest.mark.parametrize(("index", "expected"), [(0, 3), (1, 2), (2, 3)])
def test_jumps_through_a_list_of_labels(index, expected):
    device, y = run(jump(f"mov.b32 %r1, {index};"))
    assert device.get(y).tolist() == [expected] * 64


def test_atomics_and_variables():
    device, _ = run("mov.u64 %d3, counter; mov.u64 %d4, 2; red.global.add.u64 [%d3], %d4;")
    assert device.variable("counter", np.uint64) == [128]


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("ld.shared.b32 %r1, [%r8];", "read before anything is written"),
        ("add.s32 %r1, %r2, %r3;", "reads what nothing wrote.*%r2, %r3"),
        ("ld.global.b32 %r1, [%d1];", "read before anything is written"),
        ("ld.global.b32 %r1, [%d0+4];", "thread 63 of 64.*in no buffer"),
        ("st.global.b32 [%d1+4], %r0;", "thread 63 of 64.*in no buffer"),
        ("st.shared.b32 [%r8+800], %r0;", "thread 56 of 64.*outside of shared"),
        ("ld.global.v2.b32 {%r1, %r2}, [%d0];", "thread 1 of 64.*no multiple of the access's size"),
        ("bfind.u32 %r1, %r0;", "not known to the emulator"),
        ("add.sat.s32 %r1, %r0, 1;", "not known to the emulator"),
        ("setp.eq.b32 %p0, %r0, 3; @%p0 bra OUT; bar.sync 0; OUT:", "stuck"),
        ("setp.gt.u32 %p0, %r0, 31; @%p0 bra OUT; bar.sync 0; OUT:", r"stuck[\s\S]*barrier \[0\], 64 threads"),
        ("setp.eq.b32 %p0, %r0, 3; @%p0 bra OUT; redux.sync.add.u32 %r1, %r0, -1; OUT: ret;", "the rest of its warp"),
        (jump("and.b32 %r1, %r0, 1;"), "jump apart"),
        (jump("mov.b32 %r1, 3;"), "3 targets, and none of number 3"),
        ("brx.idx %r0, TARGETS;", "no label"),
        ("add.s16 %h0, %r0, 1;", "has 32 bits, not 16"),
        ("mov.u64 %d3, 3; mbarrier.arrive.shared::cta.b64 _, [%r8];", "no initialised mbarrier"),
    ],
)
def test_refuses(body, match):
    fails(body, match)


def test_copies_land_when_they_are_waited_for():
    copy = "cp.async.ca.shared.global [%r8], [%d0], 4; cp.async.commit_group;"
    rest = "ld.shared.b32 %r2, [%r8]; st.global.b32 [%d1], %r2;"
    device, y = run(f"{copy} cp.async.wait_group 0; {rest}")
    assert device.get(y).tolist() == list(range(64))
    fails(f"{copy} {rest}", "before a copy has come")
    fails(f"{copy} cp.async.wait_group 1; {rest}", "before a copy has come")


def test_results_must_be_written():
    device, y = run("setp.lt.u32 %p0, %r0, 60; @%p0 st.global.b32 [%d1], %r0;")
    with pytest.raises(PtxError, match=r"16 of 256 bytes of a result were never written, first at \(np.int64\(60\),\)"):
        device.get(y)


# Compiled kernels, broken on purpose

needs_ptxas = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")
SCHEDULES = {
    "sm_80": "mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 4, blocks = 1",
    "sm_90a": "wgmma, tile = 64x16x64, warps = 4x1, stages = 3, swizzle = 128, raster = 4, blocks = 1",
}
M, N, K = 70, 24, 200


@pytest.fixture(scope="module", params=sorted(SCHEDULES))
def product(request, tmp_path_factory):
    """Give a target and a compiled product of f16."""
    types = [f"memref<{shape}xf16>" for shape in (f"?x{K}", f"{N}x{K}", f"?x{N}")]
    source = f"""
func.func @product(%x: {types[0]}, %w: {types[1]}, %y: {types[2]}) {{
  tenon.tiled_linear %x, %w : {types[0]}, {types[1]}
      epilogue(%acc: tensor<?x{N}xf32>) outs(%y: {types[2]})
      schedule<{SCHEDULES[request.param]}> {{
    %0 = tenon.cast %acc : tensor<?x{N}xf32> -> tensor<?x{N}xf16>
    tenon.yield %0 : tensor<?x{N}xf16>
  }}
  return
}}"""
    return request.param, Model(source, request.param, tmp_path_factory.mktemp("product"))


def multiply(model, seed=None):
    x, w = (NUMBERS.standard_normal(shape).astype(np.float16) for shape in ((M, K), (N, K)))
    y = model.device.empty((M, N), np.float16)
    model.device.seed = seed
    model.run("product", x, w, y)
    expected = x.astype(np.float64) @ w.astype(np.float64).T
    return bool((np.abs(model.device.get(y) - expected) <= 2.0**-11 * np.abs(expected) + 1e-3).all())


def broken(model, pattern, replacement):
    """Return the model with its PTX changed."""
    ptx, count = re.subn(pattern, replacement, model.ptx)
    assert count
    changed = copy.copy(model)
    changed.device = Device(ptx)
    return changed


@needs_ptxas
def test_a_product_is_right(product):
    assert multiply(product[1]) and multiply(product[1], seed=1)


@needs_ptxas
@pytest.mark.parametrize("product", ["sm_80"], indirect=True)
def test_barriers_matter_in_random_order(product):
    without = broken(product[1], r"bar\.sync", "//")
    assert multiply(without)  # in step
    assert not all(multiply(without, seed) for seed in range(3))


@needs_ptxas
@pytest.mark.parametrize(
    ("product", "before", "after", "match"),
    [
        ("sm_80", "cp.async.wait_group", "//", None),
        ("sm_80", "cp.async.wait_group \t1", "cp.async.wait_group 2", None),
        ("sm_90a", "wgmma.wait_group.sync.aligned 0;", "", "a wgmma in flight"),
        ("sm_90a", "wgmma.commit_group.sync.aligned;", "", "a wgmma in flight"),
        (
            "sm_90a",
            "mbarrier.try_wait.parity.shared.b64 P1",
            "setp.eq.b32 P1, 0, 0; //",
            "before a copy has come|changed",
        ),
        ("sm_90a", "mbarrier.arrive.shared::cta.b64 _", "//", "stuck"),
        ("sm_90a", r"arrive\.expect_tx(\S+ _, \[%r\d+\]), %r\d+", r"arrive\1", "before a copy has come"),
        ("sm_90a", r"createpolicy\S+(\s+%rd\d+), 1.0", r"mov.b64\1, 5", "policy that createpolicy has not given"),
    ],
    indirect=["product"],
)
def test_a_kernel_that_lost_a_step_is_caught(product, before, after, match):
    model = broken(product[1], before, after)
    if match is None:
        assert not multiply(model)
        return
    with pytest.raises(PtxError, match=match):
        multiply(model)
