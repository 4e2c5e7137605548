"""The launcher lays parameters out as PTX does, and calls the driver once."""

import ctypes
import pickle
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from minitriton.errors import MinitritonError
from minitriton.runtime._allocation import _allocator
from minitriton.runtime.cuda_driver import NO_CONTEXT, CudaDriver
from minitriton.runtime.launching.launcher import Launcher, LaunchShape, SmallGridFunction
from minitriton.runtime.launching.loading import generic_call, passed_values


class RecordingDriver:
    """A driver whose launch copies what a real one would read."""

    launch_function = CudaDriver.launch_function

    def __init__(self, code: int = 0, function: int = 7) -> None:
        self.launches: list[tuple[tuple[Any, ...], bytes]] = []
        self.code = code
        self.function = function
        self.library = self
        signature = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
        self.cuLaunchKernelEx = signature(self._launch)

    def _launch(self, config: int, function: int, parameters: int, extra: int) -> int:
        fields = struct.unpack("=7I4xQQI4x", ctypes.string_at(config, 56))
        pointers = (ctypes.c_void_p * 5).from_address(extra)
        size = ctypes.c_size_t.from_address(pointers[3]).value
        assert (pointers[0], pointers[2], pointers[4], function, parameters) == (1, 2, None, self.function, None)
        self.launches.append((fields, ctypes.string_at(pointers[1], size)))
        return self.code

    def check(self, call: str, code: int, help: str | None = None) -> None:
        raise MinitritonError(call, help=help)


def launcher(types: list[str], driver: RecordingDriver, **shape: Any) -> Launcher:
    return Launcher(driver, 7, "k", types, LaunchShape(128, 64, **shape))  # type: ignore[arg-type]


def test_parameters_are_aligned_to_their_size() -> None:
    driver = RecordingDriver()
    launcher(["i8", "*fp32", "i32", "fp64", "fp32"], driver).launch(3, 2, 1, 99, (-1, 4096, 5, 0.5, 1.5))
    fields, parameters = driver.launches[0]
    assert fields == (3, 2, 1, 128, 1, 1, 64, 99, 0, 0)
    assert parameters == struct.pack("@bQidfQQ", -1, 4096, 5, 0.5, 1.5, 0, 0)


def test_unsigned_and_negative_numbers_keep_their_bits() -> None:
    driver = RecordingDriver()
    launcher(["u64", "i64", "i16", "u1"], driver).launch(1, 1, 1, 0, (2**64 - 1, -5, -2, True))
    assert driver.launches[0][1] == struct.pack("@QqhBQQ", 2**64 - 1, -5, -2, 1, 0, 0)


def test_values_that_were_compiled_in_are_skipped() -> None:
    driver = RecordingDriver()
    launch = launcher(["*fp32", "i32"], driver).positional((0, 2))
    assert launch(1, 1, 1, 0, None, 4096, 1, 9) == 0
    assert driver.launches[0][1] == struct.pack("@QiQQ", 4096, 9, 0, 0)


@pytest.mark.parametrize(("grid", "function"), [((2, 3, 4), 7), ((2, 3, 5), 8), ((25, 1, 1), 8), ((1, 1, 1), 7)])
def test_a_launch_of_few_blocks_has_a_function_of_its_own(grid: tuple[int, int, int], function: int) -> None:
    driver = RecordingDriver(function=function)
    many = Launcher(driver, 8, "k", ["i32"], LaunchShape(128, 64), 0, SmallGridFunction(7, 24))  # type: ignore[arg-type]
    many.launch(*grid, 0, (1,))
    assert driver.launches[0][0][:3] == grid


