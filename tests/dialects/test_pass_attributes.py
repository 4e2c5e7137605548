"""Attributes that passes leave for the lowering: each is declared, and refused where it means nothing."""

import importlib
import inspect
from pathlib import Path

import pytest

from minitriton.dialects.facts import pass_attributes
from minitriton.dialects.facts.pass_attributes import PASS_ATTRIBUTES
from minitriton.dialects.facts.synchronization import ALL_WARPS, FIRST_WARP_FILLS, PARTITIONS, TURNS
from minitriton.dialects.text import parse_module
from minitriton.errors import IRError
from minitriton.pipeline.pass_registry import known_passes


@pytest.mark.parametrize(
    ("attribute", "place"),
    [
        ("ttg.increasing = array<i32: 1>", "tt.reduce"),
        ("ttg.opaque", "arith.addi"),
        ('"ttg.cache-hint" = 1 : i32', "tt.load"),
    ],
)
def test_one_on_another_op_is_refused(attribute: str, place: str) -> None:
    with pytest.raises(IRError, match=f"belongs on .*{place}"):
        parse_module(f"tt.func @k(%x: i32) {{\n%y = arith.muli %x, %x {{{attribute}}} : i32\ntt.return\n}}")


@pytest.mark.parametrize("name", PASS_ATTRIBUTES)
def test_its_writers_and_its_reader_name_it(name: str) -> None:
    declared, passes = PASS_ATTRIBUTES[name], known_passes()
    constant = next(key for key, value in vars(pass_attributes).items() if value == name)
    for module in (*(passes[writer].__module__ for writer in declared.writers), f"minitriton.{declared.reader}"):
        found = importlib.import_module(module)
        text = inspect.getsource(found)
        if module.count(".") > 2:  # of a pass in a folder of its own, all its files
            text += "".join(path.read_text() for path in Path(str(found.__file__)).parent.glob("*.py"))
        assert constant in text, module


def test_named_barriers_that_one_kernel_may_have_are_apart() -> None:
    assert not {*FIRST_WARP_FILLS} & {*TURNS}
    assert not {0, ALL_WARPS} & {*PARTITIONS} and not {0} & {*FIRST_WARP_FILLS, *TURNS}
    assert max(*PARTITIONS, *FIRST_WARP_FILLS, *TURNS) < 16
