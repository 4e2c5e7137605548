"""All that Triton keeps in `triton.language.core`: what `tl` offers of these modules, and what else programs take from there."""

from minitriton.language import descriptors, dtypes, iterators, memory, operations, values
from minitriton.language.aggregates import aggregate as _aggregate
from minitriton.language.aggregates import aggregate_replace
from minitriton.language.declare import builtin, must_use_result
from minitriton.language.descriptors import *
from minitriton.language.descriptors import tensor_descriptor_base
from minitriton.language.dtypes import *
from minitriton.language.dtypes import base_type, block_of, slice_type, validate_block_shape
from minitriton.language.iterators import *
from minitriton.language.memory import *
from minitriton.language.operations import *
from minitriton.language.operations import Reduced, builtin_max, builtin_min, extern, is_builtin
from minitriton.language.operations import promote_bfloat16_to_float32 as _promote_bfloat16_to_float32
from minitriton.language.operations import reduce_with_indices as _reduce_with_indices
from minitriton.language.values import *
from minitriton.language.values import CONSTEXPR_0, base_value, member, unwrap
from minitriton.language.values import unwrap as _unwrap_if_constexpr

__all__ = [
    "CONSTEXPR_0", "Reduced", "_aggregate", "_promote_bfloat16_to_float32", "_reduce_with_indices",
    "_unwrap_if_constexpr", "aggregate_replace", "base_type", "base_value", "block_of", "builtin", "builtin_max",
    "builtin_min", "extern", "is_builtin", "member", "must_use_result", "slice_type", "tensor_descriptor_base",
    "unwrap", "validate_block_shape",
]  # fmt: skip
__all__ += descriptors.__all__
__all__ += dtypes.__all__
__all__ += iterators.__all__
__all__ += memory.__all__
__all__ += operations.__all__
__all__ += values.__all__
