"""`ttg.warp_specialize` as PTX on the emulator: partitions run beside the default region, with barriers and registers of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton as triton
from minitriton.codegen.assemblers import assembler_available
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.dialects import tt
from minitriton.emulator import run
from minitriton.errors import LoweringError
from minitriton.target import GPUTarget

HEADER = """
#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#narrow = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#pair = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!buffer = !ttg.memdesc<32xi32, #plain, #smem, mutable>
!barrier = !ttg.memdesc<1xi64, #plain, #smem, mutable>
!ptrs = tensor<32x!tt.ptr<i32>, #row>
"""


def kernel_text(body: str, attributes: str = "") -> str:
    return (
        HEADER
        + f"""
    module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32{attributes}}} {{
      tt.func public @f(%x: !tt.ptr<i32>, %o: !tt.ptr<i32>, %n: i32) {{
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %j = tt.make_range {{start = 0 : i32, end = 32 : i32}} : tensor<32xi32, #row>
        %o0 = tt.splat %o : !tt.ptr<i32> -> !ptrs
        %os = tt.addptr %o0, %j : !ptrs, tensor<32xi32, #row>
        {body}
        tt.return
      }}
    }}"""
    )


def compiled(body: str, folder: Path, attributes: str = "") -> Any:
    path = folder / "kernel.ttgir"
    path.write_text(kernel_text(body, attributes))
    return triton.compile(str(path), target=GPUTarget("cuda", 90, 32))


def outcome(body: str, folder: Path, n: int = 3, size: int = 32, attributes: str = "") -> np.ndarray[Any, Any]:
    """What the kernel leaves in `o`; the emulator has to find nothing."""
    kernel = compiled(body, folder, attributes)
    x, o = np.arange(100, 100 + size, dtype=np.int32), np.zeros(size, np.int32)
    report = run(kernel.asm["ptx"], "f", (1,), [x, o, n], kernel.metadata.shared)
    assert report.ok, [str(finding) for finding in report.findings]
    return o


PRODUCER_AND_CONSUMER = """
    %b = ttg.local_alloc : () -> !buffer
    %full = ttg.local_alloc : () -> !barrier
    %empty = ttg.local_alloc : () -> !barrier
    ttng.init_barrier %full, 1 : !barrier
    ttng.init_barrier %empty, 1 : !barrier
    %zero = arith.constant dense<0> : tensor<32xi32, #row>
    %sum = ttg.warp_specialize(%b, %full, %empty, %n) ATTRIBUTES
    default {
      %total = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<32xi32, #row>) : i32 {
        %phase = arith.andi %i, %c1 : i32
        ttng.wait_barrier %full, %phase : !barrier
        %v = ttg.local_load %b : !buffer -> tensor<32xi32, #row>
        ttng.arrive_barrier %empty, 1 : !barrier
        %next = arith.addi %acc, %v : tensor<32xi32, #row>
        scf.yield %next : tensor<32xi32, #row>
      }
      ttg.warp_yield %total : tensor<32xi32, #row>
    }
    partition0(%pb: !buffer, %pfull: !barrier, %pempty: !barrier, %pn: i32) num_warps(1) {
      %d0 = arith.constant 0 : i32
      %d1 = arith.constant 1 : i32
      scf.for %i = %d0 to %pn step %d1 : i32 {
        %phase = arith.andi %i, %d1 : i32
        %turned = arith.xori %phase, %d1 : i32
        ttng.wait_barrier %pempty, %turned : !barrier
        %value = arith.addi %i, %d1 : i32
        %v = tt.splat %value : i32 -> tensor<32xi32, #narrow>
        ttg.local_store %v, %pb : tensor<32xi32, #narrow> -> !buffer
        ttng.arrive_barrier %pfull, 1 : !barrier
      }
      ttg.warp_return
    } : (!buffer, !barrier, !barrier, i32) -> tensor<32xi32, #row>
    tt.store %os, %sum : !ptrs
