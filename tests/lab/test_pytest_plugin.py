"""The fixture in somebody's own suite: it passes on a sound pipeline and fails with the name of a broken pass."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import broken_passes
import numpy as np
import pytest
from broken_passes import broken
from checked_kernels import by_descriptor_call, loops_call, mixed_call, of_a_tuple_call

import minitriton as triton
import minitriton.language as tl
from minitriton.lab import checker
from minitriton.lab.comparison import Verdict
from minitriton.lab.execution import Launch, Level, Outcome
from minitriton.pipeline.pass_registry import Property
from minitriton.runtime.on_cpu.emulation import KernelFault


def test_a_sound_kernel_passes_and_gives_the_report(minitriton_check: Callable[..., Any]) -> None:
    report = minitriton_check(**loops_call())
    assert report.rows[-1].name == "emit-ptx"


def test_a_broken_pass_fails_the_test_with_its_name_and_reproducer(minitriton_check: Callable[..., Any]) -> None:
    name = broken(broken_passes.swap_subf)
    with pytest.raises(pytest.fail.Exception, match=f"pass '{name}' is broken") as failure:
        minitriton_check(**mixed_call(), after={"triton-licm": name})
    assert "reproducer: " in str(failure.value)


def test_a_place_that_the_pipeline_lacks_is_refused(minitriton_check: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match="the pipeline lacks pass 'nowhere'"):
        minitriton_check(**loops_call(), after={"nowhere": "cse"})


def test_arguments_may_be_tuples(minitriton_check: Callable[..., Any]) -> None:
    report = minitriton_check(**of_a_tuple_call())
    assert report.rows[-1].against_first in (Verdict.BIT_EQUAL, Verdict.CLOSE)


def test_without_a_gpu_the_check_ends_with_the_ptx(
    minitriton_check: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, "has_gpu", lambda: False)
    assert minitriton_check(**loops_call(), device="gpu").rows[-1].name == "emit-ptx"


@pytest.mark.parametrize("wrong", [False, True])
def test_numbers_of_the_gpu_are_compared_like_those_of_a_pass(
    wrong: bool, minitriton_check: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stands_for_the_gpu(launch: Launch, ptx: str) -> tuple[str, Outcome]:
        emulated = launch.run(ptx, frozenset({Property.PTX}))
        return "on a GPU", Outcome(Level.GPU, [array + wrong for array in emulated.arrays])

    monkeypatch.setattr(checker, "has_gpu", lambda: True)
    monkeypatch.setattr(checker, "run_on_gpu", stands_for_the_gpu)
    if not wrong:
        row = minitriton_check(**loops_call(), device="gpu").rows[-1]
        assert (row.name, row.level, row.against_before) == ("on a GPU", "gpu", Verdict.BIT_EQUAL)
        return
    with pytest.raises(pytest.fail.Exception, match="pass 'on a GPU' is broken"):
        minitriton_check(**loops_call(), device="gpu")


@pytest.mark.parametrize("arch", [80, 90])
def test_arguments_may_be_tensor_descriptors(arch: int, minitriton_check: Callable[..., Any]) -> None:
    report = minitriton_check(**by_descriptor_call(), arch=arch)
    assert report.rows[-1].against_first is Verdict.BIT_EQUAL
    assert Verdict.NOT_RUN not in [row.against_before for row in report.rows], report.text()


@triton.jit
def gather(x_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.load(index_ptr + offsets), tl.load(x_ptr + offsets))


def test_every_launch_of_a_kernel_is_checked_under_pytest() -> None:
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    sound, racing = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    first = gather[(1,)](x, sound, out, BLOCK=128).last_report
    second = gather[(1,)](x, sound[::-1].copy(), out, BLOCK=128).last_report
    assert first is not second
    assert second is not None
    with pytest.raises(KernelFault, match="thread-race"):
        gather[(1,)](x, racing, out, BLOCK=128)


def test_outside_of_pytest_the_report_is_of_the_launch_just_made_or_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MINITRITON_EMULATOR_CHECK")
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    index = np.arange(64, dtype=np.int32)
    assert gather[(1,)](x, index, out, BLOCK=64).last_report is not None
    kernel = gather[(1,)](x, index, out, BLOCK=64)
    assert kernel.last_report is None
    monkeypatch.setenv("MINITRITON_EMULATOR_CHECK", "1")
    assert gather[(1,)](x, index, out, BLOCK=64).last_report is not None


ENDLESS = """
import numpy as np
import minitriton as triton
import minitriton.language as tl

@triton.jit
def counts(x, n, BLOCK: tl.constexpr):
    k = n
    total = tl.zeros((BLOCK,), tl.int32)
    while k > 0:
        total ^= total * 5 + k
        k += 1
    tl.store(x + tl.arange(0, BLOCK), total)

def test_counts():
    counts[(1,)](np.zeros(64, np.int32), 1, BLOCK=64)
"""


def test_a_launch_that_takes_longer_than_the_option_says_fails_its_test_at_the_loop(tmp_path: Path) -> None:
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--emulator-seconds", "0.5", "test_endless.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "endless: no end after 0.5 s" in ran.stdout
    assert "test_endless.py:1" in ran.stdout
