"""The tour: seven kernels from Python to PTX, and those of `minitriton_kernels/gluon` that it has no smaller kernel for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Unpack

from minitriton.explorer.compile_request import CompileRequest, CompileRequestFields
from minitriton.explorer.lessons.exercises import LESSON_KERNELS
from minitriton.explorer.wire import WalkJson
from minitriton.lab.corpus.case import KERNELS


@dataclass(frozen=True)
class Stop:
    """A view of the explorer and what to see in it: `step`, a pass (or `level`, the last state of a representation), `op`, text of the op to click at the
    right, `line`, text of the kernel's line to mark, `tab`, the tab below."""

    title: str
    text: str
    step: str = ""
    level: str = ""
    op: str = ""
    line: str = ""
    tab: str = "facts"


@dataclass(frozen=True)
class Walk:
    """One kernel, stop by stop."""

    name: str
    title: str
    asked: CompileRequest
    stops: tuple[Stop, ...]

    def plain(self) -> WalkJson:
        """As JSON can hold it."""
        return {**asdict(self), "asked": self.asked.plain()}


_ROLES = ("num_warps=4", "maxnreg=168")


def _block(dtype: str, rows: int, columns: int, width: int = 128) -> str:
    """The type of a descriptor of blocks, of elements of 16 bits or of bytes."""
    return f"tensordesc<{dtype}[{rows}, {columns}],NVMMASharedLayout({width}, {16 if dtype == 'fp16' else 8}, 2)>"


def _walk(
    example: str,
    kernel: str,
    title: str,
    signature: str,
    numbers: str,
    stops: tuple[Stop, ...],
    options: tuple[str, ...] = _ROLES,
    grid: str = "1",
) -> Walk:
    source = f"{KERNELS / 'gluon' / example}.py:{kernel}"
    asked = CompileRequest(source, signature, options=options, numbers=tuple(numbers.split()), grid=grid)
    return Walk(f"gluon_{example}", f"Gluon: {title}", asked, stops)


_TILE = _block("fp16", 64, 64)

