"""What counts as a well-formed kernel, and how exactly the oracles must agree on its results."""

import pytest

from minitriton.fuzz.generation.builder import apply
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.tree import (
    Apply,
    Array,
    Assign,
    Atomic,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Name,
    Scalar,
    Stmt,
    Store,
    While,
)
from minitriton.fuzz.validity.analysis import Analysis, analyse
from minitriton.fuzz.validity.facts import Floats, Ints, Type, Unsound

ROW = apply("arange", attrs=(0, 16))
PROGRAM = apply("program_id", attrs=(0,))


def array(name: str, element: str = "int32", fill: str = "random", low: int = 0, high: int = 9) -> Array:
    return Array(name, ELEMENTS[element], fill, low, high, written=name.startswith("out"))


def load(name: str, offsets: Expr = ROW, *rest: Expr) -> Apply:
    return Apply("load", (apply("addptr", name, offsets), *rest))


def store(value: Expr, offsets: Expr = ROW, mask: Expr | None = None, to: str = "out") -> Store:
    return Store(apply("addptr", to, offsets), value, mask)


def judged(*body: Stmt, arrays: tuple[Array, ...] = (), grid: int = 1, scalars: tuple[Scalar, ...] = ()) -> Analysis:
    return analyse(Kernel(0, (*arrays, array("x"), array("out")), scalars, (), body, (grid,)))


def fact_of(expression: Expr, *arrays: Array, scalars: tuple[Scalar, ...] = ()):
    return Analysis(Kernel(0, (*arrays, array("x")), scalars, (), (), (3,))).value(expression).fact


def refused(*body: Stmt, **given) -> str:
    with pytest.raises(Unsound) as error:
        judged(*body, **given)
    return str(error.value)


def test_an_array_is_as_long_as_it_is_reached() -> None:
    assert judged(store(load("x", apply("add", ROW, 5)))).lengths == {"x": 21, "out": 16}


def test_an_access_before_an_array_is_refused() -> None:
    assert refused(store(load("x", apply("sub", ROW, 1)))) == "an access out of bounds"


def test_a_mask_that_the_launch_decides_protects_an_access() -> None:
    mask = apply("ge", ROW, 1)
    assert judged(store(load("x", apply("sub", ROW, 1), mask, Literal(0)))).lengths["x"] == 15


def test_two_stores_to_one_place_are_refused() -> None:
    halves = apply("div", ROW, 2)
    assert refused(store(load("x"), halves)) == "two stores to one address"
    assert refused(store(load("x")), grid=2) == "two stores to one address"
    assert refused(store(load("x")), store(load("x"))) == "two stores to one address"
    judged(store(load("x"), apply("add", ROW, apply("mul", PROGRAM, 16))), grid=2)
    judged(store(load("x"), halves, apply("eq", apply("mod", ROW, 2), 0)))


def test_stores_to_places_that_data_decides_are_refused_but_atomics_are_not() -> None:
    assert refused(store(load("x"), load("x"))) == "a store to places that data decides"
    judged(Atomic("add", apply("addptr", "out", load("x")), load("x")))


def test_division_needs_a_divisor_that_cannot_be_zero() -> None:
    assert refused(store(apply("div", load("x"), load("x")))) == "division by zero"
    fact = fact_of(apply("div", load("x"), apply("add", load("x"), 1)))
    assert (fact.low, fact.high) == (0, 9)
    any_byte = array("b", "int8", low=-128, high=127)
    minus_one = Apply("full_int", (), ((16,), -1, "int8"))
    with pytest.raises(Unsound, match="overflows"):
        fact_of(apply("div", load("b"), minus_one), any_byte)


def test_remainders_have_the_sign_of_the_dividend() -> None:
    fact = fact_of(apply("mod", apply("sub", load("x"), 4), 3))
    assert (fact.low, fact.high) == (-2, 2)
    known = fact_of(apply("mod", apply("sub", ROW, 4), 3))
    assert known.known[0, :5].tolist() == [-1, 0, -2, -1, 0]


def test_shifts_stay_below_the_width() -> None:
    with pytest.raises(Unsound, match="shift"):
        fact_of(apply("shl", load("b"), 8), array("b", "int8"))
    assert fact_of(apply("shl", load("b"), 3), array("b", "int8")).high == 72


def test_sums_that_may_wrap_are_any_number() -> None:
    fact = fact_of(apply("mul", load("b"), load("b")), array("b", "int8", low=0, high=100))
    assert (fact.low, fact.high) == (-128, 127)


def test_what_the_launch_decides_is_known_for_every_program() -> None:
    fact = fact_of(apply("add", apply("mul", PROGRAM, "s"), 1), scalars=(Scalar("s", ELEMENTS["int32"], 5),))
    assert fact.known.tolist() == [1, 6, 11]


def test_a_parameter_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(Unsound):
        fact_of(Name("s"), scalars=(Scalar("s", ELEMENTS["int32"], 1 << 40),))


def test_sums_of_quarters_are_exact_and_sums_of_any_floats_are_not() -> None:
    total = apply("reduce_add", load("f"), attrs=(0, False))
    exact = fact_of(total, array("f", "float32", "quarters"))
    assert (exact.error, exact.grid, exact.high) == (0, 2, 128)
    assert fact_of(total, array("f", "float32", "normal")).error > 0
    with pytest.raises(Unsound, match="certain"):
        # 8 bits of mantissa do not hold multiples of a quarter up to 128.
        fact_of(total, array("f", "bfloat16", "quarters"))