def test_a_function_for_few_blocks_is_made_when_the_first_such_launch_comes() -> None:
    driver, made = RecordingDriver(function=8), list[int]()
    few = SmallGridFunction(lambda: made.append(7) or 7, 24)
    many = Launcher(driver, 8, "k", ["i32"], LaunchShape(128, 64), 0, few)  # type: ignore[arg-type]
    many.launch(25, 1, 1, 0, (1,))
    assert not made
    driver.function = 7
    for _ in range(2):
        many.launch(2, 3, 4, 0, (1,))
    assert made == [7] and len(driver.launches) == 3


def test_a_launch_of_few_blocks_does_without_a_function_that_cannot_be_made() -> None:
    def fail() -> int:
        raise MinitritonError("no assembler")

    driver = RecordingDriver(function=8)
    many = Launcher(driver, 8, "k", ["i32"], LaunchShape(128, 64), 0, SmallGridFunction(fail, 24))  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="no assembler"):
        many.launch(2, 3, 4, 0, (1,))
    assert driver.launches[0][0][:3] == (2, 3, 4)


def test_blocks_of_clusters_count() -> None:
    driver = RecordingDriver(function=8)
    shape = LaunchShape(128, 64, num_ctas=2)
    Launcher(driver, 8, "k", ["i32"], shape, 0, SmallGridFunction(7, 24)).launch(13, 1, 1, 0, (1,))  # type: ignore[arg-type]
    assert driver.launches[0][0][0] == 26


def test_ptx_written_by_hand_gets_no_more_parameters_than_it_takes() -> None:
    driver = RecordingDriver()
    launcher(["*fp32", "i32"], driver, parameter_slots=((0, 8), (8, 4))).launch(1, 1, 1, 0, (4096, 9))
    launcher(["*fp32", "i32"], driver, parameter_slots=((0, 8),)).launch(1, 1, 1, 0, (4096, 9))
    assert [p for _, p in driver.launches] == [struct.pack("@Qi", 4096, 9), struct.pack("@Q", 4096)]


def test_parameters_are_where_the_driver_says() -> None:
    driver = RecordingDriver()
    launcher(["i32", "i64"], driver, parameter_slots=((16, 4), (24, 8), (32, 8), (40, 8))).launch(1, 1, 1, 0, (5, 6))
    assert driver.launches[0][1] == struct.pack("@16xi4xqQQ", 5, 6, 0, 0)


def test_half_precision_numbers_are_passed_as_their_bits() -> None:
    driver = RecordingDriver()
    one = launcher(["fp16", "bf16"], driver)
    one.launch(1, 1, 1, 0, (1.5, 1.0))
    one.positional((1,))(1, 1, 1, 0, 1.5, None, 1.0)
    for _, parameters in driver.launches:
        assert parameters[:4] == struct.pack("<HH", 0x3E00, 0x3F80)


def test_scratch_memory_comes_from_the_allocator_of_the_program() -> None:
    driver, asked = RecordingDriver(), []

    class Buffer:
        def data_ptr(self) -> int:
            return 0x5000

    def allocate(size: int, alignment: int, stream: int | None) -> Buffer:
        asked.append((size, alignment, stream))
        return Buffer()

    token = _allocator.set(allocate)
    try:
        needy = launcher(["i32", "fp16"], driver, scratch_bytes=256, scratch_alignment=128)
        needy.launch(3, 2, 1, 9, (5, 1.5))
    finally:
        _allocator.reset(token)
    assert asked == [(256 * 6, 128, 9)]
    assert driver.launches[0][1] == struct.pack("@iHQQ", 5, 0x3E00, 0x5000, 0)
    with pytest.raises(MinitritonError, match="set_allocator"):
        needy.launch(1, 1, 1, 0, (5, 1.5))


def test_launch_attributes_ask_for_a_cooperative_grid() -> None:
    driver = RecordingDriver()
    launcher([], driver, cooperative=True).launch(1, 1, 1, 0, ())
    assert driver.launches[0][0][-1] == 1


def test_a_number_that_does_not_fit_is_an_error_that_names_the_kernel() -> None:
    with pytest.raises(MinitritonError, match="kernel 'k'"):
        launcher(["i32"], RecordingDriver()).launch(1, 1, 1, 0, (2**40,))


