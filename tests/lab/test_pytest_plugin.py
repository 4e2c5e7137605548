"""The fixture in somebody's own suite: it passes on a sound pipeline and fails with the name of a broken pass."""

from collections.abc import Callable
from typing import Any

import broken_passes
import pytest
from broken_passes import broken
from checked_kernels import loops_call, mixed_call


def test_a_sound_kernel_passes_and_gives_the_report(minitriton_check: Callable[..., Any]) -> None:
    report = minitriton_check(**loops_call())
    assert report.rows[-1].name == "emit-ptx"


def test_a_broken_pass_fails_the_test_with_its_name_and_reproducer(minitriton_check: Callable[..., Any]) -> None:
    name = broken(broken_passes.swap_subf)
    with pytest.raises(pytest.fail.Exception, match=f"pass '{name}' is broken") as failure:
        minitriton_check(**mixed_call(), after={"triton-licm": name})
    assert "reproducer: " in str(failure.value)


def test_a_place_that_the_pipeline_lacks_is_refused(minitriton_check: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match="the pipeline has no pass 'nowhere'"):
        minitriton_check(**loops_call(), after={"nowhere": "cse"})
