"""The tour: seven kernels from Python to PTX, and the larger ones in Gluon."""

from __future__ import annotations

from typing import Unpack

from minitriton.explorer.compile_request import CompileRequest, CompileRequestFields
from minitriton.explorer.lessons.exercises import LESSON_KERNELS
from minitriton.explorer.lessons.gluon_examples import GLUON_EXAMPLES
from minitriton.explorer.lessons.walks import Stop, Walk
from minitriton.lab.corpus.case import KERNELS


def _kernel(name: str, signature: str, **more: Unpack[CompileRequestFields]) -> CompileRequest:
    file = KERNELS / "vector_add.py" if name == "vector_add" else LESSON_KERNELS / "tour.py"
    return CompileRequest(f"{file}:{name}", signature, **more)


SHORT_TOUR: tuple[Walk, ...] = (
    Walk(
        "vector_add", "A vector add: from Python to PTX",
        _kernel("vector_add", "*fp32:16,*fp32:16,*fp32:16,i32:16,BLOCK=1024", grid="2", numbers=("n=2000",)),
        (
            Stop("The kernel", "One program adds 1024 numbers. At the left is its Python, next to it what the frontend made of it: TTIR, where a value is a whole tensor. "
                 "Click any line: everything that came from it is marked, in all three.", step="inline", line="offsets = "),
            Stop("Facts", "The compiler knows of `offsets` that its numbers run in a row and begin at a multiple of 1024. Click the links to see where a fact comes from.",
                 level="ttir", op="arith.addi", line="offsets = "),
            Stop("Who holds what", "This pass gives every tensor a layout: the thread that holds each element. In the picture, the colours are warps; point at an element to see who "
                 "holds it, and what else that thread holds.", step="convert-triton-to-tritongpu", op="tt.load", tab="layout"),
            Stop("Four at a time", "Coalescing looks at the facts: pointers run through memory, aligned to 16 bytes, so each thread takes four neighbours. The picture is another one now.",
                 step="tritongpu-coalesce", op="tt.load", tab="layout"),
            Stop("The conversions are gone", "Coalescing left conversions of layouts around each load; this pass moved the layout through the whole kernel instead. Removed lines are red.",
                 step="tritongpu-remove-layout-conversions"),
            Stop("PTX", "`ld.global.v4` is four numbers in one instruction. Click it, and the line of the kernel is marked.", step="emit-ptx", op="ld.global", line="x = tl.load"),
            Stop("What it costs", "The emulator has run it: sectors of 32 bytes for each request of a warp stand next to the lines. 16 sectors are 512 bytes, all of them asked for.",
                 step="emit-ptx", tab="costs"),
            Stop("What if", "Take the `:16` away from n, as a caller would whose length is any number: change the kernel to `mask = offsets < n + 1`, compile, and see the loads become narrow.",
                 level="ttgir", op="tt.load", line="mask = ", tab="whatif"),
        ),
    ),
    Walk(
        "softmax", "A softmax: threads that need each other",
        _kernel("softmax", "*fp32:16,*fp32:16,i32:16,i32:16,BLOCK=512", grid="3", numbers=("stride=512", "n=400")),
        (
            Stop("A reduction", "`tl.max` becomes one op with a region: how two numbers become one.", level="ttir", op="tt.reduce", line="numerator = "),
            Stop("One row, 128 threads", "Each thread has four elements of the row. Its own it reduces alone; then lanes exchange by shuffles, then warps by shared memory.",
                 level="ttgir", op="tt.load", tab="layout"),
            Stop("Shuffles", "The lines of the reduction: `shfl.sync.bfly` five times halves the lanes; then a barrier, and the warps' results come from shared memory.",
                 step="emit-ptx", op="shfl.sync.bfly", line="numerator = "),
            Stop("Shared memory", "The scratch of both reductions, over time: they are never alive at once, and share their memory.", step="place-shared-memory", tab="costs"),
        ),
    ),
    Walk(
        "transpose", "A transpose: two layouts at odds",
        _kernel("transpose", "*fp32:16,*fp32:16,i32:16,BLOCK=32", grid="2,2", numbers=("n=64",)),
        (
            Stop("Two wishes", "The load wants threads along the rows, the store along the columns. Coalescing gives each its own layout.", step="tritongpu-coalesce", op="tt.store"),
            Stop("What is left", "One conversion must stay. Click it: both layouts next to each other, and where every element goes.",
                 level="ttgir", op="ttg.convert_layout", line="tl.store", tab="layout"),
            Stop("Through shared memory", "The conversion is a store, a barrier and a load. Swizzling keeps both free of bank conflicts: see the passes over the banks.",
                 step="emit-ptx", op="st.shared", line="tl.store", tab="costs"),
            Stop("Which bytes", "The accesses of the store, over the array: each program's square, whole sectors at a time.", level="ttgir", op="tt.store", tab="access"),
        ),
    ),
    Walk(
        "column_sum", "A column sum: which axis to reduce",
        _kernel("column_sum", "*fp32:16,*fp32:16,i32:16,i32:16,ROWS=16,COLUMNS=64", grid="2", numbers=("n_rows=64", "n_columns=128")),
        (
            Stop("Add first, reduce last", "The loop adds whole tiles, so that threads need not talk until the end.", level="ttir", op="tt.reduce", line="tl.store"),
            Stop("The layout of the sum", "Rows are spread over warps and lanes: those that hold the same column must exchange.", level="ttgir", op="tt.reduce", tab="layout"),
            Stop("Where the time goes", "The heat next to the lines: the loop, not the reduction.", step="emit-ptx", line="acc +=", tab="costs"),
        ),
    ),
    Walk(
        "matmul", "A matmul: tensor cores and asynchronous copies",
        _kernel("matmul", "*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,BM=64,BN=64,BK=32", grid="1", numbers=("m=64", "n=64", "k=128")),
        (
            Stop("tt.dot", "One op for a matmul of tiles.", level="ttir", op="tt.dot", line="acc = tl.dot"),
            Stop("Tensor cores", "This pass picks the instruction, and with it the layout of the result: which lane holds what is fixed by the hardware. Look at the picture.",
                 step="tritongpu-accelerate-matmul", op="warp_group_dot", tab="layout"),
            Stop("Buffers in shared memory", "wgmma reads its operands from shared memory. A row of this tile is 32 numbers of 2 bytes, so it is swizzled over 64 bytes. Click the buffer: colours are banks.",
                 level="ttgir", op="ttg.local_alloc", tab="layout"),
            Stop("Loads that are pipelined", "The pipeliner copies the tiles of later iterations while this one multiplies: a ring of buffers, and waits.", step="tritongpu-pipeline", op="ttg.async_copy_global_to_local"),
            Stop("Shared memory over time", "The rings, and how long each is alive.", step="place-shared-memory", tab="costs"),
            Stop("The instruction", "wgmma in PTX, next to the line of the kernel. At the right you may choose the machine code instead.", step="emit-ptx", op="wgmma.mma_async", line="acc = tl.dot"),
        ),
    ),
    Walk(
        "gluon_layouts", "Gluon: the author says the layouts",
        _kernel("transpose_by_layouts", "*fp32:16,*fp32:16,TILE=32", grid="1"),
        (
            Stop("From Python to TTGIR", "This kernel is in Gluon: its first state has layouts, and no pass chooses one. `read` is #blocked, `written` is #blocked1.",
                 step="frontend", op="tt.load", line="tile = gl.load"),
            Stop("Read along the rows", "A warp reads a row of 32 floats. Point at an element to see its thread.", step="gluon-resolve-auto-encodings", op="tt.load", tab="layout"),
            Stop("The swizzle", "Element j of row i is at j ^ i: click the buffer, colours are banks. Columns run through all of them.",
                 level="ttgir", op="ttg.local_alloc", line="buffer = ", tab="layout"),
            Stop("Written along the columns", "The load of the buffer gives each warp a column, which is a row of the result.", level="ttgir", op="ttg.local_load", tab="layout"),
            Stop("No conflicts", "Both accesses of shared memory take one pass. Change the swizzle's TILE to 1, compile, and see 31 more for each load.",
                 step="emit-ptx", line="buffer.load(written)", tab="costs"),
        ),
    ),
    Walk(
        "gluon_matmul", "Gluon: copies and MMAs in flight",
        _kernel("matmul_in_flight", "*fp16:16,*fp16:16,*fp32:16,K=128", grid="1"),
        (
            Stop("Copies that pass no register", "The author starts the copies of the next step, and says which buffer they fill.", level="ttgir", op="ttg.async_copy_global_to_local", line="a.index(0), a_ptr"),
            Stop("The fence", "What threads copied is visible to `wgmma` only after this fence: the emulator finds its absence.", level="ttgir", op="ttng.fence_async_shared", line="fence_async_shared()"),
            Stop("In flight", "The MMA reads one slot of each ring while copies fill the other. What is outstanding stands next to each op.", level="ttgir", op="ttng.warp_group_dot", line="acc = warpgroup_mma("),
            Stop("The wait", "Only after this is the accumulator a tensor, and may the slots that the MMA read be filled again.", level="ttgir", op="ttng.warp_group_dot_wait", line="acc = warpgroup_mma_wait"),
            Stop("PTX", "`cp.async`, `wgmma.mma_async` and their waits, at the lines that asked for them.", step="emit-ptx", op="cp.async.wait_group", line="async_copy.wait_group(0)"),
        ),
    ),
)  # fmt: skip
"""The walks that a page without a server has within it."""

TOUR = SHORT_TOUR + GLUON_EXAMPLES
"""The kernels that the tour goes through."""
