"""Gluon by Triton's paths: `from triton.experimental import gluon`."""

import minitriton.language.gluon as language
from minitriton.as_triton.experimental.gluon import amd, nvidia
from minitriton.frontend.function import constexpr_function
from minitriton.language.aggregates import aggregate
from minitriton.language.declare import must_use_result
from minitriton.runtime.gluon import jit

__all__ = ["aggregate", "amd", "constexpr_function", "jit", "language", "must_use_result", "nvidia"]