GLUON_EXAMPLES = (
    _walk(
        "copy", "copy_rows", "a copy, and what one access moves",
        "*fp32:16,*fp32:16,i32,i32:16,ROWS=16,COLUMNS=128,layout=BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])", "rows=50 columns=256",
        (
            Stop("The layout is a parameter", "It arrives as `#blocked`, with `sizePerThread = [1, 4]`: four neighbours a thread. Click the line: its picture is below.",
                 step="frontend", op="tt.load", line="def copy_rows", tab="layout"),
            Stop("Sixteen bytes", "`ld.global.v4.b32` is one access of a thread.", step="emit-ptx", op="ld.global.v4.b32", line="gl.store(out + offsets"),
            Stop("What it costs", "Each `ld.global.v4.b32` is 16 sectors of 32 bytes, all used: they stand next to the lines. Set `layout` to `BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])` and compare.",
                 step="emit-ptx", op="ld.global.v4.b32", line="gl.store(out + offsets", tab="costs"),
        ), (), "4,2",
    ),
    _walk(
        "tma_copy", "copy_blocks", "tensor copies and the phases of mbarriers", f"{_TILE},{_TILE},i32,STAGES=4", "columns=128",
        (
            Stop("No element in a register", "A load is one op of the whole block, `ttng.async_tma_copy_global_to_local`: no tensor of the block is there.",
                 step="frontend", op="ttng.async_tma_copy_global_to_local", line="tma.async_copy_global_to_shared"),
            Stop("How many bytes", "`ttng.barrier_expect` announces `8192` bytes, a block of 64 x 64 of float16; the phase completes when they have arrived.",
                 level="ttgir", op="ttng.barrier_expect", line="mbarrier.expect(bar"),
            Stop("A ring", "The buffer has a dimension more than a block, `4x64x64xf16`: four slots. Colours are banks.", level="ttgir", op="4x64x64xf16", line="buffers = gl.allocate", tab="layout"),
            Stop("The youngest may run", "`pendings = 1`: all stores but the last have read their slots, and the oldest is filled again.",
                 level="ttgir", op="ttng.async_tma_store_wait {pendings = 1", line="tma.store_wait(1)"),
            Stop("One thread starts them", "`cp.async.bulk.tensor.2d` under a predicate, and `mbarrier.try_wait.parity`, for the parity of the phase.",
                 step="emit-ptx", op="cp.async.bulk.tensor.2d", line="mbarrier.wait("),
        ), ("num_warps=1",),
    ),
    _walk(
        "wgmma_matmul", "matmul_tile", "MMAs of a warp group, one in flight", f"{_TILE},{_TILE},{_TILE},i32,STAGES=4,num_warps=4", "k=128",
        (
            Stop("The accumulator", "`instrShape = [16, 64, 16]` and four warps along M: in the picture each warp has 16 rows.", step="frontend", op="ttng.warp_group_dot", line="layout: gl.constexpr", tab="layout"),
            Stop("Both operands in shared memory", "`isAsync = true`: the op starts MMAs that read two slots. Facts say what is in flight after it.",
                 level="ttgir", op="ttng.warp_group_dot ", line="acc = warpgroup_mma("),
            Stop("Wait for the one before", "`pendings = 1` leaves the MMA just started in flight.", level="ttgir", op="{pendings = 1", line="acc = warpgroup_mma_wait(1"),
            Stop("The fence", "Threads stored the result, a tensor copy reads it: `ttng.fence_async_shared` is between them.", level="ttgir", op="ttng.fence_async_shared", line="fence_async_shared()"),
            Stop("Four instructions a step", "`wgmma.mma_async.sync.aligned.m64n64k16` four times are 64 of K; then `wgmma.wait_group.sync.aligned 1`.",
                 step="emit-ptx", op="wgmma.wait_group.sync.aligned 1", line="acc = warpgroup_mma_wait(1"),
        ), ("num_warps=4",),
    ),
    _walk(
        "persistent_matmul", "matmul_tiles", "warps with roles",
        f"{_TILE},{_block('fp16', 64, 128)},{_TILE},i32,STAGES=3,GROUP=2", "k=128",
        (
            Stop("Three regions", "`ttg.warp_specialize` has the function of each role as a region; the consumers' are `default` and `partition0`.",
                 step="gluon-inline", op="ttg.warp_specialize", line="gl.warp_specialize("),
            Stop("Registers that move", "`requestedRegisters = array<i32: 240, 24` are what was asked for, `actualRegisters` what each role gets.",
                 step="tritongpu-allocate-warp-groups", op="ttg.warp_specialize", line="gl.warp_specialize("),
            Stop("Two arrivals", "`ttng.init_barrier` with 2: a stage is empty when both consumers have arrived there.", level="ttgir", op="ttng.init_barrier", line="count=2"),
            Stop("Slices without a move", "The accumulator, `tensor<64x128xf32, #mma>`, becomes `tensor<64x2x64xf32, #linear>`: the same registers under another name.",
                 level="ttgir", op="tt.reshape", line="each.reshape("),
            Stop("In PTX", "`setmaxnreg.dec.sync.aligned` and `setmaxnreg.inc.sync.aligned` move registers; `stmatrix` stores the slices.", step="emit-ptx", op="setmaxnreg.dec", line="gl.warp_specialize("),
        ),
    ),
    _walk(
        "grouped_matmul", "matmul_groups", "tiles that only the GPU knows",
        f"{_TILE},{_TILE},{_TILE},*fp16:16,*i32:16,i32,i32:16,i32:16,STAGES=3", "groups=2 k=64 n=64",
        (
            Stop("The end of a group", "Each role loads it, one `!tt.ptr<i32>` at a time.", level="ttgir", op="tt.load", line="end = gl.load(ends"),
            Stop("As many tiles as there are", "`scf.while` carries the tile from group to group.", level="ttgir", op="scf.while", line="while tile < first + count"),
            Stop("A tile within the group", "`arith.cmpi sle`: all its rows belong to the group, and a tensor copy stores them.", level="ttgir", op="ttng.async_tma_copy_local_to_global", line="tma.async_copy_shared_to_global"),
            Stop("A tile that ends within", "Else `ttg.local_load` gives the rows to threads, in `#blocked`, which store under a mask.", level="ttgir", op="tt.store", line="gl.store(c + i * n", tab="layout"),
            Stop("Both in PTX", "`st.global.v4.b32` under a predicate, and `cp.async.bulk.tensor.2d.global.shared::cta`.", step="emit-ptx", op="st.global.v4.b32", line="gl.store(c + i * n"),
        ),
    ),
    _walk(
        "attention", "attention_rows", "softmax while MMAs are in flight",
        f"{_TILE},{_block('fp16', 128, 64)},{_block('fp16', 128, 64)},{_TILE},i32:16,i32,fp32,STAGES=2,CAUSAL=True,GROUP=1", "length=128 heads=1 scale=0.18",
        (
            Stop("Two MMAs in flight", "Scores and output: facts of this op say what is in flight when `ttng.warp_group_dot_wait` with `pendings = 1` gives the scores.",
                 level="ttgir", op="{pendings = 1", line="s = warpgroup_mma_wait(1"),
            Stop("The softmax", "`math.exp2` of `tensor<64x128xf32, #mma>`, between the two waits.", level="ttgir", op="math.exp2", line="p = gl.exp2(s * scale - (higher"),
            Stop("Sums of a lane", "`tensor<64x16x8xf32, #linear>`: the dimension that is reduced is in registers only.", level="ttgir", op="tt.reshape", line="p.reshape(p.shape[0]", tab="layout"),
            Stop("P as an operand", "From `#mma` to `#ttg.dot_op<{opIdx = 0, parent = #mma1, kWidth = 2}>`: no element goes to another thread.",
                 level="ttgir", op="-> tensor<64x128xf16, #ttg.dot_op", line="weights = gl.convert_layout(p.to(q.dtype), of_weights)\n        acc", tab="layout"),
            Stop("Turns", "`ttng.arrive_barrier` at the other group's mbarrier: its MMAs start while this one's exponentials run.", level="ttgir", op="ttng.arrive_barrier", line="mbarrier.arrive(turns"),
            Stop("PTX", "`ex2.approx.ftz.f32` follows `wgmma.wait_group.sync.aligned 1`.", step="emit-ptx", op="ex2.approx.ftz.f32", line="p = gl.exp2(s * scale - (higher"),
        ),
    ),
    _walk(
        "fp8_matmul", "matmul_tiles", "fp8 with scales",
        f"{_block('u8', 64, 128)},{_block('u8', 128, 128)},{_block('fp16', 64, 128)},*fp32:16,*fp32:16,i32,i32:16,i32:16,STAGES=2,GROUP=1", "m=128 n=128 k=128",
        (
            Stop("Bytes as numbers", "`ttg.memdesc_reinterpret` moves nothing: bytes become `f8E4M3FN`.", level="ttgir", op="ttg.memdesc_reinterpret", line="buffer._reinterpret("),
            Stop("K must be contiguous", "`ttg.memdesc_trans` gives the view of `b` that `wgmma` wants; the buffer stays.", level="ttgir", op="ttg.memdesc_trans", line="b_tile = "),
            Stop("From zero", "The accumulator is `dense<0.000000e+00>` and is not used: each step is a dot of its own.", level="ttgir", op="ttng.warp_group_dot ", line="dot = warpgroup_mma("),
            Stop("Added in float32", "`arith.mulf` by both scales, then `arith.addf`, in threads.", level="ttgir", op="arith.addf", line="acc += dot * scale"),
            Stop("32 of K at once", "`wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3`: twice the K of float16.", step="emit-ptx", op="m64n128k32.f32.e4m3.e4m3", line="dot = warpgroup_mma("),
        ),
    ),
    _walk(
        "int4_matmul", "matmul_tile", "weights of 4 bits",
        f"{_block('u8', 64, 64, 64)},*fp16:16,{_block('fp16', 64, 128)},*fp16:16,i32:16,i32,i32:16,STAGES=2", "n=128 m=64 k=256",
        (
            Stop("Bytes in registers", "A thread has 16 bytes next to each other: `register = [[0, 1], [0, 2], [0, 4], [0, 8], [8, 0]]`.", level="ttgir", op="ttg.local_load", line="of_bytes: gl.constexpr", tab="layout"),
            Stop("Two numbers of a byte", "`tt.elementwise_inline_asm` has two results, of float16: the low and the high half.", level="ttgir", op="tt.elementwise_inline_asm", line="low, high = gl.inline_asm"),
            Stop("The columns that the MMA counts", "`tt.reshape`, `tt.trans`, `tt.reshape`: names change, registers do not.", level="ttgir", op="tt.trans", line="low = low.reshape("),
            Stop("Already the operand", "The conversion to `#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>` moves nothing.", level="ttgir", op="-> tensor<64x64xf16, #ttg.dot_op", line="gl.convert_layout(low, operand)", tab="layout"),
            Stop("In PTX", "`prmt.b32` and `lop3.b32` for four bytes, and `ld.shared.v4.b32` for sixteen.", step="emit-ptx", op="lop3.b32", line="low, high = gl.inline_asm"),
        ),
    ),
)  # fmt: skip


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
            Stop("What if", "Move every access by one number: in the line of `offsets`, change `tl.arange(0, BLOCK)` to `tl.arange(0, BLOCK) + 1`, and compile. No four neighbours begin at a "
                 "multiple of 16 bytes now: `ld.global.v4.b32` is gone, `ld.global.b32` is left, and 48 requests of warps become 189.",
                 step="emit-ptx", op="ld.global.v4.b32", line="offsets = ", tab="whatif"),
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
