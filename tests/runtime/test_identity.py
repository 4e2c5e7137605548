"""Compile-time arguments are told apart by what they are, in a process and between processes."""

from __future__ import annotations

import dataclasses
import enum
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.host.identity import UnknownIdentity, key_of


class Alike:
    """Prints like any other of its class."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __repr__(self) -> str:
        return "alike"


class Mode(enum.Enum):
    LOW = 1
    HIGH = 2

    def __repr__(self) -> str:
        return "mode"


@dataclasses.dataclass
class Settings:
    number: int = 1

    def __repr__(self) -> str:
        return "settings"


class Pair(NamedTuple):
    first: int
    number: float


class Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "text"


def one_of(number: float) -> type:
    class Local:
        pass

    Local.number = number
    return Local


DIFFERENT: list[list[Any]] = [
    [1, True, 1.0, "1", None, np.int32(1), np.int64(1), np.float32(1), tl.constexpr(1), (1,), [1], {1: 1}, b"1"],
    [0.0, -0.0, 0, False, float("nan"), float("inf")],
    [(1, 2), (1, 2.0), (True, 2), Pair(1, 2), Pair(1, 2.0), [1, 2]],
    [Alike(1), Alike(2), Alike(1.0)],
    [Mode.LOW, Mode.HIGH, 1, "mode"],
    [Settings(1), Settings(2), Settings(True)],
    [Text("a"), Text("b"), "a"],
    [tl.float16, tl.float32, "fp16", tl.pointer_type(tl.float16)],
    [lambda x: x + 1, lambda x: x + 2, Alike, Settings, one_of(1), one_of(2), one_of(1)(), one_of(2)()],
    [np.dtype("f4"), np.dtype("f8"), range(3), range(4), slice(1), slice(2)],
]


@pytest.mark.parametrize("values", DIFFERENT, ids=lambda values: str(values[0])[:20])
def test_values_that_differ_have_different_keys(values: list[Any]) -> None:
    keys = [key_of(value) for value in values]
    assert len(set(keys)) == len(keys), keys


def test_values_that_are_alike_have_the_same_key() -> None:
    assert key_of(Alike(3)) == key_of(Alike(3))
    assert key_of(Settings(3)) == key_of(Settings(3))
    assert key_of(one_of(3)) == key_of(one_of(3))
    assert key_of(float("nan")) == key_of(float("nan"))


def test_an_object_that_holds_itself_has_a_key() -> None:
    ring = Alike(1)
    ring.number = ring  # type: ignore[assignment]
    assert "same as" in key_of(ring)


@triton.jit
def stores_number(out, C: tl.constexpr):
    tl.store(out, C.number)


@triton.jit
def stores_one_over(out, C: tl.constexpr):
    tl.store(out, 1.0 / (C * (tl.load(out) + 1)))


def results(kernel: Any, values: list[Any]) -> list[float]:
    found = []
    for value in values:
        out = np.zeros(1, np.float32)
        kernel[(1,)](out, C=value)
        found.append(float(out[0]))
    return found


def test_each_object_gets_its_own_kernel() -> None:
    assert results(stores_number, [Alike(1), Alike(2), Settings(3), Settings(4), Pair(0, 5.0), Pair(0, 6.0)]) == [
        1, 2, 3, 4, 5, 6,
    ]  # fmt: skip
    changed = Alike(7)
    first = results(stores_number, [changed])
    changed.number = 8
    assert first + results(stores_number, [changed]) == [7, 8]


def test_numbers_that_compare_equal_get_their_own_kernels() -> None:
    assert results(stores_one_over, [1, 0.0, -0.0, True]) == [1, float("inf"), float("-inf"), 1]


@pytest.mark.parametrize("value", [object(), np.zeros(3), (i for i in range(3))], ids=lambda v: type(v).__name__)
def test_what_cannot_be_told_apart_is_refused_with_what_to_do(value: Any) -> None:
    with pytest.raises(UnknownIdentity, match=r"parameter .C. of kernel .stores_number.: .*cannot be") as raised:
        results(stores_number, [value])
    assert raised.value.help and raised.value.location and raised.value.location.file == __file__


class SaysWhatItIs:
    def __init__(self, number: int) -> None:
        self.hidden = iter([number])
        self.number = number

    @property
    def cache_key(self) -> str:
        return f"number {self.number}"


def test_a_class_can_say_what_its_objects_are() -> None:
    assert results(stores_number, [SaysWhatItIs(1), SaysWhatItIs(2)]) == [1, 2]


def scaled_by(factor: Any, kind: Any = tl.float32) -> Any:
    @triton.jit
    def scale(x):
        return (x * factor).to(kind)

    return scale


half, double = scaled_by(tl.constexpr(0.5)), scaled_by(tl.constexpr(2))
rounded, kept = scaled_by(tl.constexpr(1.3), tl.int32), scaled_by(tl.constexpr(1.3), tl.float32)
text_one, number_one = tl.constexpr("1"), tl.constexpr(1)


@triton.jit
def choose(x, MODE: tl.constexpr):
    if MODE == 1:
        return x + 1
    return x + 100


@triton.jit
def apply(x, F: tl.constexpr):
    return F(x)


@triton.jit
def calls_functions_of_one_name(out):
    x = tl.load(out)
    tl.store(out + 1, half(x))
    tl.store(out + 2, double(x))
    tl.store(out + 3, apply(x, half))
    tl.store(out + 4, apply(x, double))
    tl.store(out + 5, rounded(x))
    tl.store(out + 6, kept(x))
    tl.store(out + 7, choose(x, "1"))
    tl.store(out + 8, choose(x, 1))
    tl.store(out + 9, choose(x, text_one))
    tl.store(out + 10, choose(x, number_one))


def test_functions_of_one_name_in_a_kernel_are_told_apart() -> None:
    out = np.full(11, 10, np.float32)
    calls_functions_of_one_name[(1,)](out)
    np.testing.assert_allclose(out[1:], [5, 20, 5, 20, 13, 13, 110, 11, 110, 11])
    out[0] = 1
    calls_functions_of_one_name[(1,)](out)
    np.testing.assert_allclose(out[5:7], [1, 1.3])


PROGRAM = textwrap.dedent("""
    import sys
    import types

    import numpy as np
    import minitriton as triton
    import minitriton.language as tl

    kind, text = tl.float32, sys.argv[1]
    settings = types.ModuleType("settings")
    if text == "a":
        DTYPE, ONE, settings.SCALE, DEFAULT = tl.int32, tl.constexpr("1"), tl.constexpr(2), tl.constexpr(5)
    else:
        DTYPE, ONE, settings.SCALE, DEFAULT = tl.float32, tl.constexpr(1), tl.constexpr(3), tl.constexpr(7)

    class Alike:
        def __repr__(self):
            return "alike"

    @triton.jit
    def helper(x, ADDED: tl.constexpr = DEFAULT):
        return x + ADDED

    @triton.jit
    def kernel(out, C: tl.constexpr):
        tl.store(out, (tl.load(out) * 1.5).to(DTYPE))
        if ONE == 1:
            tl.store(out + 1, 1)
        tl.store(out + 2, settings.SCALE)
        tl.store(out + 3, helper(tl.load(out + 3)))
        tl.store(out + 4, C.number)

    alike = Alike()
    alike.number = 1 if text == "a" else 2
    out = np.array([1, 0, 0, 0, 0], np.float32)
    kernel[(1,)](out, alike)
    print(*out.tolist())
