"""The language of kernels: `import minitriton.language as tl`. Names and meanings are Triton 3.6.0's, with what later
versions add (docs/newer-triton.md).

Each module says in its `__all__` what of it is `tl`'s. This package only declares; what each function becomes in the IR is in `minitriton.frontend`.
"""

from minitriton.language import (
    core,
    descriptors,
    dtypes,
    extra,
    iterators,
    math,
    memory,
    operations,
    random,
    sorting,
    standard,
    target_info,
    values,
)
from minitriton.language.aggregates import aggregate_replace
from minitriton.language.descriptors import *
from minitriton.language.dtypes import *
from minitriton.language.iterators import *
from minitriton.language.math import *
from minitriton.language.memory import *
from minitriton.language.operations import *
from minitriton.language.random import *
from minitriton.language.signatures import str_to_ty
from minitriton.language.sorting import *
from minitriton.language.standard import *
from minitriton.language.values import *

__all__ = ["aggregate_replace", "core", "dtypes", "extra", "math", "random", "standard", "str_to_ty", "target_info"]
__all__ += descriptors.__all__
__all__ += dtypes.__all__
__all__ += iterators.__all__
__all__ += math.__all__
__all__ += memory.__all__
__all__ += operations.__all__
__all__ += random.__all__
__all__ += sorting.__all__
__all__ += standard.__all__
__all__ += values.__all__

# Triton keeps sorting in `standard` too.
for _name in ("bitonic_merge", "flip", "sort", "sort_impl", "topk"):
    setattr(standard, _name, getattr(sorting, _name))