def test_what_is_no_number_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        launcher(["i32"], RecordingDriver()).positional(())(1, 1, 1, 0, "many")


def test_a_failed_launch_names_the_kernel() -> None:
    with pytest.raises(MinitritonError, match="kernel 'k'"):
        launcher([], RecordingDriver(code=1)).launch(1, 1, 1, 0, ())


def test_a_tensor_map_is_passed_by_value_where_the_constant_bank_aligns_it_to_64() -> None:
    driver, map = RecordingDriver(), ctypes.create_string_buffer(bytes(range(128)), 128)
    one = launcher(["i32", "nvTmaDesc", "i32", "i64"], driver)
    one.launch(1, 1, 1, 0, (5, ctypes.addressof(map), 6, 7))
    one.positional((1,))(1, 1, 1, 0, 5, None, ctypes.addressof(map), 6, 7)
    for _, parameters in driver.launches:
        assert (0x210 + 48) % 64 == 0
        assert parameters == struct.pack("@i44x", 5) + bytes(range(128)) + struct.pack("@iqQQ", 6, 7, 0, 0)


def test_a_program_of_several_blocks_is_launched_as_a_cluster() -> None:
    driver, scratch = RecordingDriver(), ctypes.create_string_buffer(8)

    class Buffer:
        def data_ptr(self) -> int:
            return ctypes.addressof(scratch)

    asked: list[int] = []

    def allocate(size: int, alignment: int, stream: int | None) -> Buffer:
        asked.append(size)
        return Buffer()

    token = _allocator.set(allocate)
    try:
        one = launcher([], driver, num_ctas=4, scratch_bytes=128)
        one.launch(3, 2, 1, 0, ())
    finally:
        _allocator.reset(token)
    assert driver.launches[0][0][:3] == (12, 2, 1)
    assert driver.launches[0][0][-1] == 2
    assert asked == [128 * 4 * 3 * 2]
    assert struct.unpack("=I4x3I", one._attributes.raw[:20]) == (4, 4, 1, 1)


def tensor(address: int) -> Any:
    return SimpleNamespace(data_ptr=lambda: address)


@pytest.mark.parametrize(
    ("types", "signature", "arguments", "expected"),
    [
        (
            ["*fp32", "i32"],
            {"x": "*fp32", "ONE": "constexpr", "n": "i32", "BLOCK": "constexpr"},
            (tensor(4096), 1, 7, 128),
            struct.pack("@QiQQ", 4096, 7, 0, 0),
        ),
        (
            ["*fp32", "fp32", "*fp32"],
            {"x": "*fp32", "pair": ("fp32", "constexpr", "*fp32")},
            (tensor(4096), (1.5, None, tensor(8192))),
            struct.pack("@QfQQQ", 4096, 1.5, 8192, 0, 0),
        ),
    ],
    ids=["plain", "tuple"],
)
def test_all_arguments_are_given_and_what_is_compiled_in_is_passed_over(types, signature, arguments, expected) -> None:
    driver = RecordingDriver()
    made = launcher(types, driver)
    made.call = generic_call(made, signature, None, passed_values)
    told: list[Any] = []
    made(3, 2, 1, 99, 0, (4, 1, 0), "metadata", told.append, told.append, *arguments)
    fields, parameters = driver.launches[0]
    assert fields[:3] == (3, 2, 1) and fields[7] == 99 and parameters == expected and told == ["metadata"] * 2
    with pytest.raises(MinitritonError, match="parameters"):
        made(1, 1, 1, 0, 0, None, None, None, None, *arguments[:-1])