def test_a_product_may_be_fused_with_an_addition_unless_it_is_exact() -> None:
    normal, quarters = array("f", "float32", "normal"), array("q", "float32", "quarters")
    product = apply("fmul", load("f"), load("f"))
    assert fact_of(product, normal).error == 0
    assert fact_of(apply("fadd", product, load("f")), normal).error > 0
    assert fact_of(apply("fadd", apply("fmul", load("q"), load("q")), load("q")), quarters).error == 0
    assert fact_of(apply("fadd", apply("fmax", product, load("f")), load("f")), normal).error == 0


def test_approximate_numbers_are_not_compared_or_cast_to_integers() -> None:
    rough = apply("exp", load("f"))
    for use in (apply("lt", rough, 1.0), apply("cast", rough, attrs=("int32",)), apply("floor", rough)):
        with pytest.raises(Unsound):
            fact_of(use, array("f", "float32", "eighths"))


def test_floats_go_to_integers_only_where_they_fit() -> None:
    quarters = array("f", "float32", "quarters")
    fact = fact_of(apply("cast", load("f"), attrs=("int8",)), quarters)
    assert (fact.low, fact.high) == (-8, 8)
    with pytest.raises(Unsound):
        fact_of(apply("cast", load("f"), attrs=("uint8",)), quarters)
    with pytest.raises(Unsound):
        fact_of(apply("cast", load("f"), attrs=("int8",)), array("f", "float32", "special"))


def test_zeros_of_either_sign_meet_in_a_minimum() -> None:
    fact = fact_of(apply("fmin", load("f"), load("f")), array("f", "float32", "zeros"))
    assert isinstance(fact, Floats) and fact.either_zero
    assert not fact_of(apply("fmin", load("f"), load("f")), array("f", "float32", "quarters")).either_zero


def test_loops_run_in_the_analysis_as_often_as_in_the_launch() -> None:
    body = (Assign("sum", apply("add", "sum", load("x", apply("add", ROW, apply("mul", "k", 16))))),)
    start = Assign("sum", Apply("full_int", (), ((16,), 0, "int32")))
    analysis = judged(start, For("k", Literal(0), Literal(3), 1, body), store(Name("sum")))
    assert analysis.lengths["x"] == 48
    fact = analysis.env["sum"].fact
    assert isinstance(fact, Ints) and (fact.low, fact.high) == (0, 27)
    by_program = judged(
        start, While("k", Literal(0), PROGRAM, 1, body), store(Name("sum"), apply("add", ROW, apply("mul", PROGRAM, 16))),
        grid=3,
    )  # fmt: skip
    assert by_program.lengths["x"] == 32


def test_a_name_keeps_its_type_in_loops_and_branches() -> None:
    start = Assign("v", load("x"))
    change = (Assign("v", apply("cast", "v", attrs=("int64",))),)
    condition = apply("eq", PROGRAM, 0)
    assert "type" in refused(start, If(condition, change), store(load("x")))
    assert "type" in refused(start, For("k", Literal(0), Literal(2), 1, change), store(load("x")))


def test_names_of_a_branch_end_with_it() -> None:
    condition = apply("eq", PROGRAM, 0)
    assert "not defined" in refused(If(condition, (Assign("v", load("x")),)), store(Name("v")))


def test_matrix_products_must_be_exact() -> None:
    def product(fill: str) -> Expr:
        offsets = apply("add", apply("index", apply("mul", ROW, 16), attrs=(1, 1)), apply("index", ROW, attrs=(1, 0)))
        return apply("dot", load("f", offsets), load("f", offsets), attrs=("",))

    fact = fact_of(product("small"), array("f", "float16", "small"))
    assert fact.high == 16 * 9
    with pytest.raises(Unsound, match="exact"):
        fact_of(product("normal"), array("f", "float16", "normal"))


def test_what_is_added_to_a_matrix_product_may_be_its_accumulator() -> None:
    offsets = apply("add", apply("index", apply("mul", ROW, 16), attrs=(1, 1)), apply("index", ROW, attrs=(1, 0)))
    product = apply("dot", load("f", offsets), load("f", offsets), attrs=("",))
    arrays = array("f", "float16", "small"), array("g", "float32", "normal")
    assert fact_of(apply("fadd", product, apply("full_float", attrs=((16, 16), 2.0, "float32"))), *arrays).error == 0
    assert fact_of(apply("fadd", product, load("g", offsets)), *arrays).error > 0
    assert fact_of(apply("fsub", product, load("g", offsets)), *arrays).error == 0


def test_types_print_as_triton_names_them() -> None:
    value = Analysis(Kernel(0, (array("x", "uint8"),), (), (), ())).value(
        apply("reduce_add", load("x"), attrs=(0, True))
    )
    assert value.type == Type(ELEMENTS["uint32"], (1,))


def test_the_complement_of_known_numbers_of_64_bits_without_sign_is_bounded() -> None:
    fact = fact_of(apply("not", apply("cast", ROW, attrs=("uint64",))))
    assert fact.known is None and (fact.low, fact.high) == ((1 << 64) - 16, (1 << 64) - 1)
    assert fact_of(apply("not", ROW)).known[0, :2].tolist() == [-1, -2]
