"""Places the global memory that programs ask for (`ttg.global_scratch_alloc`), where no earlier pass has.

In: a module. Out: `ttg.global_scratch_memory_offset` on each op, `ttg.global_scratch_memory_size` and `_alignment` on the module. Nothing
is shared: a kernel asks for a few descriptors of 128 bytes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

SCRATCH_OFFSET = "ttg.global_scratch_memory_offset"
SCRATCH_SIZE = "ttg.global_scratch_memory_size"
SCRATCH_ALIGNMENT = "ttg.global_scratch_memory_alignment"


def allocate_global_scratch(module: ModuleOp) -> None:
    """Gives every `ttg.global_scratch_alloc` of `module` a place of its own."""
    if SCRATCH_SIZE in module.attributes:
        return
    end = 0
    largest = 1
    for op in module.walk():
        if op.name != "ttg.global_scratch_alloc":
            continue
        size, alignment = op.properties["nbytes"], op.properties["alignment"]
        assert isinstance(size, IntegerAttr) and isinstance(alignment, IntegerAttr)
        step = alignment.value.data
        start = (end + step - 1) // step * step
        op.attributes[SCRATCH_OFFSET] = IntegerAttr(start, 32)
        end = start + size.value.data
        largest = max(largest, step)
    if end:
        end = (end + largest - 1) // largest * largest
        module.attributes[SCRATCH_SIZE] = IntegerAttr(end, 32)
        module.attributes[SCRATCH_ALIGNMENT] = IntegerAttr(largest, 32)
