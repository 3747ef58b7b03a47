# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of tenon.split, run by the emulator of PTX: every bit beside the definition, split_reference.py."""

import shutil

import numpy as np
import pytest
import split_reference as reference
from ptx_emulator.host import Model

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

# Padding, rows of one warp and of several, vectors of each width, rows that are read twice with and without a rest.
WIDTHS = (1, 7, 20, 31, 32, 33, 64, 100, 1000, 1024, 1025, 1030, 8192, 16384, 36868)
SPLITS = [(k, parts) for k in WIDTHS for parts in (1, 2)]
# Of a transpose: fewer tiles than warps and more, the last one whole and not.
HEIGHTS = (1, 7, 31, 32, 33, 64, 100, 300, 1030)
TRANSPOSED_SPLITS = [(k, parts, None) for k in HEIGHTS for parts in (1, 2)]
# So many columns that panels are wider.
TRANSPOSED_SPLITS += [(33, 2, 2060), (70, 1, 2060), (33, 2, 4100), (70, 1, 4100)]
ROWS = 6  # of many elements
NON_FINITE = 3


def source(k, parts):
    x, halves = f"memref<?x{k}xf32>", f"memref<?x{reference.columns(k, parts)}xf16>"
    return f"""
func.func @k{k}_p{parts}(%x: {x}, %halves: {halves}, %factors: memref<?x1xf32>) {{
  tenon.split %x outs(%halves, %factors) : ({x}, {halves}, memref<?x1xf32>) -> ()
  return
}}"""


def choose_columns(k, m):
    rows = choose_rows(k)
    return np.resize(rows, (m or len(rows), k))


def transposed_source(k, parts, m):
    name, m = f"t{k}_p{parts}_m{m}", len(choose_columns(k, m))
    x, halves = f"memref<{k}x{m}xf32>", f"memref<{m}x{reference.columns(k, parts)}xf16>"
    return f"""
func.func @{name}(%x: {x}, %halves: {halves}, %factors: memref<{m}x1xf32>) {{
  tenon.split %x transposed outs(%halves, %factors) : ({x}, {halves}, memref<{m}x1xf32>) -> ()
  return
}}"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Give all kernels in one module: compiling them takes longer than running them."""
    sources = [source(*split) for split in SPLITS] + [transposed_source(*split) for split in TRANSPOSED_SPLITS]
    return Model("".join(sources), "sm_80", tmp_path_factory.mktemp("split"))


def choose_rows(k):
    """Return rows of all kinds, or some of them."""
    random = np.random.default_rng(k)
    rows = np.concatenate([reference.special_rows(k, random), reference.tie_rows(k, random)])
    if k <= 1024:
        return rows
    is_finite = np.isfinite(rows).all(axis=1)
    chosen = random.choice(np.flatnonzero(is_finite), ROWS - NON_FINITE, replace=False)
    return rows[np.concatenate([chosen, np.flatnonzero(~is_finite)[:NON_FINITE]])]


def check(model, name, x, parts, is_transposed=False, shift=0, halves_shift=0):
    device = model.device
    expected, expected_factors, _ = reference.split(x, parts)
    assert (expected_factors < 0).any() and (expected_factors > 0).any()
    before = device.variable("tenon_rows_outside", np.uint64)[0]
    halves = device.empty(expected.shape, expected.dtype, halves_shift)
    factors = device.empty(expected_factors.shape, expected_factors.dtype)
    model.run(name, device.put(np.ascontiguousarray(x.T) if is_transposed else x, shift), halves, factors)
    got, got_factors = device.get(halves), device.get(factors)
    same_bits = got.view(np.uint16) == expected.view(np.uint16)
    assert (same_bits | np.isnan(got) & np.isnan(expected)).all()
    assert (got_factors.view(np.uint32) == expected_factors.view(np.uint32)).all()
    assert device.variable("tenon_rows_outside", np.uint64)[0] - before == (expected_factors < 0).sum()


@pytest.mark.parametrize(("k", "parts", "m"), TRANSPOSED_SPLITS)
def test_split_of_a_transpose(model, k, parts, m):
    x, name, device = choose_columns(k, m), f"t{k}_p{parts}_m{m}", model.device
    model.launched.clear()
    model.groups = None
    # Where two neighbours are stored at a time, and where they are stored one by one.
    for halves_shift in (0, 2):
        # In a random order of warps, which shows missing barriers, but takes long.
        device.seed = 1 if k == 300 and halves_shift == 0 else None
        check(model, name, x, parts, is_transposed=True, halves_shift=halves_shift)
    kernels = {kernel for kernel in device.module.kernels if kernel.startswith(f"{name}_")}
    assert len(kernels) == 2 and kernels == set(model.launched)


@pytest.mark.parametrize(("k", "parts"), SPLITS)
def test_split(model, k, parts):
    x, name, device = choose_rows(k), f"k{k}_p{parts}", model.device
    model.launched.clear()
    # As the host launches it, and in so few groups that each takes several turns; with vectors and without.
    for shift in (0, 4):
        for model.groups in (None, 2):
            # In a random order of warps, which shows missing barriers, but takes long.
            device.seed = 1 if 1024 < k <= 8192 and shift == 0 and model.groups else None
            check(model, name, x, parts, shift=shift)
    kernels = {kernel for kernel in device.module.kernels if kernel.startswith(f"{name}_")}
    assert kernels and kernels == set(model.launched)
