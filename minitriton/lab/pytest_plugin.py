"""What pytest gets with minitriton: `pytest --as-triton` (`--triton-cpu`) runs tests written for Triton; every launch on host arrays is checked by the emulator, and the fixture `minitriton_check`: a test of
a kernel, or of a pass, that fails with the name of the broken pass.

def test_add(minitriton_check):
    minitriton_check(add, [x, y, out, 4000], grid=(4,), BLOCK=1024)

def test_my_pass(minitriton_check):
    minitriton_check(add, [x, y, out, 4000], grid=(4,), BLOCK=1024, after={"canonicalize": "my-pass"})
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from minitriton.lab.report import CheckReport
    from minitriton.runtime.jit import JITFunction

CHECK = "MINITRITON_EMULATOR_CHECK"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--as-triton`, `--triton-cpu`, `--poison`, `--races` and `--emulator-seconds`."""
    group = parser.getgroup("minitriton")
    group.addoption("--as-triton", action="store_true", help="`import triton` means minitriton, as under run_as_triton")
    group.addoption("--triton-cpu", action="store_true", help="the same, and CUDA devices are the CPU without a GPU")
    poison = "launches without a GPU fail where they depend on lanes that a mask turns off (a load without other=)"
    group.addoption("--poison", action="store_true", help=poison)
    races = "what a race between programs of a launch without a GPU is (default: MINITRITON_RACES, warn)"
    group.addoption("--races", choices=("error", "warn"), help=races)
    group.addoption(
        "--emulator-seconds",
        type=float,
        metavar="S",
        help="of one launch on the emulator, before it is an error at its loop; 0: no limit (default: 300)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest or test imports triton."""
    given = early_config.known_args_namespace
    if given.as_triton or given.triton_cpu:
        from minitriton.as_triton.run_as_triton import begin

        begin(on_cpu=given.triton_cpu)


def pytest_configure(config: pytest.Config) -> None:
    """Tests see the report of each launch, also the later ones of a kernel, unless the variable says otherwise."""
    if CHECK not in os.environ:
        os.environ[CHECK] = "1"
        config.add_cleanup(_forget_check)
    poison, races, seconds = (config.getoption(name) for name in ("--poison", "--races", "--emulator-seconds"))
    if not poison and races is None and seconds is None:
        return
    from minitriton import knobs
    from minitriton.commands.shared_options import time_limit

    given = contextlib.ExitStack()
    given.enter_context(knobs.emulator.scope())
    given.enter_context(knobs.compilation.scope())
    given.enter_context(time_limit(seconds))
    knobs.emulator.races = races or knobs.emulator.races
    if poison:
        knobs.compilation.instrumentation_mode = "poison"
    config.add_cleanup(given.close)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Of an error at a kernel's line pytest shows the test, then that line, and nothing of minitriton between; `--full-trace` shows all."""
    for entry in call.excinfo.traceback if call.excinfo is not None else ():
        if entry.frame.code.raw.co_filename.startswith((_PACKAGE, "<")):
            entry.frame.f_globals["__tracebackhide__"] = _is_of_a_kernel


def _is_of_a_kernel(failure: pytest.ExceptionInfo[BaseException]) -> bool:
    from minitriton.errors import MinitritonError

    return isinstance(failure.value, MinitritonError)


_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def _forget_check() -> None:
    os.environ.pop(CHECK, None)


@pytest.fixture
def minitriton_check(tmp_path: Path) -> Callable[..., CheckReport]:
    """Checks one call of a kernel after every pass; fails with the table if a pass is broken, else returns the report."""

    def check(
        kernel: JITFunction,
        args: Sequence[object],
        grid: tuple[int, ...],
        *,
        after: dict[str, str] | None = None,
        arch: int = 90,
        options: dict[str, object] | None = None,
        **others: Any,
    ) -> CheckReport:
        """As `minitriton.lab.check_call`; `after` adds passes after the first of a name in the target's default pipeline.

        `device="gpu"` runs the PTX at the end on the GPU too, where there is one.
        """
        from minitriton.lab import check_call
        from minitriton.lab.call import with_passes

        if after:
            others["pipeline"] = with_passes(after, arch=arch, options=options, kernel=kernel)
        report = check_call(kernel, args, grid, arch=arch, options=options, reproducers=tmp_path, **others)
        if not report.ok:
            pytest.fail(report.text(), pytrace=False)
        return report

    return check
