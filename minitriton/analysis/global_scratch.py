"""Offsets in the global memory that programs ask for (`ttg.global_scratch_alloc`), a tensor map made in the kernel say.

In: a module. Out: `ttg.global_scratch_memory_offset` on each such op and on each call; `ttg.global_scratch_memory_size` and `_alignment` on
each function, and those of the kernel on the module.

    ttg.global_scratch_alloc {nbytes = 100, alignment = 8}       offset 0
    tt.call @f                                                   offset 128: what @f needs, 128 bytes aligned to 128
                                                                 size 256, alignment 128

Nothing is shared or reused: a kernel asks for a few descriptors. Counterpart of
lib/Conversion/TritonGPUToLLVM/GlobalScratchMemoryAllocation.cpp.
"""

from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.dialects import tt, ttg
from minitriton.dialects.attribute_values import i32_attr, integer_or
from minitriton.dialects.fast_paths.op_access import ops_in

SCRATCH_OFFSET = "ttg.global_scratch_memory_offset"
SCRATCH_SIZE = "ttg.global_scratch_memory_size"
SCRATCH_ALIGNMENT = "ttg.global_scratch_memory_alignment"


def scratch_attr(op: Operation, name: str, default: int) -> int:
    """The number that attribute `name` of `op` holds."""
    return integer_or(op.attributes.get(name), default)


def allocate_global_scratch(module: ModuleOp) -> None:
    """Gives every op of `module` that asks for global memory an offset of its own in its function's. Functions must not recurse."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, tt.FuncOp)}
    done: set[tt.FuncOp] = set()
    for function in functions.values():
        _allocate(function, functions, done)
        if function.is_public:
            for name in (SCRATCH_SIZE, SCRATCH_ALIGNMENT):
                module.attributes[name] = function.attributes[name]


def _allocate(function: tt.FuncOp, functions: dict[str, tt.FuncOp], done: set[tt.FuncOp]) -> None:
    if function in done:
        return
    done.add(function)
    end, largest = 0, 1
    for op in ops_in(function):
        size, alignment = _request(op, functions, done)
        if not size:
            continue
        start = _round_up(end, alignment)
        op.attributes[SCRATCH_OFFSET] = i32_attr(start)
        end = start + size
        largest = max(largest, alignment)
    function.attributes[SCRATCH_SIZE] = i32_attr(_round_up(end, largest))
    function.attributes[SCRATCH_ALIGNMENT] = i32_attr(largest)


def _request(op: Operation, functions: dict[str, tt.FuncOp], done: set[tt.FuncOp]) -> tuple[int, int]:
    """Bytes and alignment that `op` asks for."""
    cls = op.__class__
    if cls is ttg.GlobalScratchAllocOp:
        asked = cast(ttg.GlobalScratchAllocOp, op)
        return asked.nbytes.value.data, asked.alignment.value.data
    callee = functions.get(cast(tt.CallOp, op).callee.string_value()) if cls is tt.CallOp else None
    if callee is None:
        return 0, 1
    _allocate(callee, functions, done)
    return scratch_attr(callee, SCRATCH_SIZE, 0), scratch_attr(callee, SCRATCH_ALIGNMENT, 1)


def _round_up(size: int, step: int) -> int:
    return (size + step - 1) // step * step
