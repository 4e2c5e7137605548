"""Types and constants keep their hash: equal ones have the same, and it does not travel to another process."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
)

import minitriton.dialects.fast_paths.op_access  # noqa: F401

I32 = IntegerType(32)
MADE = {
    "type": lambda: TensorType(I32, [128]),
    "integer type": lambda: IntegerType(17),
    "integer": lambda: IntegerAttr(5, I32),
    "constant": lambda: DenseIntOrFPElementsAttr.from_list(TensorType(I32, [2]), [1, 2]),
    "place": lambda: FileLineColLoc(StringAttr("kernel.py"), IntAttr(3), IntAttr(4)),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
def test_equal_attributes_have_the_same_hash_before_and_after_it_is_kept(make):
    first, second = make(), make()
    assert hash(first) == hash(first) == hash(second) and first == second
    assert {first: 1}[second] == 1


def test_a_kept_hash_is_not_pickled():
    place = MADE["place"]()
    hash(place)
    code = (
        "import pickle, sys; place = pickle.load(sys.stdin.buffer);"
        "from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr;"
        "import minitriton.dialects.fast_paths.op_access;"
        "assert hash(place) == hash(FileLineColLoc(StringAttr('kernel.py'), IntAttr(3), IntAttr(4)))"
    )
    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(place), check=True)
