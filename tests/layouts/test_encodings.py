"""Encodings: validation, equality, and what they say of CTAs."""

import pickle
from collections.abc import Callable

import pytest

from minitriton.errors import IRError
from minitriton.layouts.encodings import (
    Blocked,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    NVMMAShared,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
)
from minitriton.layouts.to_linear import to_linear_layout

BLOCKED = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
VOLTA = NvidiaMma(1, 0, (1, 1), (16, 8))
AMPERE = NvidiaMma(2, 0, (1, 1), (16, 8))
HOPPER = NvidiaMma(3, 0, (1, 1), (16, 8))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Blocked((3,), (32,), (4,), (0,)), "Every element in sizePerThread must be a power of two"),
        (lambda: Blocked((1,), (32,), (4, 1), (0,)), "must all have the same rank"),
        (lambda: Blocked((1, 1), (8, 4), (4, 1), (1, 1)), r"permutation of 0..\(rank-1\), but was \[1, 1\]"),
        (lambda: Blocked((1, 1), (8, 4), (4, 1), (1, 0), ((1,),)), "CGALayout must have 2 entries"),
        (lambda: Slice(2, BLOCKED), "slice dim=2 must be less than the parent rank=2"),
        (lambda: Slice(0, Blocked((1,), (32,), (4,), (0,))), "at least rank >= 2"),
        (lambda: Linear(((1, 1),), (), ()), "each base must move in at most one dimension"),
        (lambda: Linear(((4,),), (), (), (), (4,)), "do not fit in the shape"),
        (lambda: DotOperand(2, BLOCKED), "opIdx parameter can be 0 or 1, got: 2"),
        (lambda: DotOperand(1, BLOCKED, 8), "kWidth parameter is not supported when the parent is a blocked layout"),
        (lambda: DotOperand(1, VOLTA, 8), "kWidth parameter can only be non-zero for Ampere or Hopper"),
        (lambda: DotOperand(0, AMPERE), "kWidth parameter is mandatory for Ampere or Hopper"),
        (lambda: DotOperand(1, HOPPER, 2), "opIdx parameter must be 0 for Hopper"),
        (lambda: SwizzledShared(1, 1, 1, (0, 2)), "permutation"),
        (lambda: PaddedShared((3,), (2,), ((1,),)), "interval values must all be power of two"),
        (lambda: PaddedShared((2,), (3,), ((1,),)), "padding values must all be power of two"),
        (lambda: PaddedShared((2, 2), (1, 4), ((1,),)), "cannot have duplicates"),
        (lambda: PaddedShared((2,), (1,), ((1,), (0,))), "Broadcasting is not supported"),
        (lambda: PaddedShared((2,), (1,), ((1,), (3,))), "must be 0 or a power of two"),
        (lambda: SharedLinear(((1,),), (), 3), "alignment must be a positive power of two"),
        (lambda: SharedLinear(((1,), (4,))), "must be surjective"),
        (lambda: SharedLinear(((1,), (1,))), "must be bijective"),
    ],
)
def test_wrong_parameters_are_refused(make: Callable[[], Encoding], message: str) -> None:
    with pytest.raises(IRError, match=message):
        make()


def test_equal_parameters_make_equal_values_whatever_sequences_they_came_in() -> None:
    assert Blocked([1, 4], [8, 4], [4, 1], [1, 0]) == BLOCKED  # type: ignore[arg-type]
    assert hash(Blocked((1, 4), (8, 4), (4, 1), (1, 0))) == hash(BLOCKED)
    assert Slice(0, BLOCKED) != Slice(1, BLOCKED)
    assert SwizzledShared(1, 1, 1, (1, 0)) != SwizzledShared(1, 1, 2, (1, 0))


def test_encodings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        BLOCKED.order = (0, 1)  # type: ignore[misc]


def test_what_another_process_gets_is_equal_and_hashes_itself() -> None:
    assert hash(BLOCKED)
    layout = to_linear_layout(BLOCKED, (64, 64))
    assert hash(layout)
    copies = pickle.loads(pickle.dumps((BLOCKED, layout)))
    assert copies == (BLOCKED, layout)
    assert "_hash" not in vars(copies[0])
    assert copies[1]._hash is None
    assert hash(copies) == hash((BLOCKED, layout))


def test_the_shape_of_a_linear_encoding_is_what_its_bases_reach() -> None:
    assert Linear(((0, 1), (0, 2)), ((1, 0),), ((2, 0),)).shape == (4, 4)
    assert Linear((), ((0,),), (), (), (1,)).rank == 1


def test_ctas_that_split_and_ctas_that_copy() -> None:
    encoding = Blocked((1, 1), (8, 4), (4, 1), (1, 0), ((0, 1), (1, 0), (0, 0)))
    assert encoding.num_ctas == 8
    assert encoding.cta_split == (2, 2)
    assert encoding.ctas_per_cga == (4, 2)
    assert encoding.cta_order == (1, 0)


def test_slices_and_dot_operands_derive_their_ctas_from_the_parent() -> None:
    parent = Blocked((1, 1), (8, 4), (4, 1), (1, 0), ((1, 0), (0, 1)))
    assert Slice(0, parent).cga == ((0,), (1,))
    assert DotOperand(0, parent).cga == ((1, 0), (0, 0))
    assert DotOperand(1, parent).cga == ((0, 0), (0, 1))


def test_the_ctas_of_linear_encodings_are_counted_in_what_one_cta_covers() -> None:
    assert Linear(((0, 1),), ((0, 2),), (), ((0, 4), (1, 0))).cga == ((0, 1), (1, 0))


def test_nvmma_shared_phases_follow_from_the_swizzle_width() -> None:
    found = {
        width: (e.vec, e.per_phase, e.max_phase) for width in (0, 32, 64, 128) for e in [NVMMAShared(width, False, 16)]
    }
    assert found == {0: (1, 1, 1), 32: (8, 4, 2), 64: (8, 2, 4), 128: (8, 1, 8)}


def test_padding_adds_up_over_the_intervals() -> None:
    # e0 e1 p e2 e3 p p p e4 e5 p e6 e7 p p p
    encoding = PaddedShared((2, 4), (1, 2), ((1,), (2,), (4,)))
    assert [encoding.padded_offset(i) for i in range(8)] == [0, 1, 3, 4, 8, 9, 11, 12]
    assert encoding.padded_size((8,)) == 13
