"""What a launch gives to the kernel's parameters: every one of them, each of its kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_text import ptx_of

from minitriton import emulator
from minitriton.emulator import EmulationError

TEXT = ptx_of("ld.param.u64 %rd1, [p3]; st.global.b32 [%rd91], %r100;", "u64 u32 f32 u64")
UNREAD = ptx_of("st.global.b32 [%rd91], %r100;", "u64 u32")
OUT = np.zeros(32, np.uint32)


def refused(*arguments: Any, **options: Any) -> str:
    with pytest.raises(EmulationError) as caught:
        emulator.run(TEXT, "k", (1,), arguments, **options)
    return str(caught.value)


def test_a_pointer_left_out_is_an_error_that_names_it() -> None:
    said = refused(OUT, 1, 0.5)
    assert "<ptx>:8: error: parameter 3 (`p3`) of kernel `k`: no argument was given for it; there were 3" in said
    assert "scratch=" in said


def test_scratch_memory_is_given_where_it_is_asked_for() -> None:
    assert emulator.run(TEXT, "k", (1,), [OUT, 1, 0.5], scratch=64).ok


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((OUT, OUT, 0.5, OUT), "parameter 1 (`p1`) of kernel `k`: a .u32 was given an array"),
        ((OUT, 1.5, 0.5, OUT), "parameter 1 (`p1`) of kernel `k`: 1.5 is not an integer of 32 bits"),
        ((OUT, 1 << 32, 0.5, OUT), "4294967296 is not an integer of 32 bits"),
        ((OUT, "7", 0.5, OUT), "a .u32 takes a number or bytes, not str"),
        ((OUT, 1, [0.5], OUT), "parameter 2 (`p2`) of kernel `k`: a .f32 takes a number or bytes, not list"),
        (([1, 2], 1, 0.5, OUT), "parameter 0 (`p0`) of kernel `k`: a .u64 takes an array, an address or None, not list"),
        ((OUT, b"12345", 0.5, OUT), "it has 4 bytes, 5 were given"),
        ((np.array([[]], object), 1, 0.5, OUT), "(`p0`) of kernel `k`: elements of type object cannot be given to a kernel"),
        ((OUT, 1, 0.5, OUT.astype(">f4")), "(`p3`) of kernel `k`: elements of type >f4 cannot be given to a kernel"),
    ],
)  # fmt: skip
def test_an_argument_of_another_kind_is_an_error_at_its_parameter(arguments: tuple[Any, ...], text: str) -> None:
    said = refused(*arguments)
    assert text in said
    assert said.startswith("<ptx>:")


def test_names_of_arguments_are_used() -> None:
    assert "parameter 1 (n `p1`)" in refused(OUT, "7", 0.5, OUT, names=["out", "n"])


def test_numbers_of_every_width_are_taken() -> None:
    for value in (-1, np.int32(-1), np.uint32(0xFFFFFFFF), 0xFFFFFFFF, True, b"\xff\xff\xff\xff", None):
        assert emulator.run(UNREAD, "k", (1,), [OUT, value]).ok


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"ptx": None}, "PTX is a text, not a NoneType"),
        ({"ptx": TEXT.encode()}, "PTX is a text, not a bytes"),
        ({"grid": "a"}, "a grid is 1 to 3 numbers of programs, not 'a'"),
        ({"grid": 4}, "a grid is 1 to 3 numbers of programs, not 4"),
        ({"grid": ()}, "a grid is 1 to 3 numbers of programs, not ()"),
        ({"grid": (1, 2, 3, 4)}, "a grid is 1 to 3 numbers of programs, not (1, 2, 3, 4)"),
        ({"grid": (1, 2.5)}, "a grid is 1 to 3 numbers of programs, not (1, 2.5)"),
        ({"grid": (-1,)}, "a grid is 1 to 3 numbers of programs, not (-1,)"),
        ({"shared_bytes": "x"}, "shared_bytes is a number of bytes from 0 to 1048576, not 'x'"),
        ({"shared_bytes": -1}, "shared_bytes is a number of bytes from 0 to 1048576, not -1"),
    ],
)
def test_a_text_grid_or_size_of_another_kind_is_an_error(wrong: dict[str, Any], text: str) -> None:
    launch: dict[str, Any] = {"ptx": TEXT, "kernel": "k", "grid": (1,), "args": [OUT, 1, 0.5, OUT], **wrong}
    with pytest.raises(EmulationError) as caught:
        emulator.run(**launch)
    assert text in str(caught.value)
