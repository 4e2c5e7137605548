"""Kernels whose comments are checked against their IR, as Triton's frontend tests are written."""

from __future__ import annotations

import pytest

import minitriton as triton

pytest.importorskip("filecheck")

from minitriton._filecheck import MatchError, filecheck_test, run_filecheck_test


@triton.jit
def anchor(v):
    pass


@filecheck_test
@triton.jit
def test_a_constant_is_passed_on():
    # CHECK-LABEL: test_a_constant_is_passed_on
    scalar = 42
    # CHECK: %c42_i32 = arith.constant 42 : i32
    # CHECK-NEXT: call @{{.*}}anchor{{.*}}(%c42_i32) : (i32) -> ()
    anchor(scalar)


def test_a_pattern_that_is_not_found_is_named_as_by_llvm() -> None:
    @triton.jit
    def kernel():
        # CHECK-LABEL: kernel
        scalar = 11
        # CHECK:    %c42_i32
        anchor(scalar)

    with pytest.raises(MatchError, match="expected string not found in input\n # CHECK: %c42_i32") as failed:
        run_filecheck_test(kernel)
    assert "arith.constant 11" in str(failed.value)
