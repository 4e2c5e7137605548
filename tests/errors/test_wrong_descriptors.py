"""Descriptors whose tensor no tensor copy can read: an error at the kernel's line, before the copy or at it, that says what to do."""

# pyright: standard

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import LoweringError
from minitriton.runtime.on_cpu.emulation import KernelFault
from minitriton.tools.tensor_descriptor import DescriptorError, TensorDescriptor


@triton.jit
def corner(a, c, M, N, stride, STEP: tl.constexpr, SIZE: tl.constexpr):
    d = tl.make_tensor_descriptor(a, [M, N], [stride if STEP is None else STEP, 1], [SIZE, SIZE])
    rows = tl.arange(0, SIZE)
    tl.store(c + rows[:, None] * SIZE + rows[None, :], d.load([0, 0]))


def launch(a: np.ndarray, stride: int, step: int | None) -> np.ndarray:
    triton.set_allocator(lambda size, alignment, stream: np.zeros(size, np.int8))
    c = np.zeros((32, 32), np.float16)
    corner[(1,)](a, c, 64, a.shape[-1], stride, step, 32)
    return c


@pytest.fixture(autouse=True)
def on_hopper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")


def test_a_stride_that_is_known_is_refused_when_the_kernel_is_compiled() -> None:
    with pytest.raises(LoweringError, match="stride of 130 bytes along dimension 0") as caught:
        launch(np.zeros((64, 65), np.float16), 65, 65)
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert "pad the tensor" in (caught.value.help or "")


def test_a_stride_that_only_the_launch_knows_is_found_where_the_map_is_made() -> None:
    with pytest.raises(KernelFault, match="misaligned: a tensor map with a stride of 130 bytes") as caught:
        launch(np.zeros((64, 65), np.float16), 65, None)
    assert f"{__file__}:{corner.fn.__code__.co_firstlineno + 2}" in str(caught.value)


def test_so_is_a_tensor_that_begins_beside_an_aligned_address() -> None:
    with pytest.raises(KernelFault, match=r"misaligned: a tensor map with the address .* no multiple of 16"):
        launch(np.zeros(64 * 64 + 8, np.float16)[1 : 64 * 64 + 1].reshape(64, 64), 64, None)


@pytest.mark.parametrize("step", [None, 65])
def test_pointers_read_such_tensors_where_there_are_no_tensor_copies(
    step: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    a = np.random.default_rng(0).standard_normal((64, 65)).astype(np.float16)
    np.testing.assert_array_equal(launch(a, 65, step), a[:32, :32])


@pytest.mark.parametrize(
    ("shape", "strides", "help"),
    [
        ([40, 64], [9, 1], "[9, 1] elements: pad all but the last to multiples of 8"),
        ([40, 64], [64, 2], "its stride is 2"),
        ([0, 64], [64, 1], "it is [0, 64]"),
    ],
)
def test_the_host_s_descriptor_says_what_to_do(shape: list[int], strides: list[int], help: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        TensorDescriptor(np.zeros((40, 64), np.float16), shape, strides, [8, 32])
    assert help in (caught.value.help or "")
