"""The text of a stage of a kernel compiled for an architecture, without a GPU: what the tests of texts that programs ask for look at."""

from __future__ import annotations

from typing import Any

import minitriton as triton

ARCHITECTURES = ("sm80", "sm86", "sm89", "sm90")
MEANINGS = (None, "acquire", "release", "acq_rel", "relaxed")
"""The `sem` of an atomic; none is `acq_rel`."""


def array(dtype: Any) -> triton.MockTensor:
    """Any aligned array of `dtype`."""
    return triton.MockTensor(dtype)


def text_of(kernel: Any, *args: object, stage: str = "ptx", **options: object) -> str:
    return kernel.warmup(*args, grid=(1,), **options).asm[stage]
