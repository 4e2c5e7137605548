"""Timelines of warps: what the emulator traces, and what the model of time makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from minitriton import emulator
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.session import ExplorerSession
from minitriton.explorer.timeline import BARRIER, timeline

HEAD = """
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry k(.param .u64 .ptr .global x, .param .u64 .ptr .global out)
.reqntid 64, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 16;
  add.s64 %rd4, %rd1, %rd3;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
"""
COPY = """
  cp.async.cg.shared.global [%r4], [%rd4], 16;
  cp.async.commit_group;
"""
REST = """
  cp.async.wait_group 0;
  bar.sync 0;
  xor.b32 %r5, %r3, 512;
  add.s32 %r6, %r2, %r5;
  ld.shared.b32 %r7, [%r6];
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd2, %rd5;
  st.global.b32 [%rd6], %r7;
  ret;
}
"""


def traced(body: str) -> emulator.Report:
    x, out = np.arange(256, dtype=np.int32), np.zeros(64, np.int32)
    report = emulator.run(HEAD + body, "k", (1,), [x, out], 1024, traced=True)
    assert report.ok, report.findings
    assert (out == x[(np.arange(64) ^ 32) * 4]).all()
    return report


def test_each_warp_s_instructions_are_traced_in_order_with_the_bytes_of_copies() -> None:
    trace = traced(COPY + REST).trace
    assert trace is not None and not trace.is_partial and len(trace.streams) == 2
    assert trace.streams[0] == trace.streams[1]
    copy = next(one for one in trace.streams[0] if one.instruction.opcode.startswith("cp.async.cg"))
    barrier = next(one for one in trace.streams[0] if one.instruction.opcode == "bar.sync")
    assert copy.bytes == 512 and (barrier.barrier, barrier.expected) == (0, 64)


def test_without_being_asked_nothing_is_traced() -> None:
    report = emulator.run(HEAD + COPY + REST, "k", (1,), [np.zeros(256, np.int32), np.zeros(64, np.int32)], 1024)
    assert report.trace is None
    with pytest.raises(MinitritonError, match="nothing was traced"):
        timeline(report, 90, {})


def test_a_guarded_copy_is_of_the_warp_that_executes_it_only() -> None:
    only_first = "setp.lt.u32 %p1, %r1, 32;\n@%p1 " + COPY.strip()
    body = only_first + COPY + REST
    trace = traced(body).trace
    assert trace is not None
    assert [sum(one.bytes for one in stream) for stream in trace.streams] == [1024, 512]


def test_a_wait_for_a_copy_ends_when_the_copy_does_and_a_barrier_after_its_last_warp() -> None:
    found = timeline(traced(COPY + REST), 90, {})
    (copies,) = (one for one in found["flights"] if one["kind"] == "copies")
    waits = [[one for one in segments if one[2] == "copies"] for segments in found["warps"]]
    assert copies["amount"] == 1024
    assert max(segments[-1][1] for segments in waits) == copies["end"]
    ends = [[one[1] for one in segments if one[2] == "barrier"] for segments in found["warps"]]
    assert ends[0] == ends[1] and copies["end"] + BARRIER <= int(ends[0][0]) <= copies["end"] + BARRIER + 4
    later = timeline(traced(COPY + REST), 90, {}, "memory")
    assert later["cycles"] > found["cycles"] + 200


def test_work_between_a_copy_and_its_wait_is_hidden() -> None:
    work = "".join(f"  mad.lo.s32 %r{8 + at % 2}, %r{8 + (at + 1) % 2}, %r1, %r3;\n" for at in range(60))
    before = timeline(traced("mov.u32 %r8, 1; mov.u32 %r9, 1;\n" + work + COPY + REST), 90, {})
    between = timeline(traced("mov.u32 %r8, 1; mov.u32 %r9, 1;\n" + COPY + work + REST), 90, {})
    hidden = before["cycles"] - between["cycles"]
    assert hidden > 60 and between["shares"].get("copies", 0) < before["shares"]["copies"]


MATMUL = "minitriton_kernels/lessons/tour.py:matmul"
SIGNATURE = "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,BM=64,BN=64,BK=32"


def test_pipelining_shortens_a_matmul_and_its_copies_overlap_its_dots() -> None:
    session = ExplorerSession(keeps=False)

    def of_stages(stages: int) -> dict[str, object]:
        asked = CompileRequest(MATMUL, SIGNATURE, options=(f"num_stages={stages}",), numbers=("k=256",), grid="1")
        return session.answer("timeline", {"asked": asked.plain()})

    alone, pipelined = of_stages(1), of_stages(3)
    assert pipelined["cycles"] < 0.8 * alone["cycles"]
    dots = [one for one in pipelined["flights"] if one["kind"] == "dots"]
    copies = [one for one in pipelined["flights"] if one["kind"] == "copies"]
    assert len(copies) == 2 * 256 // 32 and sum(one["amount"] for one in copies) == 2 * 2 * 64 * 256
    assert any(dot["start"] < copy["end"] and copy["start"] < dot["end"] for dot in dots for copy in copies)
    assert {kind for kind, *_ in pipelined["waits"]} & {"copies", "dots"}


def test_other_back_ends_have_no_timeline() -> None:
    asked = CompileRequest(MATMUL, SIGNATURE, arch="gfx942", numbers=("k=64",), grid="1")
    with pytest.raises(MinitritonError, match="warps are traced in PTX"):
        ExplorerSession(keeps=False).answer("timeline", {"asked": asked.plain()})
