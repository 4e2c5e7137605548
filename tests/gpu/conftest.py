"""Tests in this folder launch kernels: they need an NVIDIA GPU, torch for its arrays, and Triton to compare with."""

import pytest

from minitriton.runtime.driver import has_gpu


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if has_gpu():
        return
    for item in items:
        if "tests/gpu" in str(item.path):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))
