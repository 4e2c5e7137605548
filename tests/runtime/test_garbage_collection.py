"""No garbage is collected from the kernel's key to its PTX, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.runtime import compiling
from minitriton.target import GPUTarget


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)


def test_the_collector_is_off_while_the_key_is_made_and_on_again_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled: list[bool] = []
    make_key = compiling._cache_key  # pyright: ignore[reportPrivateUsage]

    def key(request: object) -> str:
        enabled.append(gc.isenabled())
        return make_key(request)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(compiling, "_cache_key", key)
    triton.compile(ASTSource(kernel, {"x_ptr": "*fp32"}, {}, {}), GPUTarget("cuda", 90, 32), {}, assemble=False)
    assert enabled == [False] and gc.isenabled()
