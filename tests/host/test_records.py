"""`host.records.dataclass` is the standard library's to whoever uses the class."""

import copy
import dataclasses
import pickle
import threading
from dataclasses import FrozenInstanceError, field

import pytest

from minitriton.host.records import dataclass


@dataclass(frozen=True)
class Load:
    width: int
    cached: bool = False
    places: tuple[int, ...] = field(default_factory=tuple, compare=False)


@dataclasses.dataclass(frozen=True)
class TheirLoad:
    width: int
    cached: bool = False
    places: tuple[int, ...] = field(default_factory=tuple, compare=False)


@dataclass(frozen=True)
class MaskedLoad(Load):
    """Adds no field."""


@dataclass(frozen=True)
class WideLoad(Load):
    lanes: int = 32


@dataclass
class Counter:
    seen: list[int] = field(default_factory=list[int])
    total: int = field(default=0, kw_only=True)
    label: str = field(default="n", repr=False)

    def __post_init__(self) -> None:
        self.total += 1


def test_instances_are_made_compared_hashed_and_shown_as_the_standard_library_does() -> None:
    ours, theirs = Load(4, places=(1, 2)), TheirLoad(4, places=(1, 2))
    assert repr(ours) == repr(theirs).replace("Their", "")
    assert ours == Load(4) != Load(5)
    assert hash(ours) == hash(Load(4)) == hash(theirs)
    assert (ours == theirs) is False
    assert Load(4) != MaskedLoad(4)


def test_a_class_that_adds_no_field_has_its_bases_methods_and_is_frozen_too() -> None:
    load = MaskedLoad(2, cached=True)
    assert repr(load) == "MaskedLoad(width=2, cached=True, places=())"
    assert "__init__" not in vars(MaskedLoad)
    with pytest.raises(FrozenInstanceError):
        load.other = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_methods_that_a_base_has_of_its_own_are_not_taken_for_made_ones() -> None:
    class Wider(Load):
        def __init__(self) -> None:
            super().__init__(32)

    @dataclass(frozen=True)
    class Again(Wider):
        """The standard library writes its `__init__` anew."""

    assert Wider().width == 32
    assert Again(4).width == 4  # pyright: ignore[reportCallIssue]


def test_a_subclass_has_the_fields_of_its_base_first() -> None:
    assert WideLoad(1, lanes=64) == WideLoad(1, False, (), 64)
    assert [f.name for f in dataclasses.fields(WideLoad)] == ["width", "cached", "places", "lanes"]


def test_a_field_without_a_default_has_that_of_the_same_name_in_a_base() -> None:
    class Named:
        label = "unnamed"

    @dataclass
    class Labelled(Named):
        label: str

    @dataclass
    class Again(Labelled):
        label: str

    assert (Labelled().label, Again().label) == ("unnamed", "unnamed")  # pyright: ignore[reportCallIssue]


def test_a_method_that_a_program_puts_in_the_place_of_one_stays() -> None:
    @dataclass(frozen=True)
    class Kept:
        number: int

    made = Kept.__hash__
    Kept.__hash__ = lambda self: made(self) + 1
    assert hash(Kept(3)) == hash((3,)) + 1


def test_questions_of_the_class_come_before_any_instance() -> None:
    @dataclass(frozen=True)
    class Unused:
        first: int
        second: str = "s"

    assert Unused.second == "s"
    assert dataclasses.is_dataclass(Unused)
    assert [f.default for f in dataclasses.fields(Unused)][1] == "s"

    @dataclass(frozen=True)
    class Matched:
        first: int

    def first_of(value: object) -> int:
        match value:
            case Matched(first):
                return first
            case _:
                return 0

    assert first_of(3) == 0
    assert first_of(Matched(4)) == 4


def test_a_class_of_the_standard_librarys_may_derive_from_one_of_ours() -> None:
    @dataclasses.dataclass(frozen=True)
    class Theirs(Load):
        more: int = 1

    assert Theirs(3).more == 1
    with pytest.raises(TypeError, match="frozen"):

        @dataclasses.dataclass
        class Thawed(Load):  # pyright: ignore[reportGeneralTypeIssues]
            pass


def test_frozen_fields_stay_as_they_are_and_others_change() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'width'"):
        Load(1).width = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'width'"):
        del Load(1).width
    counter = Counter(total=4)
    counter.seen.append(1)
    assert (counter.total, counter.seen, Counter().seen) == (5, [1], [])
    assert repr(counter) == "Counter(seen=[1], total=5)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_instances_are_copied_replaced_and_pickled() -> None:
    load = WideLoad(8, cached=True)
    assert copy.deepcopy(load) == pickle.loads(pickle.dumps(load)) == load
    assert dataclasses.replace(load, lanes=1) == WideLoad(8, True, (), 1)
    assert dataclasses.asdict(load) == {"width": 8, "cached": True, "places": (), "lanes": 32}


def test_wrong_arguments_are_the_errors_of_a_function() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'width'"):
        Load()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        Load(1, depth=2)  # pyright: ignore[reportCallIssue]


def test_threads_that_use_a_class_first_at_once_agree() -> None:
    for _ in range(50):

        @dataclass(frozen=True)
        class Shared:
            number: int

        start, found = threading.Barrier(4), set[object]()

        def use(kind: type = Shared, start: threading.Barrier = start, found: set[object] = found) -> None:
            start.wait()
            found.add(kind(1))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {Shared(1)}
