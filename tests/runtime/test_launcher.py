"""The launcher packs arguments as PTX lays out parameters, and calls the driver once."""

import ctypes
import struct
from typing import Any

import pytest

from minitriton.errors import MinitritonError
from minitriton.runtime.launcher import Launcher, LaunchShape


class RecordingDriver:
    """A driver whose launch copies what a real one would read."""

    def __init__(self, code: int = 0) -> None:
        self.launches: list[tuple[tuple[Any, ...], bytes]] = []
        self.code = code
        self.library = self

    def cuLaunchKernelEx(self, config: Any, function: Any, parameters: Any, extra: Any) -> int:
        fields = struct.unpack("=7I4xQQI4x", ctypes.string_at(config.value, 56))
        pointers = (ctypes.c_void_p * 5).from_address(extra.value)
        size = ctypes.c_size_t.from_address(pointers[3]).value
        assert (pointers[0], pointers[2], pointers[4]) == (1, 2, None)
        self.launches.append((fields, ctypes.string_at(pointers[1], size)))
        return self.code

    def check(self, call: str, code: int, help: str | None = None) -> None:
        raise MinitritonError(call, help=help)


def launcher(types: list[str], driver: RecordingDriver, **shape: Any) -> Launcher:
    return Launcher(driver, 7, "k", types, LaunchShape(128, 64, **shape))  # type: ignore[arg-type]


def test_parameters_are_aligned_to_their_size() -> None:
    driver = RecordingDriver()
    launcher(["i8", "*fp32", "i32", "fp64"], driver).launch(3, 2, 1, 99, (-1, 4096, 5, 0.5))
    fields, parameters = driver.launches[0]
    assert fields == (3, 2, 1, 128, 1, 1, 64, 99, 0, 0)
    assert parameters == struct.pack("@bQidQQ", -1, 4096, 5, 0.5, 0, 0)


def test_half_precision_numbers_are_passed_as_their_bits() -> None:
    driver = RecordingDriver()
    launcher(["fp16", "bf16"], driver).launch(1, 1, 1, 0, (1.5, 1.0))
    assert driver.launches[0][1][:4] == struct.pack("<HH", 0x3E00, 0x3F80)


def test_launch_attributes_ask_for_a_cooperative_grid() -> None:
    driver = RecordingDriver()
    launcher([], driver, cooperative=True).launch(1, 1, 1, 0, ())
    assert driver.launches[0][0][-1] == 1


def test_a_number_that_does_not_fit_is_an_error_that_names_the_kernel() -> None:
    with pytest.raises(MinitritonError, match="kernel 'k'"):
        launcher(["i32"], RecordingDriver()).launch(1, 1, 1, 0, (2**40,))


def test_a_failed_launch_names_the_kernel() -> None:
    with pytest.raises(MinitritonError, match="kernel 'k'"):
        launcher([], RecordingDriver(code=1)).launch(1, 1, 1, 0, ())
