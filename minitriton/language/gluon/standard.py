"""Functions written in Gluon itself: tensors of one number."""

# The annotation `constexpr` speaks to the kernel compiler; to Python it is any value.
# pyright: standard, reportArgumentType=false, reportAssignmentType=false

from __future__ import annotations

from minitriton.language.declare import library
from minitriton.language.gluon.core import full


@library
def zeros(shape, dtype, layout=None):
    """A tensor of `shape` filled with zeros."""
    return full(shape, 0, dtype, layout)


@library
def full_like(input, value, shape=None, dtype=None, layout=None):
    """A tensor filled with `value`, its shape, dtype and layout those of `input` where none are given."""
    return full(
        input.shape if shape is None else shape,
        value,
        input.dtype if dtype is None else dtype,
        input.type.layout if layout is None else layout,
    )


@library
def zeros_like(input, shape=None, dtype=None, layout=None):
    """`full_like` with zeros."""
    return full_like(input, 0, shape=shape, dtype=dtype, layout=layout)
