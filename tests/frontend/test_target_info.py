"""`tl.target_info` answers on the host by the active driver, and for what is compiled by the target compiled for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.runtime import driver
from minitriton.target import GPUTarget


@triton.constexpr_function
def block_size():
    if not tl.target_info.is_cuda() or tl.target_info.is_hip():
        return 1
    return 256 if tl.target_info.cuda_capability_geq(9, 0) else tl.target_info.current_target().arch


@triton.jit
def kernel(out):
    asked_here: tl.constexpr = tl.target_info.cuda_capability_geq(9) and tl.target_info.is_cuda()
    arch: tl.constexpr = tl.target_info.current_target().arch
    tl.store(out, block_size() * 1000 + arch * 2 + asked_here)


def ttir(arch: int) -> str:
    source = ASTSource(kernel, {"out": "*i32"}, {})
    return str(triton.compile(source, target=GPUTarget("cuda", arch, 32)).asm["ttir"])


def test_kernels_and_constexpr_functions_are_told_the_target_compiled_for() -> None:
    assert str(256 * 1000 + 90 * 2 + 1) in ttir(90)
    assert str(80 * 1000 + 80 * 2) in ttir(80)


class Amd:
    """A driver of a program's own."""

    def get_current_target(self) -> SimpleNamespace:
        return SimpleNamespace(backend="hip", arch="gfx942", warp_size=64)


class Broken:
    def get_current_target(self) -> SimpleNamespace:
        raise RuntimeError("0 active drivers")


@pytest.fixture
def active(request: pytest.FixtureRequest):
    driver.set_active(request.param)
    yield
    driver.reset_active()


def host_answers() -> tuple[object, ...]:
    info = tl.target_info
    return info.is_cuda(), info.is_hip(), info.is_hip_cdna3(), info.is_hip_cdna4(), info.cuda_capability_geq(8, 9)


def test_the_host_is_told_the_target_of_the_active_driver() -> None:
    assert tl.target_info.current_target() == driver.active.get_current_target()
    assert host_answers() == (True, False, False, False, driver.active.get_current_target().arch >= 89)
    assert not tl.target_info.cuda_capability_geq(tl.constexpr(99), minor=9)


@pytest.mark.parametrize("active", [Amd()], indirect=True)
def test_a_driver_of_the_program_s_own_is_asked(active) -> None:
    assert host_answers() == (False, True, True, False, False)


@pytest.mark.parametrize("active", [Broken()], indirect=True)
def test_without_a_driver_there_is_no_target(active) -> None:
    assert tl.target_info.current_target() is None
    assert host_answers() == (False,) * 5
