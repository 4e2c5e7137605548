"""Launch paths: one compile for each thing a compile depends on, and the right values passed."""

import sys
from collections import namedtuple
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.kernel_interface import Purpose
from minitriton.runtime.launching.dispatch import Dispatcher

Point = namedtuple("Point", "x y")


class Tensor:
    """What a launch path asks of a torch tensor."""

    def __init__(self, address: int, dtype: str = "float32", is_cuda: bool = True) -> None:
        self.address, self.dtype, self.is_cuda = address, dtype, is_cuda
        self.device = SimpleNamespace(type="cuda" if is_cuda else "cpu")

    def data_ptr(self) -> int:
        return self.address


@pytest.fixture(autouse=True)
def fake_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = ModuleType("torch")
    torch.Tensor = Tensor  # type: ignore[attr-defined]
    nothing = lambda: None  # noqa: E731
    torch.cuda = SimpleNamespace(is_available=lambda: True, init=nothing, current_device=nothing)  # type: ignore[attr-defined]
    torch._C = SimpleNamespace(_cuda_getDevice=lambda: 0, _cuda_getCurrentRawStream=lambda device: 7)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)


class Recorder:
    """The compiler and driver below a dispatcher."""

    def __init__(self, names: str, constexprs: str = "", purpose: Purpose = Purpose.LAUNCH, **defaults: Any) -> None:
        self.prepared: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.launched: list[tuple[Any, ...]] = []
        self.on_host: list[Any] = []
        self.announced: list[Any] = []
        self.dispatcher = Dispatcher(
            purpose,
            names.split(),
            frozenset(constexprs.split()),
            defaults,
            self.prepare,
            lambda grid, args, options: self.on_host.append(args),
            lambda args: None,
            lambda *facts: self.announced.append(facts) or "metadata",
            lambda: None,
            self.settle,
        )
        self.path = self.dispatcher.first()

    def settle(self, path: Any) -> None:
        self.path = path

    def prepare(self, args: tuple[Any, ...], options: dict[str, Any], device: int) -> Any:
        self.prepared.append((args, options))

        def launch(*values: Any) -> int:
            self.launched.append(values)
            return 0

        describe = lambda descriptor, address: (address, *descriptor.shape)  # noqa: E731
        return launch, f"kernel {len(self.prepared)}", None, (describe, describe)

    def __call__(self, grid: Any, *args: Any, **options: Any) -> Any:
        """As a kernel launches."""
        return self.path(grid, *args, **options)


def test_a_launch_passes_grid_stream_addresses_and_numbers() -> None:
    kernel = Recorder("x n BLOCK", "BLOCK")
    assert kernel((3,), Tensor(4096), 5, BLOCK=128) == "kernel 1"
    kernel((3, 2), Tensor(8192), 6, BLOCK=128)
    assert kernel.launched == [(3, 1, 1, 7, 4096, 5), (3, 2, 1, 7, 8192, 6)]
    assert len(kernel.prepared) == 1


@pytest.mark.parametrize(
    "other",
    [
        (Tensor(4096 + 4), 5, 128),
        (Tensor(4096, "float16"), 5, 128),
        (Tensor(4096), 1, 128),
        (Tensor(4096), 16, 128),
        (Tensor(4096), 2**31, 128),
        (Tensor(4096), 5, 64),
        (Tensor(4096), 5.0, 128),
        (Tensor(4096), True, 128),
        (Tensor(4096), None, 128),
    ],
    ids=["alignment", "dtype", "one", "sixteen", "wide", "constexpr", "float", "bool", "none"],
)
def test_what_a_compile_depends_on_makes_another_compile(other: tuple[Any, ...]) -> None:
    kernel = Recorder("x n BLOCK", "BLOCK")
    kernel((1,), Tensor(4096), 5, 128)
    kernel((1,), *other)
    assert len(kernel.prepared) == 2
    kernel((1,), *other)
    kernel((1,), Tensor(4096), 5, 128)
    assert len(kernel.prepared) == 2


def test_constexprs_that_compare_equal_but_differ_in_type_are_told_apart() -> None:
    kernel = Recorder("x FLAG", "FLAG")
    for flag in (True, 1, 1.0):
        kernel((1,), Tensor(4096), flag)
    assert len(kernel.prepared) == 3


def test_compile_options_are_part_of_the_key_and_reach_the_compiler() -> None:
    kernel = Recorder("x")
    kernel((1,), Tensor(4096), num_warps=4)
    kernel((1,), Tensor(4096), num_warps=8)
    kernel((1,), Tensor(4096), num_warps=4)
    assert [options for _, options in kernel.prepared] == [{"num_warps": 4}, {"num_warps": 8}]


def test_options_and_constexprs_that_cannot_be_hashed_are_told_apart_by_what_they_hold() -> None:
    kernel = Recorder("x SHAPE", "SHAPE")
    given = [
        (([1], 2), {"extern_libs": {"mine": "a.bc"}}),
        (([1], 2), {"extern_libs": {"mine": "b.bc"}}),
        (([1], 2), {"extern_libs": [("mine", "a.bc")]}),
        (([2], 2), {"extern_libs": {"mine": "a.bc"}}),
    ]
    for shape, options in given * 2:
        kernel((1,), Tensor(4096), shape, **options)
    assert [(args[1], options) for args, options in kernel.prepared] == given
    assert len(kernel.launched) == 8


