# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.split gives the bits that its definition says, on the CPU."""

import numpy as np
import pytest
import split_reference as reference

torch = pytest.importorskip("torch")
import tenon  # noqa: E402

EXTENTS = [1, 7, 8, 31, 32, 33, 64, 100, 8192]


def type_of(m: int | str, n: int, element: str) -> str:
    return f"tensor<{m}x{n}x{element}>"


def source(extents: list[int], m: int | str = "?") -> str:
    """Return a function that splits one x for each K, in one part and in two."""
    arguments, body, values, types = [], [], [], []
    for k in extents:
        x = type_of(m, k, "f32")
        arguments.append(f"%x{k}: {x}")
        for parts in (1, 2):
            halves, factors = f"%h{k}_{parts}", f"%f{k}_{parts}"
            results = [type_of(m, reference.columns(k, parts), "f16"), type_of(m, 1, "f32")]
            body.append(f"  {halves}, {factors} = tenon.split %x{k} : ({x}) -> ({', '.join(results)})")
            values += [halves, factors]
            types += results
    return "\n".join(
        [
            f"func.func @forward({', '.join(arguments)}) -> ({', '.join(types)}) {{",
            *body,
            f"  return {', '.join(values)} : {', '.join(types)}",
            "}",
        ]
    )


def run(model, xs: list[np.ndarray]) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
    """Return halves and factors by K and number of parts."""
    results = iter(model(*map(torch.from_numpy, xs)))
    return {(x.shape[1], parts): (next(results).numpy(), next(results).numpy()) for x in xs for parts in (1, 2)}


def check_bits(x: np.ndarray, parts: int, halves: np.ndarray, factors: np.ndarray):
    expected, expected_factors, _ = reference.split(x, parts)
    np.testing.assert_array_equal(factors.view(np.uint32), expected_factors.view(np.uint32))
    # A NaN's payload and sign are open.
    isnan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(halves), isnan)
    np.testing.assert_array_equal(halves.view(np.uint16)[~isnan], expected.view(np.uint16)[~isnan])


@pytest.fixture(scope="module")
def model():
    return tenon.compile(source(EXTENTS), "cpu")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return [np.concatenate([reference.special_rows(k, rng), reference.tie_rows(k, rng)]) for k in EXTENTS]


@pytest.fixture(scope="module")
def results(model, rows):
    return run(model, rows)


CASES = [(k, parts) for k in EXTENTS for parts in (1, 2)]


@pytest.mark.parametrize(("k", "parts"), CASES)
def test_bits(rows, results, k, parts):
    check_bits(rows[EXTENTS.index(k)], parts, *results[k, parts])


@pytest.mark.parametrize(("k", "parts"), CASES)
def test_factors_are_powers_of_two(results, k, parts):
    mantissas, _ = np.frexp(np.abs(results[k, parts][1]))
    assert (mantissas == 0.5).all()


@pytest.mark.parametrize(("k", "parts"), CASES)
def test_columns_beyond_k_are_zero(results, k, parts):
    halves = results[k, parts][0].view(np.uint16)
    if parts == 2:
        halves = np.concatenate(np.split(halves.reshape(len(halves), -1, 2, 32), 2, axis=2), axis=2)
        halves = halves.transpose(0, 2, 1, 3).reshape(2 * len(halves), -1)
    assert not halves[:, k:].any()


@pytest.mark.parametrize(("k", "parts"), CASES)
def test_parts_are_close(rows, results, k, parts):
    """What is lost is small against the row's largest, whatever the factor's sign (split-R6)."""
    halves, factors = results[k, parts]
    finite = np.isfinite(rows[EXTENTS.index(k)]).all(axis=1)
    x = rows[EXTENTS.index(k)][finite].astype(np.float64)
    error = np.abs(reference.join(halves[finite], factors[finite], k, parts) - x)
    own = 2.0**-11 if parts == 1 else 2.0**-23
    largest = np.abs(x).max(axis=1, keepdims=True)
    assert (error <= np.maximum(own * np.abs(x), 2.0**-39 * largest)).all()


@pytest.mark.parametrize(("k", "parts"), CASES)
def test_rows_inside_keep_their_digits(rows, results, k, parts):
    """Of a row whose factor is positive at least 63 elements in 64 keep them, and there are 64 with two parts."""
    halves, factors = results[k, parts]
    inside = factors[:, 0] > 0
    assert 0 < inside.sum() < len(factors)
    x = rows[EXTENTS.index(k)][inside].astype(np.float64)
    joined = reference.join(halves[inside], factors[inside], k, parts)
    lost = np.abs(joined - x) > np.float64(reference.tolerance(k, parts)) * (1 + 2.0**-23) * np.abs(x)
    count = (x != 0).sum(axis=1)
    assert (64 * lost.sum(axis=1) <= count).all()
    if parts == 2:
        assert ((count == 0) | (count >= 64)).all()


@pytest.mark.parametrize("k", [128, 1024, 4096, 16384])
def test_what_small_elements_lose_sums_of_so_many_lose_too(k):
    """Where w is zero beside all large elements, as many small ones as may be err in sum as f32's sum of them."""
    rng, small = np.random.default_rng(k), k // 2 - 32
    smallest = 2.0**-39 / float(reference.tolerance(k, 2))
    x = (rng.uniform(1, 2, (64, k)) * smallest * rng.choice([-1, 1], (64, k))).astype(np.float32)
    x[:, small:] = 1.0
    halves, factors, _ = reference.split(x, 2)
    assert (factors > 0).all()
    w = rng.standard_normal(k).astype(np.float32)
    w[small:] = 0.0
    exact = x.astype(np.float64) @ w.astype(np.float64)
    by_parts = reference.join(halves, factors, k, 2) @ w.astype(np.float64)
    in_turn = np.cumsum(x * w, axis=1, dtype=np.float32)[:, -1]
    assert np.square(by_parts - exact).mean() <= 1.5 * k / small * np.square(in_turn - exact).mean()


def test_rows_of_small_elements_are_outside():
    """Of a long row no more than half may lose few digits."""
    x = np.full((2, 4096), 2.0**-18 * (1 + 2.0**-11 + 2.0**-21), np.float32)
    x[:, :64] = 1.0
    x[1, :2080] = 1.0
    _, factors, lost = reference.split(x, 2)
    assert not lost.any()
    assert np.sign(factors[:, 0]).tolist() == [-1, 1]


def test_every_kind_of_row_is_told_apart(rows, results):
    """The rows have both signs of factor for both numbers of parts, and differ between these."""
    one, two = (np.sign(results[8192, parts][1][:, 0]) for parts in (1, 2))
    assert {-1, 1} == set(one) == set(two)
    assert (one != two).any()


@pytest.mark.parametrize("m", [0, 1, 2, 1000])
def test_dynamic_m(model, m):
    rng = np.random.default_rng(m)
    xs = [rng.standard_normal((m, k)).astype(np.float32) for k in EXTENTS]
    for (k, parts), (halves, factors) in run(model, xs).items():
        assert halves.shape == (m, reference.columns(k, parts))
        assert factors.shape == (m, 1)
        if m:
            check_bits(xs[EXTENTS.index(k)], parts, halves, factors)


@pytest.mark.parametrize("m", [1, 3])
def test_static_m(m):
    rng = np.random.default_rng(m)
    few = [7, 100]
    xs = [rng.standard_normal((m, k)).astype(np.float32) for k in few]
    for (k, parts), (halves, factors) in run(tenon.compile(source(few, m), "cpu"), xs).items():
        check_bits(xs[few.index(k)], parts, halves, factors)
