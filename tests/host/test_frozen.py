"""Classes of `frozen` are what `dataclass(frozen=True)` makes of the same text."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from minitriton.host.frozen import frozen, record


@frozen
class Tile:
    """A tile."""

    rows: int
    columns: int = 16
    names: list[str] = field(default_factory=list[str], compare=False)
    note: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError("negative")


@frozen
class Swizzled(Tile):
    phase: int = 2


@dataclass(frozen=True)
class Standard:
    rows: int
    columns: int = 16
    names: list[str] = field(default_factory=list[str], compare=False)
    note: str = field(default="", repr=False)


def outcome(make: Callable[[], Any]) -> object:
    try:
        return asdict(make())
    except Exception as error:
        return type(error)


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ((1,), {}), ((1, 2), {}), ((1, 2, ["a"], "n"), {}), ((), {"rows": 1}), ((1,), {"note": "n", "columns": 3}),
        ((), {}), ((1,), {"rows": 1}), ((1,), {"depth": 1}), ((1, 2, [], "", 5), {}), ((), {"columns": 1}),
    ],
)  # fmt: skip
def test_an_object_takes_the_arguments_of_a_dataclass(args: tuple[Any, ...], given: dict[str, Any]) -> None:
    assert outcome(lambda: Tile(*args, **given)) == outcome(lambda: Standard(*args, **given))


def test_objects_are_equal_by_class_and_compared_fields() -> None:
    assert Tile(1, names=["a"]) == Tile(1) != Tile(2)
    assert Tile(1) != Swizzled(1) and Swizzled(1, phase=3) != Swizzled(1)
    assert hash(Tile(1, names=["a"])) == hash(Tile(1)) == hash(Standard(1))
    assert repr(Swizzled(1, note="n")) == "Swizzled(rows=1, columns=16, names=[], phase=2)"


def test_an_object_cannot_be_changed_and_each_has_its_own_default() -> None:
    tile = Tile(1)
    with pytest.raises(FrozenInstanceError, match="'rows'"):
        tile.rows = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError, match="'rows'"):
        del tile.rows
    assert tile.names is not Tile(1).names


def test_the_standard_librarys_functions_take_it() -> None:
    tile = Swizzled(1, phase=5)
    assert replace(tile, rows=4) == Swizzled(4, phase=5)
    assert [each.name for each in fields(tile)] == ["rows", "columns", "names", "note", "phase"]
    assert pickle.loads(pickle.dumps(tile)) == copy.copy(tile) == tile
    with pytest.raises(ValueError, match="negative"):
        replace(tile, rows=-1)
    match tile:
        case Tile(rows, columns):
            assert (rows, columns) == (1, 16)
        case _:
            raise AssertionError


def test_a_class_keeps_its_own_methods_and_may_inherit_from_a_frozen_dataclass() -> None:
    @frozen
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @frozen
    class Wide(Standard):
        width: int = 1

    assert Own(1) == Own(2) and hash(Own(1)) == 7
    assert Wide(1, width=2) != Wide(1) == Wide(1)


def test_what_is_of_the_class_is_no_positional_pattern() -> None:
    @frozen
    class Named:
        kind: ClassVar[str] = "named"
        size: int = field(kw_only=True, default=2)
        first: int = 0

    assert Named.__match_args__ == ("first",)  # type: ignore[attr-defined]
    assert [each.name for each in fields(Named)] == ["size", "first"]  # type: ignore[arg-type]


def test_a_record_can_be_changed_and_not_hashed() -> None:
    @record
    class Counts:
        loads: int = 0
        stores: list[int] = field(default_factory=list[int])

    counts = Counts(3)
    counts.loads += 1
    counts.stores.append(2)
    assert counts == Counts(4, [2]) != Counts(4)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


def test_frozen_dataclasses_inherit_from_each_other() -> None:
    @dataclass(frozen=True)
    class Below(Tile):
        deep: int = 3

    @frozen
    class Lowest(Below):
        low: int = 4

    assert [each.name for each in fields(Lowest)] == ["rows", "columns", "names", "note", "deep", "low"]
    assert Lowest(1, low=5) == replace(Lowest(1), low=5) != Lowest(1)
    with pytest.raises(TypeError, match="without a default"):

        @frozen
        class Wrong(Tile):
            late: int

        Wrong(1)
