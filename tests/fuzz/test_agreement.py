"""When two outcomes agree, and what a finding says."""

from dataclasses import replace

import numpy as np
import pytest

from minitriton.fuzz.generation.builder import apply
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.running.agreement import differing, run_case, verdict_of
from minitriton.fuzz.running.known import known_difference
from minitriton.fuzz.running.oracles import OracleOutcome, available
from minitriton.fuzz.tiles import KIND
from minitriton.fuzz.tree import Apply, Array, Assign, Expr, For, Kernel, Literal, Name, Scalar, Stmt, Store, While
from minitriton.fuzz.validity.analysis import Analysis, Written

ALL = ("interpreter", "ttgir", "emulator", "triton")


def out(element: str) -> Array:
    return Array("out", ELEMENTS[element], "quarters", written=True)


def differ(a: list[float], b: list[float], element: str = "float32", **written) -> list[bool]:
    dtype = ELEMENTS[element].dtype
    return differing(np.array(a, dtype), np.array(b, dtype), out(element), Written(**written)).tolist()


def test_floats_are_compared_bit_by_bit() -> None:
    nan = float("nan")
    assert differ([1.0, nan, 0.0, 1.0], [1.0, -nan, -0.0, 1.0000001]) == [False, False, True, True]
    assert differ([0.0, 1.0], [-0.0, 1.0000001], either_zero=True) == [False, True]


def test_approximate_floats_are_compared_within_the_bound() -> None:
    assert differ([1.0, 1.0, 0.0], [1.0001, 1.001, -0.0], error=1e-4) == [False, True, False]
    assert differ([1.0], [float("nan")], error=1e-4) == [True]


def test_integers_are_equal_or_not() -> None:
    assert differ([1, 2], [1, 3], "int8") == [False, True]


def test_small_floats_are_compared_as_numbers() -> None:
    patterns = np.array([0x7E, 0xFE, 0x3F80], np.uint16)
    others = np.array([0x7E, 0xFE, 0x3F81], np.uint16)
    assert differing(patterns, others, out("bfloat16"), Written()).tolist() == [False, False, True]


def verdict(**outcomes: OracleOutcome):
    kernel = Kernel(0, (out("int32"),), (), (), ())
    analysis = Analysis(kernel)
    analysis.written["out"] = Written()
    return verdict_of(kernel.arrays, analysis.written, outcomes)


def gave(*numbers: int) -> OracleOutcome:
    return OracleOutcome([np.array(numbers, np.int32)])


def test_a_difference_names_the_groups_that_agree() -> None:
    found = verdict(interpreter=gave(1, 2), ttgir=gave(1, 2), emulator=gave(1, 2), triton=gave(1, 3))
    assert [f.signature for f in found.findings] == ["triton | interpreter ttgir emulator"]
    assert "out (int32): 1 of 2 elements differ" in found.findings[0].text
    assert len(found.compared) == 6 and len(found.agreeing) == 3
    assert not verdict(interpreter=gave(1), triton=gave(1)).findings


def test_what_one_oracle_fails_at_is_its_error_and_what_all_do_is_the_generators() -> None:
    error = OracleOutcome(error="ValueError: no some/kernel.py at 17", stage="frontend")
    one = verdict(interpreter=gave(1), emulator=error)
    assert [(f.kind, f.signature) for f in one.findings] == [
        ("error", "minitriton: frontend: ValueError: no PATH at N")
    ]
    assert not one.compared
    every = verdict(interpreter=error, triton=error)
    assert [f.kind for f in every.findings] == ["rejected"]


def test_what_the_emulator_finds_is_a_finding() -> None:
    raced = OracleOutcome([np.array([1], np.int32)], findings=("a race",), finding_kinds=("shared-race",))
    assert [f.signature for f in verdict(interpreter=gave(1), emulator=raced).findings] == ["emulator: shared-race"]


ROW = apply("arange", attrs=(0, 32))


def kernel(body: tuple[Stmt, ...], element: str, result: Expr, at: Expr = ROW) -> Kernel:
    arrays = (Array("source", ELEMENTS[element], "quarters", low=-3, high=0), out(element))
    store = Store(apply("addptr", "out", at), result)
    return Kernel(3, arrays, (), (), (*body, store), (1,), 1)


def load(pointer: Expr) -> Apply:
    return Apply("load", (pointer,))


def index_of_a_reshape() -> Kernel:
    """argmin of an interleave: Triton 3.6.0 reorders the elements, but not their indices."""
    pairs = (
        Assign("x", load(apply("addptr", "source", ROW))),
        Assign("y", load(apply("addptr", "source", apply("add", ROW, 32)))),
        Assign("z", apply("interleave", "x", "y")),
    )
    return kernel(pairs, "int32", apply("argmin", "z", attrs=(0, False)), Literal(0))