def test_arguments_may_be_given_with_those_that_are_compiled_in() -> None:
    tensor = SimpleNamespace(is_cuda=True, data_ptr=lambda: 4096)
    driver = RecordingDriver()
    made = launcher(["*fp32", "i32"], driver)
    made.ways = {4: (0, 2), 3: (0, 1)}
    assert made.launch_plain(1, 1, 1, 0, (tensor, None, 7, "constant")) and made.launch_plain(
        1, 1, 1, 0, (tensor, 8, 1)
    )
    assert [parameters[:12] for _, parameters in driver.launches] == [struct.pack("Qi", 4096, n) for n in (7, 8)]
    assert not made.launch_plain(1, 1, 1, 0, (tensor, 7, None, "constant"))
    assert not made.launch_plain(1, 1, 1, 0, (tensor,) * 5) and made.launch_plain(1, 1, 1, 0, (tensor, 9))
    assert len(driver.launches) == 3


def test_what_stands_for_a_tensor_of_a_gpu_is_passed_as_it_is() -> None:
    part = lambda kind: SimpleNamespace(device=SimpleNamespace(type=kind), data_ptr=lambda: 4096)  # noqa: E731
    driver = RecordingDriver()
    made = launcher(["*fp32", "i32"], driver)
    for _ in range(2):
        assert made.launch_plain(1, 1, 1, 0, (part("cuda"), 5))
        assert made.launch_plain(1, 1, 1, 0, (SimpleNamespace(is_cuda=True, **vars(part("cuda"))), 5))
        assert not made.launch_plain(1, 1, 1, 0, (part("cpu"), 5))
        assert not made.launch_plain(1, 1, 1, 0, (4096, 5)) and not made.launch_plain(1, 1, 1, 0, (None, 5))
    assert len(driver.launches) == 4
    assert not launcher(["i64"], driver).launch_plain(1, 1, 1, 0, (2**63,))


def test_what_stands_for_a_tensor_is_launched_in_a_thread_without_a_context() -> None:
    current: list[int] = []
    driver: Any = RecordingDriver(NO_CONTEXT)

    def make_current(device: int) -> None:
        current.append(device)
        driver.code = 0

    driver.set_current_device = make_current
    tensor = SimpleNamespace(device=SimpleNamespace(type="cuda"), data_ptr=lambda: 4096)
    assert launcher(["*fp32"], driver).launch_plain(1, 1, 1, 0, (tensor,)) and current == [0]


def test_a_launcher_is_of_its_process() -> None:
    assert pickle.loads(pickle.dumps(launcher(["i32"], RecordingDriver()))) is None


def test_a_grid_of_more_than_32_bits_is_the_driver_s_to_refuse() -> None:
    driver = RecordingDriver()
    for size in (2**32 + 1, 2**40, -1):
        launcher([], driver).positional(())(1, size, 1, 0)
    assert [fields[1] for fields, _ in driver.launches] == [2**32 - 1] * 3


def test_tensors_of_a_gpu_and_numbers_that_fit_are_passed_as_they_are() -> None:
    tensor = lambda is_cuda: SimpleNamespace(is_cuda=is_cuda, data_ptr=lambda: 4096)  # noqa: E731
    driver = RecordingDriver()
    made = launcher(["*fp32", "i32", "fp32"], driver)
    assert made.launch_plain(1, 2, 3, 99, (tensor(True), 5, 1.5))
    fields, parameters = driver.launches[0]
    assert fields[:3] == (1, 2, 3) and fields[7] == 99
    assert parameters[:16] == struct.pack("Qif", 4096, 5, 1.5)
    for other in (
        *((tensor(False), 5, 1.5), (tensor(True), 2**31, 1.5), (tensor(True), 1.0, 1.5), (tensor(True), 5, 1)),
        *((tensor(True), True, 1.5), (tensor(True), 5), (4096, 5, 1.5), (None, 5, 1.5)),
    ):
        assert not made.launch_plain(1, 1, 1, 0, other)
    assert not launcher(["fp16"], driver).launch_plain(1, 1, 1, 0, (1.5,)) and len(driver.launches) == 1
