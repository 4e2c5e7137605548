"""Shared by all tests: the example and parity cases are importable, compiled kernels go to a cache of the test run's own, and a
test that leaves a setting changed fails itself, not whichever runs after it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitriton import knobs

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
sys.path.insert(0, str(Path(__file__).parent / "parity"))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))


@pytest.fixture(autouse=True, scope="session")
def own_kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def _settings() -> dict[str, Any]:
    """What has been set of every group of knobs, and the environment variables that they read."""
    groups = {name: group for name, group in vars(knobs).items() if isinstance(group, knobs.base_knobs)}
    found = {
        f"knobs.{name}.{knob}": list(value) if isinstance(value, list) else value
        for name, group in groups.items()
        for knob, value in vars(group).items()
    }
    variables = {knob.key for group in groups.values() for knob in group.knob_descriptors.values()}
    return found | {f"${name}": os.environ[name] for name in sorted(variables & os.environ.keys())}


@pytest.fixture(autouse=True)
def settings_are_left_as_they_were(own_kernel_cache: None) -> Iterator[None]:
    before = _settings()
    yield
    assert _settings() == before
