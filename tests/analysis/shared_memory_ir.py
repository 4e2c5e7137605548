"""Small programs on shared memory for the tests of aliases, allocation and barriers."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.text import parse_module

LAYOUTS = """
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#inwarp = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [0, 1]}>
#shared = #ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>
#sharedT = #ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [0, 1]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#nvmma = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!buf = !ttg.memdesc<16x32xf16, #shared, #smem, mutable>
!bufs = !ttg.memdesc<2x16x32xf16, #shared, #smem, mutable>
!big = !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
!bar = !ttg.memdesc<1xi64, #flat, #smem, mutable>
!tile = tensor<16x32xf16, #blocked>
"""


def module_of(functions: str) -> ModuleOp:
    """`functions` in a module for 4 warps; `!buf` is a buffer of 1024 bytes, `!big` one of 4096."""
    return parse_module(
        f"""{LAYOUTS}
        module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
          {functions}
        }}
        """
    )


def kernel(body: str, arguments: str = "") -> ModuleOp:
    """One function `@f` that runs `body`."""
    return module_of(f"tt.func @f({arguments}) {{ {body}\n tt.return }}")


def function(module: ModuleOp, name: str = "f") -> Operation:
    """The function of `module` called `name`."""
    return next(op for op in module.ops if op.name == "tt.func" and name in str(op.properties["sym_name"]))


def named(module: ModuleOp, name: str) -> SSAValue:
    """The value that the text calls `%name`."""
    for op in module.walk():
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            if value.name_hint == name:
                return value
    raise LookupError(name)
