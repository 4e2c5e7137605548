"""`cuda_memcheck`: a test with cases that run under NVIDIA's memory checker.

@pytest.mark.parametrize("n", [100, 128])
@cuda_memcheck(n=100)
def test_copy(n, request): ...            # n=100 runs as a test of its own, under compute-sanitizer

The emulator checks every access of a kernel on host arrays, without this.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Protocol, cast

from minitriton.errors import MinitritonError

_CHECKERS = ("compute-sanitizer", "cuda-memcheck")
"""The checker of CUDA 11.6 and later, and the one before."""

_INSIDE = "MINITRITON_MEMCHECK"
"""Set in the environment of a test that is being checked."""


class PytestNode(Protocol):
    """A test as pytest names it."""

    nodeid: str


class PytestRequest(Protocol):
    """What pytest's fixture `request` gives."""

    node: PytestNode


def cuda_memcheck(**target_kwargs: object) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Decorator of a test: cases whose parameters include `target_kwargs` run under the checker and fail for what it finds.

    The test needs pytest's fixture `request`. Raises `MinitritonError` where no checker is installed.
    """

    def decorate(test: Callable[..., object]) -> Callable[..., None]:
        @functools.wraps(test)
        def checked(*args: object, **kwargs: object) -> None:
            if _INSIDE in os.environ or not target_kwargs.items() <= kwargs.items():
                test(*args, **kwargs)
                return
            if "request" not in kwargs:
                raise MinitritonError(
                    f"{test.__name__} is to be checked and lacks the parameter `request`",
                    help="add pytest's fixture `request` to its parameters",
                )
            request = cast(PytestRequest, kwargs["request"])
            file = cast(FunctionType, test).__code__.co_filename
            _run_checked(request.node.nodeid.partition("::")[2], os.path.realpath(file))

        return checked

    return decorate


def _run_checked(test: str, file: str) -> None:
    checker = next((path for name in _CHECKERS if (path := shutil.which(name))), None)
    if checker is None:
        raise MinitritonError(
            "no memory checker is installed", help="put compute-sanitizer of the CUDA toolkit on the PATH"
        )
    command = [checker, sys.executable, "-m", "pytest", "-vs", f"{file}::{test}"]
    environment = {**os.environ, _INSIDE: "1", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode or "ERROR SUMMARY: 0 errors" not in done.stdout:
        raise AssertionError(f"{os.path.basename(checker)} found errors in {test}:\n{done.stdout}{done.stderr}")