""")


def test_the_key_on_disk_knows_globals_defaults_and_objects(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    found = [
        subprocess.run([sys.executable, program, which], capture_output=True, text=True, env=env) for which in "aba"
    ]
    assert [f.stdout.split() for f in found] == [
        ["1.0", "0.0", "2.0", "5.0", "1.0"],
        ["1.5", "1.0", "3.0", "7.0", "2.0"],
        ["1.0", "0.0", "2.0", "5.0", "1.0"],
    ], [f.stderr for f in found]
    assert len([p for p in (tmp_path / "cache").iterdir() if not p.name.startswith(".")]) == 2


def test_a_global_that_becomes_another_kind_of_number_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    one: Callable[[Any], None] = lambda value: monkeypatch.setitem(globals(), "number_one", value)  # noqa: E731
    out = np.full(11, 10, np.float32)
    calls_functions_of_one_name[(1,)](out)
    for value in (tl.constexpr(True), tl.constexpr(1.0), tl.constexpr("1")):
        one(value)
        with pytest.raises(RuntimeError, match="Global variable number_one has changed"):
            calls_functions_of_one_name[(1,)](out)


class _Asked:
    """Notes in the class that holds it that it was asked, as lazily completed classes of other libraries do."""

    def __get__(self, instance: object, owner: type | None = None) -> _Asked:
        return self

    @property
    def cache_key(self) -> str:
        KeepsWhatItIsAsked.known = 1
        return "asked"


class KeepsWhatItIsAsked:
    asked = _Asked()
    last = 2


def test_a_class_that_changes_while_it_is_asked_has_the_key_that_it_has_from_then_on() -> None:
    first = key_of(KeepsWhatItIsAsked())
    assert KeepsWhatItIsAsked.known == 1
    assert key_of(KeepsWhatItIsAsked()) == first


class WithoutState:
    size = 4


def test_asking_for_a_key_leaves_the_key_as_it_is() -> None:
    assert key_of(WithoutState()) == key_of(WithoutState())  # pickling, which is asked, notes the slots in the class