def pointers_in_a_while() -> Kernel:
    body = (
        Assign("sum", apply("add", "sum", load(Name("p")))),
        Assign("one", apply("mul", "one", "one")),
        Assign("p", apply("addptr", "p", 32)),
    )
    start = (
        Assign("sum", Apply("full_int", (), ((32,), 0, "int32"))),
        Assign("one", Apply("full_int", (), ((32,), 1, "int32"))),
        Assign("p", apply("addptr", "source", ROW)),
    )
    return kernel((*start, While("k", Literal(1), Literal(1), 1, body)), "int32", Name("sum"))


def sum_used_twice() -> Kernel:
    tile = apply("add", apply("mul", apply("index", ROW, attrs=(1, 1)), 32), apply("index", ROW, attrs=(1, 0)))
    body = (
        Assign("x", load(apply("addptr", "source", apply("add", tile, apply("mul", "k", 1024))))),
        Assign("sum", apply("fadd", "sum", apply("reduce_add", "x", attrs=(1, False)))),
    )
    start = Assign("sum", Apply("full_float", (), ((32,), 0.0, "float32")))
    return kernel((start, For("k", Literal(0), Literal(3), 1, body)), "float32", apply("fsub", "sum", "sum"))


def negative_other() -> Kernel:
    """Triton 3.6.0 packs the words of a constant `other` wrongly."""
    rows = apply("index", apply("arange", attrs=(0, 8)), attrs=(1, 1))
    at = apply("add", apply("mul", rows, 8), apply("arange", attrs=(0, 8)))
    found = Apply("load", (apply("addptr", "source", at), apply("ge", rows, 1), Literal(-128)))
    return replace(
        kernel((), "int8", found, at), arrays=(Array("source", ELEMENTS["int8"], "random", 0, 15), out("int8"))
    )


def sum_of_products_over_lanes() -> Kernel:
    """Each lane fuses its own product into the sum, and all write it for the change of layout."""
    rows = apply("index", apply("arange", attrs=(0, 4)), attrs=(1, 1))
    x = Assign("x", load(apply("addptr", "source", apply("add", rows, apply("mul", ROW, 3)))))
    made = kernel((x,), "bfloat16", apply("reduce_add", apply("fmul", "x", "x"), attrs=(0, False)))
    return replace(made, arrays=(replace(made.arrays[0], fill="normal"), made.arrays[1]))


def index_over_a_reshaped_layout() -> Kernel:
    """The reshape leaves two lanes of its columns between those of its rows: 8, 16, 32, column 1, 1."""
    rows = apply("index", apply("arange", attrs=(0, 8)), attrs=(1, 1))
    tile = apply("add", apply("mul", apply("arange", attrs=(0, 16)), 8), rows)
    body = (
        Assign("x", load(apply("addptr", "source", tile))),
        Assign("y", apply("reshape", "x", attrs=((64, 2),))),
    )
    made = kernel(body, "int16", apply("argmin", "y", attrs=(0, False)), apply("arange", attrs=(0, 2)))
    source = Array("source", ELEMENTS["int16"], "random", low=-9, high=9)
    return replace(made, arrays=(source, out("int32")), num_warps=2)


def scan_beside_one_column() -> Kernel:
    """The gather wants rows of two lanes 16 apart; between them are lanes of the one column."""
    rows = apply("index", apply("arange", attrs=(0, 2)), attrs=(1, 1))
    body = (
        Assign("rows", rows),
        Assign("sums", apply("cumsum", "rows", attrs=(0, True))),
        Assign("column", apply("and", "rows", 0)),
    )
    made = kernel(body, "int32", apply("gather", "sums", "column", attrs=(1,)), "rows")
    return replace(made, arrays=(out("int32"),), num_warps=1)


def bound_read_in_a_loop() -> Kernel:
    """Only the inner loop's bound needs the pointer that the outer one moves."""
    one = apply("arange", attrs=(0, 1))
    inner = For("i", Literal(0), Name("bound"), 1, (Assign("last", Name("zero")),))
    turn = (
        Assign("length", load(Name("p"))),
        Assign("zero", apply("full_float", attrs=((1,), 0.0, "float32"))),
        Assign("bound", apply("reduce_max", apply("and", "length", 1), attrs=(None, False))),
        inner,
        Assign("p", apply("addptr", "p", 1)),
    )
    body = (
        Assign("last", apply("full_float", attrs=((1,), 5.0, "float32"))),
        Assign("p", apply("addptr", "source", one)),
        For("k", Literal(0), Literal(4), 1, turn),
    )
    made = kernel(body, "float32", Name("last"), one)
    source = Array("source", ELEMENTS["int32"], "random", low=-9, high=9)
    return replace(made, arrays=(source, out("float32")), seed=2)