"""


def test_a_partition_hands_buffers_to_the_default_warps(tmp_path: Path) -> None:
    assert outcome(PRODUCER_AND_CONSUMER.replace("ATTRIBUTES", ""), tmp_path, 5).tolist() == [15] * 32


def test_registers_are_handed_from_warps_to_warps(tmp_path: Path) -> None:
    body = PRODUCER_AND_CONSUMER.replace("ATTRIBUTES", "attributes {requestedRegisters = array<i32: 24>}")
    kernel = compiled(body, tmp_path)
    lines = [line.split()[0] + line.split()[-1] for line in kernel.asm["ptx"].splitlines() if "setmaxnreg" in line]
    assert "setmaxnreg.dec.sync.aligned.u3224;" in lines and any(".inc." in line for line in lines)
    assert ".maxnreg 256" in kernel.asm["ptx"] or ".maxnreg 255" in kernel.asm["ptx"]
    assert outcome(body, tmp_path, 4).tolist() == [10] * 32


def reduction(warps: int, layout: str, first: int) -> str:
    """Sums 64 numbers from `first` on with `warps` warps and stores the sum at `first` / 64."""
    return f"""
      %r{first} = tt.make_range {{start = {first} : i32, end = {first + 64} : i32}} : tensor<64xi32, {layout}>
      %p{first} = tt.splat %X : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, {layout}>
      %q{first} = tt.addptr %p{first}, %r{first} : tensor<64x!tt.ptr<i32>, {layout}>, tensor<64xi32, {layout}>
      %v{first} = tt.load %q{first} : tensor<64x!tt.ptr<i32>, {layout}>
      %s{first} = "tt.reduce"(%v{first}) <{{axis = 0 : i32}}> ({{
      ^bb0(%a: i32, %b: i32):
        %t = arith.addi %a, %b : i32
        tt.reduce.return %t : i32
      }}) : (tensor<64xi32, {layout}>) -> i32
      %i{first} = arith.constant {first // 64} : i32
      %d{first} = tt.addptr %O, %i{first} : !tt.ptr<i32>, i32
      tt.store %d{first}, %s{first} : !tt.ptr<i32>
    """


def reductions() -> str:
    parts = [reduction(4, "#row", 0), reduction(2, "#pair", 64), reduction(1, "#narrow", 128)]
    default, second, third = (
        part.replace("%X", f"%x{name}").replace("%O", f"%o{name}")
        for part, name in zip(parts, ("", "1", "2"), strict=True)
    )
    return f"""
    ttg.warp_specialize(%x, %o)
    default {{
      {default}
      ttg.warp_yield
    }}
    partition0(%x1: !tt.ptr<i32>, %o1: !tt.ptr<i32>) num_warps(2) {{
      {second}
      ttg.warp_return
    }}
    partition1(%x2: !tt.ptr<i32>, %o2: !tt.ptr<i32>) num_warps(1) {{
      {third}
      ttg.warp_return
    }} : (!tt.ptr<i32>, !tt.ptr<i32>) -> ()
    """


def test_partitions_reduce_with_their_own_warps_and_barriers(tmp_path: Path) -> None:
    x = np.arange(100, 292, dtype=np.int32)
    assert outcome(reductions(), tmp_path, size=192)[:3].tolist() == [int(x[i : i + 64].sum()) for i in (0, 64, 128)]


ASSERTS_OF_PARTITIONS = """
    ttg.warp_specialize(%n)
    default {
      %m = tt.splat %n : i32 -> tensor<32xi32, #row>
      %all = arith.cmpi ne, %j, %m : tensor<32xi32, #row>
      tt.assert %all, "of the default warps" : tensor<32xi1, #row>
      ttg.warp_yield
    }
    partition0(%pn: i32) num_warps(2) {
      %d0 = arith.constant 0 : i32
      %d1 = arith.constant 1 : i32
      %k = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32, #pair>
      %m = tt.splat %pn : i32 -> tensor<32xi32, #pair>
      %held = arith.cmpi ne, %k, %m : tensor<32xi32, #pair>
      scf.for %i = %d0 to %pn step %d1 : i32 {
        tt.assert %held, "of a partition" : tensor<32xi1, #pair>
      }
      ttg.warp_return
    } : (i32) -> ()
"""


def test_asserts_of_a_partition_meet_at_its_own_barrier(tmp_path: Path) -> None:
    ptx = compiled(ASSERTS_OF_PARTITIONS, tmp_path).asm["ptx"]
    barriers = [" ".join(line.split()[1:]) for line in ptx.splitlines() if line.split()[:1] == ["bar.sync"]]
    assert barriers == ["0, 128;", "2, 64;"]
    outcome(ASSERTS_OF_PARTITIONS, tmp_path, 40)


def test_a_lowering_may_not_insert_a_barrier_that_its_op_does_not_declare() -> None:
    lowering = FunctionLowering.__new__(FunctionLowering)
    lowering.op = tt.GetProgramIdOp(0)
    with pytest.raises(LoweringError, match=r"tt.get_program_id: its lowering has a barrier") as raised:
        lowering.barrier()
    assert "LoweringBarrier" in str(raised.value.help)


def test_warps_wait_for_work_again_and_again(tmp_path: Path) -> None:
    body = f"scf.for %k = %c0 to %n step %c1 : i32 {{ {reductions()} }}\n{reductions()}"
    second = body.rindex("ttg.warp_specialize")
    renamed = body[:second] + body[second:].replace("%x1", "%x3").replace("%x2", "%x4")
    x = np.arange(100, 292, dtype=np.int32)
    assert outcome(renamed, tmp_path, 2, size=192)[:3].tolist() == [int(x[i : i + 64].sum()) for i in (0, 64, 128)]


@pytest.mark.skipif(not assembler_available("sm90"), reason="no assembler for PTX")
def test_what_is_specialized_assembles(tmp_path: Path) -> None:
    body = PRODUCER_AND_CONSUMER.replace("ATTRIBUTES", "attributes {requestedRegisters = array<i32: 24>}")
    assert compiled(body, tmp_path).asm["cubin"]


def test_a_captured_tensor_is_refused_with_a_way_out(tmp_path: Path) -> None:
    body = """
    ttg.warp_specialize(%j)
    default { ttg.warp_yield }
    partition0(%t: tensor<32xi32, #row>) num_warps(4) { ttg.warp_return } : (tensor<32xi32, #row>) -> ()
    """
    with pytest.raises(LoweringError, match="captures a tensor"):
        compiled(body, tmp_path)