def test_a_changed_dict_is_another_option() -> None:
    kernel = Recorder("x")
    libraries = {"mine": "a.bc"}
    kernel((1,), Tensor(4096), extern_libs=libraries)
    libraries["mine"] = "b.bc"
    kernel((1,), Tensor(4096), extern_libs=libraries)
    assert len(kernel.prepared) == 2


def test_a_grid_may_be_a_function_of_the_arguments() -> None:
    kernel = Recorder("x n BLOCK", "BLOCK")
    kernel(lambda meta: (meta["n"] // meta["BLOCK"],), Tensor(4096), 512, BLOCK=128)
    assert kernel.launched[0][:3] == (4, 1, 1)


def test_defaults_and_keywords_bind_as_in_a_call() -> None:
    kernel = Recorder("x n BLOCK", "BLOCK", BLOCK=32)
    kernel((1,), n=5, x=Tensor(4096))
    assert kernel.prepared[0][0][1:] == (5, 32)
    with pytest.raises(TypeError, match="missing"):
        kernel((1,), Tensor(4096))


def test_host_arrays_stay_on_the_cpu() -> None:
    kernel = Recorder("x n")
    kernel((1,), Tensor(4096), 5)
    kernel((1,), Tensor(4096, is_cuda=False), 5)
    kernel((1,), np.zeros(3), 5)
    assert len(kernel.on_host) == 2
    assert len(kernel.launched) == 1


class DeviceArray:
    """An array of another library, told by its class."""

    dtype = "float32"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"data": (8192, False), "typestr": "<f4"}


def test_a_tensor_does_not_take_the_path_of_other_arrays() -> None:
    kernel = Recorder("x n")
    kernel((1,), DeviceArray(), 5)
    kernel((1,), Tensor(4096, is_cuda=False), 5)
    kernel((1,), Tensor(4096), 5)
    assert [launch[4] for launch in kernel.launched] == [8192, 4096]
    assert len(kernel.on_host) == 1


def test_parts_of_tuples_are_passed_one_by_one() -> None:
    kernel = Recorder("x pair n")
    kernel((1,), Tensor(4096), (Tensor(8192), (5, 1.5), ()), 6)
    kernel((1,), Tensor(4096), Point(1, None), 6)
    assert [launch[4:] for launch in kernel.launched] == [(4096, 8192, 5, 1.5, 6), (4096, 1, None, 6)]


def test_a_descriptor_is_passed_as_what_the_kernel_takes_for_it() -> None:
    kernel = Recorder("x d")
    descriptor = SimpleNamespace(base=Tensor(8192), shape=[4, 5], strides=[5, 1], block_shape=[2, 2], padding="zero")
    kernel((1,), Tensor(4096), (descriptor, 7))
    assert kernel.launched[0][4:] == (4096, 8192, 4, 5, 7)
    descriptor.block_shape = [4, 2]
    kernel((1,), Tensor(4096), (descriptor, 7))
    descriptor.base = Tensor(8192, is_cuda=False)
    kernel((1,), Tensor(4096), (descriptor, 7))
    assert (len(kernel.prepared), len(kernel.launched), len(kernel.on_host)) == (2, 2, 1)


def test_hooks_are_told_around_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Recorder("x n", purpose=Purpose.LAUNCH_WITH_HOOKS)
    x = Tensor(4096)
    monkeypatch.setattr(knobs.runtime, "launch_enter_hook", kernel.announced.append)
    monkeypatch.setattr(knobs.runtime, "launch_exit_hook", kernel.launched.append)
    kernel((2,), x, 5)
    assert kernel.announced == [("kernel 1", 7, (2, 1, 1), (x, 5)), "metadata"]
    assert kernel.launched == [(2, 1, 1, 7, 4096, 5), "metadata"]


def test_a_warmup_takes_dtypes_for_tensors_and_launches_nothing() -> None:
    kernel = Recorder("x n", purpose=Purpose.WARMUP)
    assert [kernel((1,), np.dtype(t), 5) for t in ("f4", "f8", "f4")]
    assert (len(kernel.prepared), kernel.launched) == (2, [])


@pytest.mark.parametrize("grid", [(2, 3, 4, 5), (), (2**31,), (-1,), (1.5,), "xy"])
def test_a_wrong_grid_is_refused_before_a_compile(grid: Any) -> None:
    kernel = Recorder("x")
    with pytest.raises(MinitritonError, match="grid"):
        kernel(grid, Tensor(4096))
    assert not kernel.prepared
    kernel((1,), Tensor(4096))
    if len(grid) != 1:
        with pytest.raises(MinitritonError, match="grid"):
            kernel(grid, Tensor(4096))


def test_parameters_may_have_any_name() -> None:
    kernel = Recorder("x y z grid options device key entry code launch", "code launch")
    assert kernel((2, 3), Tensor(4096), 5, 6, 7, 8, 9, 10, 11, code=1, launch=2) == "kernel 1"
    assert kernel.launched == [(2, 3, 1, 7, 4096, 5, 6, 7, 8, 9, 10, 11)]


def test_what_traces_a_program_leaves_the_choice_of_a_path_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Any] = []
    dynamo = SimpleNamespace(disable=lambda function: left.append(function.__name__) or function)
    monkeypatch.setitem(sys.modules, "torch._dynamo", dynamo)
    kernel = Recorder("x n")
    kernel((1,), Tensor(4096), 5)
    kernel((1,), Tensor(4096), 5.0)
    kernel((1,), Tensor(4096, is_cuda=False), 5)
    assert left == ["general", "general", "launch_on_host"]