def addresses_in_a_vector() -> Kernel:
    """LLVM's vectoriser makes subtractions of additions, and keeps flags that held for those: an address loses a term."""
    row = apply("sub", "rows", apply("arange", attrs=(0, 16)))
    turned = apply("sub", 15, apply("mod", ROW, 16))
    column = apply("add", apply("mul", apply("div", ROW, 16), 16), turned)
    rows = apply("mul", apply("index", apply("index", row, attrs=(1, 1)), attrs=(2, 2)), 160)
    at = apply("add", apply("add", rows, apply("mul", apply("arange", attrs=(0, 2)), 32)),
               apply("index", apply("index", column, attrs=(1, 0)), attrs=(2, 2)))  # fmt: skip
    tile = apply("add", apply("add", ROW, 1), apply("index", ROW, attrs=(1, 1)))
    body = (
        Assign("x", load(apply("addptr", "source", tile))),
        Assign("y", apply("reshape", "x", attrs=((16, 32, 2),))),
        Assign("at", at),
        Store(apply("addptr", "out", "at"), Name("y"), apply("lt", "at", 1)),
    )
    arrays = (Array("source", ELEMENTS["float32"], "small", low=0, high=0), out("float32"))
    scalars = (Scalar("rows", ELEMENTS["int32"], 15),)
    return Kernel(110394399401911, arrays, scalars, (), body, (1,), 1, fp_fusion=False)


def scan_of_one_element() -> Kernel:
    """In a layout of two elements a thread: Triton 3.6.0's lowering of the scan fails."""
    scan = apply("own_scan_max", apply("arange", attrs=(0, 1)), attrs=(0, False))
    return replace(kernel((), "int32", scan, apply("arange", attrs=(0, 64))), arrays=(out("int32"),))


@pytest.mark.sampled(3)
@pytest.mark.oracle
@pytest.mark.parametrize(
    ("made", "name"),
    [
        (index_of_a_reshape(), "a reshape to one dimension before argmax or argmin"),
        (pointers_in_a_while(), "pointers carried by a while loop that never runs"),
        (sum_used_twice(), "a reduction accumulated in a loop"),
        (negative_other(), "a negative constant `other` of 8 or 16 bits"),
        (sum_of_products_over_lanes(), "lanes that fuse one product each"),
        (scan_of_one_element(), "a pass of Triton's fails"),
        (index_over_a_reshaped_layout(), "a reduction over the layout that a reshape leaves"),
        (addresses_in_a_vector(), "an optimisation of Triton's LLVM"),
        (bound_read_in_a_loop(), "what a loop carries only for the bounds of a loop in it"),
        (scan_beside_one_column(), "a scan of elements that several lanes hold"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_known_differences_are_told_by_their_cause(made: Kernel, name: str) -> None:
    if not available("triton"):
        pytest.skip("needs Triton's wheel")
    result = run_case(made, ALL)
    assert result.verdict.findings
    for finding in result.verdict.findings:
        assert finding.signature.startswith(("triton |", "triton:"))
        assert known_difference(made, finding, ALL) == name


def test_nans_that_lanes_of_amd_add_in_either_order_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "gfx942")
    row = apply("arange", attrs=(0, 32))
    tile = apply("add", apply("mul", apply("index", row, attrs=(1, 1)), 32), row)
    source = Array("source", ELEMENTS["float32"], "special", low=0, high=0)
    made = kernel(
        (Assign("x", load(apply("addptr", "source", tile))),),
        "float32",
        apply("reduce_add", "x", attrs=(1, False)),
        row,
    )
    made = replace(made, arrays=(source, out("float32")), num_warps=1, seed=240048624999986)
    found = run_case(made, ("interpreter", "emulator")).verdict.findings
    assert [finding.signature for finding in found] == ["emulator: shared-race"]
    assert known_difference(made, found[0], ("interpreter", "emulator")) == "NaNs that lanes add in either order (AMD)"
    other = replace(found[0], text="writes byte 16 of LDS, which another wave reads without a barrier between")
    assert known_difference(made, other, ("interpreter", "emulator")) is None


def test_no_difference_between_our_levels_is_known() -> None:
    kernel = index_of_a_reshape()
    result = run_case(kernel, ALL[:3])
    assert not result.verdict.findings
    found = verdict(interpreter=gave(1), emulator=gave(2)).findings[0]
    assert known_difference(kernel, found, ALL[:3]) is None


def test_every_pair_of_oracles_is_compared() -> None:
    report = KIND.fuzz(1, 0, ALL[:3])
    assert report.compared == report.agreeing
    assert set(report.compared) == {("interpreter", "ttgir"), ("interpreter", "emulator"), ("ttgir", "emulator")}
