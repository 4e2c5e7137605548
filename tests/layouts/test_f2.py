"""Algebra over F2 against definitions by enumeration."""

from hypothesis import given
from hypothesis import strategies as st

from minitriton.layouts import f2

vectors = st.lists(st.integers(0, 63), max_size=7)


@given(vectors)
def test_the_rank_is_the_logarithm_of_the_number_of_combinations(columns: list[int]) -> None:
    assert 1 << f2.rank(columns) == len(set(f2.span(columns)))


@given(vectors, st.integers(0, 127))
def test_span_lists_the_image_of_every_input(columns: list[int], value: int) -> None:
    value %= 1 << len(columns)
    assert f2.span(columns)[value] == f2.apply(columns, value)


@given(vectors)
def test_transposing_twice_gives_the_matrix_back(columns: list[int]) -> None:
    assert f2.transpose(f2.transpose(columns, 6), len(columns)) == columns


@given(vectors, vectors)
def test_solve_finds_the_smallest_solution_if_there_is_one(a: list[int], b: list[int]) -> None:
    solution = f2.solve(a, b, 6)
    image = f2.span(a)
    if solution is None:
        assert not set(b) <= set(image)
    else:
        assert [f2.apply(a, x) for x in solution] == b
        independent = [i for i in range(len(a)) if f2.rank(a[: i + 1]) > f2.rank(a[:i])]
        assert all(x & ~sum(1 << i for i in independent) == 0 for x in solution)


@given(vectors)
def test_reduced_rows_have_distinct_lowest_bits_that_no_other_row_has(rows: list[int]) -> None:
    reduced = f2.reduced_rows(rows)
    for row in reduced:
        assert [other for other in reduced if other & row & -row] == [row]
    assert set(f2.span(reduced)) == set(f2.span(rows))
