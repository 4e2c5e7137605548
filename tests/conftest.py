"""Shared by all tests: the example and parity cases are importable, and compiled kernels go to a cache of the test run's own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
sys.path.insert(0, str(Path(__file__).parent / "parity"))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))


@pytest.fixture(autouse=True, scope="session")
def own_kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
