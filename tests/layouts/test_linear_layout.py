"""`LinearLayout`: Triton's methods and their meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitriton.errors import MinitritonError
from minitriton.layouts.algebra import divide_left
from minitriton.layouts.linear_layout import LinearLayout, supremum

identity = LinearLayout.identity_1d


@st.composite
def layouts(draw: st.DrawFn, ins: tuple[str, ...] = ("a", "b"), outs: tuple[str, ...] = ("x", "y")) -> LinearLayout:
    sizes = {out: 1 << draw(st.integers(0, 3)) for out in outs}
    basis = st.tuples(*(st.integers(0, size - 1) for size in sizes.values()))
    return LinearLayout({dim: draw(st.lists(basis, max_size=3)) for dim in ins}, sizes)


@st.composite
def surjections(
    draw: st.DrawFn, ins: tuple[str, ...] = ("a", "b"), outs: tuple[str, ...] = ("x", "y"), copies: int = 2
) -> LinearLayout:
    """Unit vectors and up to `copies` more, shuffled and mixed with each other."""
    sizes = {out: 1 << draw(st.integers(0, 3)) for out in outs}
    bits = sum(size.bit_length() - 1 for size in sizes.values())
    columns = [1 << i for i in range(bits)] + draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=copies))
    columns = draw(st.permutations(columns))
    if columns:
        place = st.integers(0, len(columns) - 1)
        for i, j in draw(st.lists(st.tuples(place, place), max_size=8)):
            columns[i] ^= columns[j] if i != j else 0
    cut = draw(st.integers(0, len(columns)))
    flat = LinearLayout(
        {ins[0]: [(c,) for c in columns[:cut]], ins[1]: [(c,) for c in columns[cut:]]}, {"o": 1 << bits}
    )
    return flat.reshape_outs(sizes)


def points(layout: LinearLayout) -> list[dict[str, int]]:
    found: list[dict[str, int]] = [{}]
    for dim, size in layout.in_dims.items():
        found = [{**point, dim: i} for point in found for i in range(size)]
    return found


def test_identity_strided_and_zeros_do_what_they_say() -> None:
    assert [identity(8, "i", "o").apply({"i": i})["o"] for i in range(8)] == list(range(8))
    strided = LinearLayout.strided_1d(4, 2, "i", "o")
    assert [strided.apply({"i": i})["o"] for i in range(4)] == [0, 2, 4, 6]
    assert strided.out_dims == {"o": 8}
    assert not strided.is_surjective()
    widened = LinearLayout.zeros_1d(8, "i", "o", outDimSize=4)
    assert {widened.apply({"i": i})["o"] for i in range(8)} == {0}
    assert not widened.is_surjective()
    assert LinearLayout.zeros_1d(8, "i", "o").is_surjective()


def test_from_bases_finds_the_smallest_sizes() -> None:
    layout = LinearLayout.from_bases({"in": [(1, 0), (5, 1), (2, 2)], "i2": [(0, 1), (0, 2)]}, ["o1", "o2"])
    assert layout.out_dims == {"o1": 8, "o2": 4}


def test_from_bases_takes_triton_s_list_of_pairs() -> None:
    layout = LinearLayout.from_bases([("in0", [[1, 0], [2, 0]]), ("in1", [[0, 1], [0, 2]])], ["out0", "out1"])
    assert layout.get_matrix_view() == [[int(r == c) for c in range(4)] for r in range(4)]


@pytest.mark.parametrize(
    ("bases", "out_dims", "message"),
    [
        ({"i": [[4]]}, {"o": 4}, "less than the out-dim size"),
        ({"i": [[-1]]}, {"o": 4}, "non-negative"),
        ({"i": [[1, 0]]}, {"o": 4}, "one per out-dim"),
        ({"i": [[1]]}, {"o": 3}, "power of 2"),
    ],
)
def test_bases_that_do_not_fit_are_refused(bases: dict, out_dims: dict, message: str) -> None:
    with pytest.raises(MinitritonError, match=message):
        LinearLayout(bases, out_dims)


def test_a_layout_that_should_be_surjective_and_is_not_is_refused() -> None:
    with pytest.raises(MinitritonError, match="expected to be surjective"):
        LinearLayout.from_bases({"i": [[1], [4]]}, ["o"])


@given(layouts())
def test_every_image_is_the_xor_of_the_images_of_the_set_bits(layout: LinearLayout) -> None:
    for point in points(layout):
        want = [0, 0]
        for dim, index in point.items():
            for i, basis in enumerate(layout.bases[dim]):
                if index >> i & 1:
                    want = [w ^ b for w, b in zip(want, basis, strict=True)]
        assert list(layout.apply(point).values()) == want


@given(layouts())
def test_surjective_injective_and_invertible_agree_with_enumeration(layout: LinearLayout) -> None:
    images = [tuple(layout.apply(point).values()) for point in points(layout)]
    assert layout.is_surjective() == (len(set(images)) == layout.get_total_out_dim_size())
    assert layout.is_injective() == (len(set(images)) == len(images))
    assert layout.is_invertible() == (len(set(images)) == len(images) == layout.get_total_out_dim_size())


def test_products_over_shared_and_distinct_dims() -> None:
    assert identity(4, "i", "o") * identity(2, "i", "o") == identity(8, "i", "o")
    both = identity(4, "i1", "o1") * identity(8, "i2", "o2")
    assert both.apply({"i1": 3, "i2": 5}) == {"o1": 3, "o2": 5}
    modulo = identity(4, "i", "o") * LinearLayout.zeros_1d(2, "i", "o")
    assert [modulo.apply({"i": i})["o"] for i in range(8)] == [i % 4 for i in range(8)]
    halved = LinearLayout.zeros_1d(2, "i", "o") * identity(4, "i", "o")
    assert [halved.apply({"i": i})["o"] for i in range(8)] == [i // 2 for i in range(8)]
    split = identity(4, "i", "o1") * identity(8, "i", "o2")
    assert [split.apply({"i": i}) for i in range(32)] == [{"o1": i % 4, "o2": i // 4} for i in range(32)]


@given(layouts(), layouts(), layouts())
def test_products_are_associative_and_have_the_empty_layout_as_unit(
    a: LinearLayout, b: LinearLayout, c: LinearLayout
) -> None:
    assert (a * b) * c == a * (b * c)
    assert a * LinearLayout.empty() == LinearLayout.empty() * a == a


def test_the_supremum_keeps_both_orders_and_prefers_the_first() -> None:
    assert supremum(("a", "b"), ("a", "c")) == ("a", "b", "c")
    assert supremum(("a", "b"), ("b", "c")) == ("a", "b", "c")
    assert supremum(("b",), ("a", "b")) == ("a", "b")
    with pytest.raises(MinitritonError, match="Supremum"):
        supremum(("a", "b"), ("b", "a"))


@given(layouts(outs=("x", "y")), st.data())
def test_composition_is_applying_one_after_the_other(inner: LinearLayout, data: st.DataObject) -> None:
    outs = {"u": 8, "v": 2}
    basis = st.tuples(st.integers(0, 7), st.integers(0, 1))
    bases = {d: [data.draw(basis) for _ in range(size.bit_length() - 1)] for d, size in inner.out_dims.items()}
    outer = LinearLayout(bases, outs)
    composed = inner.compose(outer)
    for point in points(inner):
        assert composed.apply(point) == outer.apply(inner.apply(point))


@given(surjections(copies=0))
def test_the_inverse_undoes_the_layout_both_ways(layout: LinearLayout) -> None:
    inverse = layout.invert()
    for point in points(layout):
        assert inverse.apply(layout.apply(point)) == point
    assert inverse.invert() == layout


@given(surjections())
def test_a_pseudoinverse_is_a_right_inverse(layout: LinearLayout) -> None:
    right = layout.pseudoinvert()
    for point in points(right):
        assert layout.apply(right.apply(point)) == point


@given(st.data())
def test_invert_and_compose_solves_for_the_other_layout(data: st.DataObject) -> None:
    outer = data.draw(surjections(ins=("c", "d")))
    basis = st.tuples(*(st.integers(0, size - 1) for size in outer.out_dims.values()))
    bases = {dim: data.draw(st.lists(basis, max_size=3)) for dim in ("a", "b")}
    mine = LinearLayout(bases, outer.out_dims).transpose_outs(["y", "x"])
    cvt = mine.invert_and_compose(outer)
    for point in points(mine):
        assert outer.apply(cvt.apply(point)) == mine.apply(point)


def test_an_in_dim_that_is_the_same_in_both_maps_to_itself_copies_included() -> None:
    a = LinearLayout({"register": [[1], [2]], "warp": [[0], [0]]}, {"dim0": 4})
    b = LinearLayout({"register": [[2], [1]], "warp": [[0], [0]]}, {"dim0": 4})
    assert a.invert_and_compose(b).bases == {"register": ((2, 0), (1, 0)), "warp": ((0, 1), (0, 2))}


def test_inverting_what_is_not_a_bijection_is_refused() -> None:
    with pytest.raises(MinitritonError, match="surjective and square"):
        LinearLayout.zeros_1d(4, "i", "o").invert()


@given(layouts(), layouts())
def test_dividing_a_product_gives_the_other_factor(a: LinearLayout, b: LinearLayout) -> None:
    assert divide_left(a * b, a) == b


@given(layouts(), layouts())
def test_a_quotient_times_the_divisor_is_the_layout(a: LinearLayout, b: LinearLayout) -> None:
    left = divide_left(a, b)
    assert left is None or b * left == a


@given(layouts())
def test_free_variables_are_the_bits_that_add_nothing(layout: LinearLayout) -> None:
    masks = layout.get_free_variable_masks()
    images = [tuple(layout.apply(p).values()) for p in points(layout)]
    unique = [tuple(layout.apply(p).values()) for p in points(layout) if all(not p[d] & m for d, m in masks.items())]
    assert len(set(unique)) == len(unique)
    assert set(unique) == set(images)


def test_reshaping_deals_out_bits_in_order() -> None:
    layout = identity(8, "i", "o").reshape_ins({"j": 2, "k": 4}).reshape_outs({"p": 4, "q": 2})
    assert layout.bases == {"j": ((1, 0),), "k": ((2, 0), (0, 1))}
    with pytest.raises(MinitritonError, match="cannot reshape"):
        layout.reshape_outs({"p": 4})


@given(layouts())
def test_transposing_changes_the_order_and_nothing_else(layout: LinearLayout) -> None:
    turned = layout.transpose_ins(["b", "a"]).transpose_outs(["y", "x"])
    assert turned.get_in_dim_names() == ["b", "a"]
    for point in points(layout):
        assert turned.apply(point) == layout.apply(point)


def test_consecutive_inputs_to_consecutive_outputs() -> None:
    def count(bases: dict) -> int:
        return LinearLayout.from_bases(bases, ["o"], [64], require_surjective=False).get_num_consecutive_in_out()

    assert identity(1, "i", "o").get_num_consecutive_in_out() == 1
    assert identity(8, "i", "o").get_num_consecutive_in_out() == 8
    assert count({"i": [[1], [2], [8]], "j": [[4]]}) == 4
    assert count({"i": [[1], [2], [4]], "j": [[2]]}) == 2
    assert count({"i": [[2], [1]]}) == 1


def test_sublayout_quotient_and_triviality() -> None:
    layout = identity(4, "a", "a") * identity(2, "b", "b") * LinearLayout({"c": [[1]]}, {"d": 2})
    assert layout.sublayout_is_zero("a", ["b", "d"])
    assert layout.is_trivial_over(["a"])
    assert not layout.is_trivial_over(["c"])
    rest = layout.quotient(["a", "b"])
    assert rest is not None
    assert rest.bases == {"c": ((1,),)}
    mixed = LinearLayout({"a": [[1, 0]], "b": [[1, 1]]}, {"a": 2, "b": 2})
    assert mixed.quotient(["b"]) is None


def test_bases_that_are_zero_can_be_removed() -> None:
    zeros = LinearLayout({"i": [[1], [0], [2]]}, {"o": 4})
    assert zeros.remove_zero_bases_along_dim("i") == identity(4, "i", "o")


def test_layouts_are_equal_only_with_the_same_order_and_sizes() -> None:
    a = identity(4, "i", "o") * identity(2, "j", "p")
    assert a == identity(4, "i", "o") * identity(2, "j", "p")
    assert hash(a) == hash(identity(4, "i", "o") * identity(2, "j", "p"))
    assert a != a.transpose_ins(["j", "i"])
    wide = LinearLayout({"i": [[1]]}, {"o": 4})
    assert wide != LinearLayout({"i": [[1]]}, {"o": 2})
    assert wide.equal_ignoring_out_dim_sizes(LinearLayout({"i": [[1]]}, {"o": 2}))


def test_the_text_is_triton_s() -> None:
    layout = LinearLayout({"register": [[0, 1], [1, 0]], "lane": []}, {"dim0": 2, "dim1": 2})
    assert str(layout) == (
        "\n - register=1 -> (0, 1)\n   register=2 -> (1, 0)\n - lane is a size 1 dimension\n"
        "where out dims are: [dim0 (size 2), dim1 (size 2)]"
    )
