"""Kernels with planted faults and their sound counterparts, for the emulator and NVIDIA's compute-sanitizer alike.

`KERNELS` holds them all. Of each: what the three tools of compute-sanitizer are to report (memcheck: accesses to global, shared and local memory;
racecheck: hazards in shared memory; synccheck: barriers), and what the emulator is to find. `BEYOND` are faults that none of the three looks for.
Two arrays of 64 words, 64 threads and 256 bytes of shared memory each, unless a kernel says otherwise; every kernel ends on hardware too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ptx_text import ptx_of
from test_planted_faults import KERNEL_FAULTS, plant

from minitriton_kernels.cases import CASES

TOOLS = {
    "memcheck": frozenset({"out-of-bounds", "misaligned"}),
    "racecheck": frozenset({"shared-race", "async-read", "async-write"}),
    "synccheck": frozenset({"barrier", "deadlock", "inactive-lane"}),
}
"""Of each tool: the kinds of the emulator's findings that stand for what it reports."""

STRICTER = frozenset({
    "misaligned vector", "misaligned shared vector", "barrier of one warp only", "one warp ends before a barrier",
    "half of each warp skips a barrier", "barrier under a guard of half a warp", "one thread returns early",
    "one warp leaves a loop with a barrier early", "one lane leaves a loop with a barrier early",
    "reduction over a barrier that half of a warp skips",
})  # fmt: skip
"""Faults by the PTX ISA that the emulator finds and compute-sanitizer 2025.3 said nothing of on an H200 (2026-11-22): exited and
diverged threads count as arrived at a barrier on this hardware."""

WORD = "mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2;\n"
"""%r1: the buffer, %r3: this thread's word in it."""
OWN = WORD + "st.shared.b32 [%r3], %r100;\n"
KEEP = "st.global.b32 [%rd92], %r9;\n"
FIRST_WARP = "setp.lt.u32 %p1, %r100, 32;\n"
FIRST_LANES = "and.b32 %r20, %r100, 31; setp.lt.u32 %p1, %r20, 16;\n"
OTHER_WARP = "xor.b32 %r4, %r3, 128;\n"
NEIGHBOUR = "xor.b32 %r4, %r3, 4;\n"
COPY = WORD + OTHER_WARP + "cp.async.ca.shared.global [%r3], [%rd91], 4; cp.async.commit_group;\n"


@dataclass(frozen=True)
class Sample:
    """A kernel as a launch: PTX, arrays and numbers, grid, bytes of dynamic shared memory; `planted` names a tool or nothing."""

    name: str
    ptx: str
    arguments: list[object]
    grid: tuple[int, ...]
    shared: int
    planted: str = ""
    kinds: frozenset[str] = frozenset()
    """What the emulator is to find: exactly these kinds; of those from compiled kernels at least."""
    exact: bool = True


MEMCHECK = {
    "read past the end": ("ld.global.b32 %r9, [%rd91+64];" + KEEP, "out-of-bounds"),
    "read before the start": ("ld.global.b32 %r9, [%rd91+-64];" + KEEP, "out-of-bounds"),
    "read through null": ("mov.b64 %rd1, 0; ld.global.b32 %r9, [%rd1];" + KEEP, "out-of-bounds"),
    "store past the end": ("st.global.b32 [%rd91+4], %r100;", "out-of-bounds"),
    "vector past the end": (
        "mul.wide.u32 %rd1, %r100, 16; add.s64 %rd1, %rd100, %rd1; ld.global.v4.b32 {%r9, %r10, %r11, %r12}, [%rd1];" + KEEP,
        "out-of-bounds",
    ),
    "atomic past the end": ("atom.global.add.u32 %r9, [%rd91+128], 1;" + KEEP, "out-of-bounds"),
    "reduction past the end": ("red.global.add.u32 [%rd91+128], 1;", "out-of-bounds"),
    "generic access past the end": ("ld.b32 %r9, [%rd91+8];" + KEEP, "out-of-bounds"),
    "one thread past the end": (
        "setp.eq.u32 %p1, %r100, 63; @%p1 ld.global.b32 %r9, [%rd91+4];" + KEEP,
        "out-of-bounds",
    ),
    "loop one step too long": (
        "mov.b32 %r1, 0; mov.b64 %rd1, %rd100; LOOP: ld.global.b32 %r9, [%rd1]; add.s64 %rd1, %rd1, 4; add.s32 %r1, %r1, 1;"
        "setp.le.u32 %p1, %r1, 64; @%p1 bra LOOP;" + KEEP,
        "out-of-bounds",
    ),
    "misaligned word": ("ld.global.b32 %r9, [%rd100+2];" + KEEP, "misaligned"),
    "misaligned vector": ("ld.global.v4.b32 {%r9, %r10, %r11, %r12}, [%rd100+4];" + KEEP, "misaligned"),
    "misaligned store": (
        "setp.lt.u32 %p1, %r100, 60; @%p1 st.global.v2.b32 [%rd100+4], {%r100, %r100};",
        "misaligned",
    ),
    "misaligned atomic": ("red.global.add.u64 [%rd100+4], 1;", "misaligned"),
    "shared store past the end": (WORD + "st.shared.b32 [%r3+4096], %r100;", "out-of-bounds"),
    "shared load past the end": (OWN + "ld.shared.b32 %r9, [%r3+65536];" + KEEP, "out-of-bounds"),
    "misaligned shared word": (OWN + "bar.sync 0; ld.shared.b32 %r9, [%r1+2];" + KEEP, "misaligned"),
    "misaligned shared vector": (OWN + "bar.sync 0; ld.shared.v2.b32 {%r9, %r10}, [%r1+4];" + KEEP, "misaligned"),
}  # fmt: skip

RACECHECK = {
    "word of another warp": (OWN + OTHER_WARP + "ld.shared.b32 %r9, [%r4];" + KEEP, "shared-race"),
    "word of a neighbouring lane": (OWN + NEIGHBOUR + "ld.shared.b32 %r9, [%r4];" + KEEP, "shared-race"),
    "two warps write a word": (
        WORD + "and.b32 %r5, %r2, 127; add.s32 %r5, %r1, %r5; st.shared.b32 [%r5], %r100;",
        "shared-race",
    ),
    "all threads write a word": (WORD + "st.shared.b32 [%r1], %r100;", "shared-race"),
    "overwritten while another warp reads": (
        OWN + OTHER_WARP + "bar.sync 0; ld.shared.b32 %r9, [%r4]; st.shared.b32 [%r3], %r9;" + KEEP,
        "shared-race",
    ),
    "overwritten while a neighbouring lane reads": (
        OWN + NEIGHBOUR + "bar.warp.sync -1; ld.shared.b32 %r9, [%r4]; st.shared.b32 [%r3], %r9;" + KEEP,
        "shared-race",
    ),
    "loop without its second barrier": (
        WORD + OTHER_WARP + "mov.b32 %r7, 0; mov.b32 %r9, 0; LOOP: add.s32 %r8, %r7, %r100; st.shared.b32 [%r3], %r8; bar.sync 0;"
        "ld.shared.b32 %r8, [%r4]; add.s32 %r9, %r9, %r8; add.s32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 4; @%p1 bra LOOP;" + KEEP,
        "shared-race",
    ),
    "barrier of one warp only": (
        OWN + OTHER_WARP + FIRST_WARP + "selp.b32 %r5, 1, 2, %p1; barrier.sync %r5, 32; ld.shared.b32 %r9, [%r4];" + KEEP,
        "shared-race",
    ),
    "warp barrier between warps": (OWN + OTHER_WARP + "bar.warp.sync -1; ld.shared.b32 %r9, [%r4];" + KEEP, "shared-race"),
    "barrier before instead of after the store": (
        WORD + OTHER_WARP + "st.shared.b32 [%r3], 0; bar.sync 0; st.shared.b32 [%r3], %r100; ld.shared.b32 %r9, [%r4];" + KEEP,
        "shared-race",
    ),
    "one thread initialises without a barrier": (
        WORD + "setp.eq.u32 %p1, %r100, 0; @%p1 st.shared.b32 [%r1], 7; ld.shared.b32 %r9, [%r1];" + KEEP,
        "shared-race",
    ),
    "histogram without atomics": (
        WORD + "st.shared.b32 [%r3], 0; bar.sync 0; and.b32 %r5, %r100, 7; shl.b32 %r5, %r5, 2; add.s32 %r5, %r1, %r5;"
        "ld.shared.b32 %r6, [%r5]; add.s32 %r6, %r6, 1; st.shared.b32 [%r5], %r6; bar.sync 0; ld.shared.b32 %r9, [%r3];" + KEEP,
        "shared-race",
    ),
    "halves of a word": (
        WORD + "shl.b32 %r5, %r100, 1; add.s32 %r5, %r1, %r5; cvt.u16.u32 %rs1, %r100; st.shared.b16 [%r5], %rs1;"
        "and.b32 %r6, %r5, -4; ld.shared.b32 %r9, [%r6];" + KEEP,
        "shared-race",
    ),
    "asynchronous copy read by another warp without a barrier": (
        COPY + "cp.async.wait_group 0; ld.shared.b32 %r9, [%r4];" + KEEP,
        "shared-race",
    ),
}  # fmt: skip

SYNCCHECK = {
    "one warp ends before a barrier": (FIRST_WARP + "@%p1 bra END; bar.sync 0; END:", "barrier"),
    "half of each warp skips a barrier": (FIRST_LANES + "@%p1 bra END; bar.sync 0; END:", "barrier"),
    "barrier under a guard of half a warp": (FIRST_LANES + "@%p1 bar.sync 0;", "barrier"),
    "one thread returns early": ("setp.eq.u32 %p1, %r100, 5; @%p1 ret; bar.sync 0;", "barrier"),
    "warps at two barriers of one number": (
        FIRST_WARP + "@%p1 bra ELSE; bar.sync 0; st.global.b32 [%rd91], 1; bra END; ELSE: bar.sync 0; st.global.b32 [%rd91], 2; END:",
        "barrier",
    ),
    "halves of warps at two barriers": (
        FIRST_LANES + "@%p1 bra ELSE; bar.sync 0; st.global.b32 [%rd91], 1; bra END; ELSE: bar.sync 0; st.global.b32 [%rd91], 2; END:",
        "barrier",
    ),
    "one thread at a barrier of its own": (
        "setp.ne.u32 %p1, %r100, 0; @%p1 bra REST; bar.sync 0; st.global.b32 [%rd91], 1; bra END; REST: bar.sync 0; st.global.b32 [%rd91], 2; END:",
        "barrier",
    ),
    "one warp leaves a loop with a barrier early": (
        FIRST_WARP + "selp.b32 %r5, 2, 3, %p1; mov.b32 %r6, 0; LOOP: bar.sync 0; add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r5; @%p2 bra LOOP;",
        "barrier",
    ),
    "one lane leaves a loop with a barrier early": (
        "setp.eq.u32 %p1, %r100, 3; selp.b32 %r5, 2, 3, %p1; mov.b32 %r6, 0; LOOP: bar.sync 0; add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r5;"
        "@%p2 bra LOOP;",
        "barrier",
    ),
    "reduction over a barrier that half of a warp skips": (
        FIRST_LANES + "setp.lt.u32 %p2, %r100, 40; @%p1 bra END; bar.red.popc.u32 %r9, 0, %p2;" + KEEP + "END:",
        "barrier",
    ),
    "warp barrier that does not name its thread": (
        "mov.b32 %r5, 65535; bar.warp.sync %r5; st.global.b32 [%rd91], %r100;",
        "inactive-lane",
    ),
}  # fmt: skip

SOUND = {
    "memcheck: last word": "ld.global.b32 %r9, [%rd91];" + KEEP,
    "memcheck: guarded tail": "setp.lt.u32 %p1, %r100, 60; mov.b32 %r9, 0; @%p1 ld.global.b32 %r9, [%rd91+16];" + KEEP,
    "memcheck: vectors": (
        "mul.wide.u32 %rd1, %r100, 16; add.s64 %rd1, %rd100, %rd1; mov.b32 %r9, 0; setp.lt.u32 %p1, %r100, 16;"
        "@%p1 ld.global.v4.b32 {%r9, %r10, %r11, %r12}, [%rd1];" + KEEP
    ),
    "memcheck: atomics": "and.b32 %r5, %r100, 7; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %rd100, %rd1; atom.global.add.u32 %r9, [%rd1], 1;" + KEEP,
    "memcheck: generic access": "ld.b32 %r9, [%rd91];" + KEEP,
    "memcheck: loop": (
        "mov.b32 %r1, 0; mov.b64 %rd1, %rd100; LOOP: ld.global.b32 %r9, [%rd1]; add.s64 %rd1, %rd1, 4; add.s32 %r1, %r1, 1;"
        "setp.lt.u32 %p1, %r1, 64; @%p1 bra LOOP;" + KEEP
    ),
    "memcheck: halves of words": "ld.global.u16 %rs1, [%rd91+2]; cvt.u32.u16 %r9, %rs1;" + KEEP,
    "memcheck: shared to its end": OWN + "bar.sync 0; ld.shared.v2.b32 {%r9, %r10}, [%r1+248];" + KEEP,
    "memcheck: shared vectors": (
        WORD + "setp.lt.u32 %p1, %r100, 16; shl.b32 %r5, %r100, 4; add.s32 %r5, %r1, %r5; @%p1 st.shared.v4.b32 [%r5], {%r100, %r100, %r100, %r100};"
        "bar.sync 0; ld.shared.b32 %r9, [%r3];" + KEEP
    ),
    "memcheck: asynchronous copy": COPY + "cp.async.wait_group 0; bar.sync 0; ld.shared.b32 %r9, [%r4];" + KEEP,
    "racecheck: word of another warp": OWN + OTHER_WARP + "bar.sync 0; ld.shared.b32 %r9, [%r4];" + KEEP,
    "racecheck: word of a neighbouring lane": OWN + NEIGHBOUR + "bar.warp.sync -1; ld.shared.b32 %r9, [%r4];" + KEEP,
    "racecheck: one value from all threads": WORD + "st.shared.b32 [%r1], 7; bar.sync 0; ld.shared.b32 %r9, [%r1];" + KEEP,
    "racecheck: own word": OWN + "ld.shared.b32 %r9, [%r3]; add.s32 %r9, %r9, 1; st.shared.b32 [%r3], %r9;" + KEEP,
    "racecheck: overwritten after a barrier": (
        OWN + OTHER_WARP + "bar.sync 0; ld.shared.b32 %r9, [%r4]; bar.sync 0; st.shared.b32 [%r3], %r9;" + KEEP
    ),
    "racecheck: loop": (
        WORD + OTHER_WARP + "mov.b32 %r7, 0; mov.b32 %r9, 0; LOOP: add.s32 %r8, %r7, %r100; st.shared.b32 [%r3], %r8; bar.sync 0;"
        "ld.shared.b32 %r8, [%r4]; add.s32 %r9, %r9, %r8; bar.sync 0; add.s32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 4; @%p1 bra LOOP;" + KEEP
    ),
    "racecheck: one warp's own barrier": (
        OWN + NEIGHBOUR + FIRST_WARP + "selp.b32 %r5, 1, 2, %p1; barrier.sync %r5, 32; ld.shared.b32 %r9, [%r4];" + KEEP
    ),
    "racecheck: one thread initialises": (
        WORD + "setp.eq.u32 %p1, %r100, 0; @%p1 st.shared.b32 [%r1], 7; bar.sync 0; ld.shared.b32 %r9, [%r1];" + KEEP
    ),
    "racecheck: histogram with atomics": (
        WORD + "st.shared.b32 [%r3], 0; bar.sync 0; and.b32 %r5, %r100, 7; shl.b32 %r5, %r5, 2; add.s32 %r5, %r1, %r5;"
        "red.shared.add.u32 [%r5], 1; bar.sync 0; ld.shared.b32 %r9, [%r3];" + KEEP
    ),
    "racecheck: bytes of a word": (
        WORD + "add.s32 %r5, %r1, %r100; cvt.u16.u32 %rs1, %r100; st.shared.b8 [%r5], %rs1; ld.shared.b8 %rs2, [%r5]; cvt.u32.u16 %r9, %rs2;" + KEEP
    ),
    "racecheck: two buffers in turn": (
        WORD + "add.s32 %r4, %r1, 128; and.b32 %r5, %r100, 31; shl.b32 %r5, %r5, 2;" + FIRST_WARP +
        "add.s32 %r6, %r1, %r5; add.s32 %r7, %r4, %r5; @%p1 st.shared.b32 [%r6], %r100; bar.sync 0; @%p1 st.shared.b32 [%r7], %r100;"
        "mov.b32 %r9, 0; @!%p1 ld.shared.b32 %r9, [%r6]; bar.sync 0; @!%p1 ld.shared.b32 %r9, [%r7];" + KEEP
    ),
    "racecheck: behind a barrier at which one warp arrived only": (
        WORD + OTHER_WARP + FIRST_WARP + "@%p1 bra WAIT; barrier.arrive 1, 64; bra BOTH; WAIT: barrier.sync 1, 64; BOTH:"
        "st.shared.b32 [%r3], %r100; bar.sync 0; ld.shared.b32 %r9, [%r4];" + KEEP
    ),
    "racecheck: behind a loop in which one warp waits for the other": (
        WORD + OTHER_WARP + FIRST_WARP + "mov.b32 %r7, 1; LOOP: @!%p1 bar.arrive %r7, 64; @%p1 bar.sync %r7, 64; add.s32 %r7, %r7, 1;"
        "setp.lt.u32 %p2, %r7, 4; @%p2 bra LOOP; st.shared.b32 [%r3], %r100; bar.sync 0; ld.shared.b32 %r9, [%r4];" + KEEP
    ),
    "synccheck: all threads": "bar.sync 0; bar.sync 0;",
    "synccheck: arrive and wait": (
        WORD + FIRST_WARP + "@%p1 bra WAIT; st.shared.b32 [%r3], 5; barrier.arrive 1, 64; bra END; WAIT: barrier.sync 1, 64; ld.shared.b32 %r9, [%r3+128];"
        + KEEP + "END:"
    ),
    "synccheck: halves meet before": FIRST_LANES + "@%p1 bra JOIN; st.global.b32 [%rd91], 1; JOIN: bar.sync 0;",
    "synccheck: unaligned barriers of one number": (
        FIRST_WARP + "@%p1 bra ELSE; barrier.sync 1, 64; st.global.b32 [%rd91], 1; bra END; ELSE: barrier.sync 1, 64; st.global.b32 [%rd91], 2; END:"
    ),
    "synccheck: loop": "mov.b32 %r6, 0; LOOP: bar.sync 0; add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 3; @%p2 bra LOOP;",
    "synccheck: barrier of each warp": FIRST_WARP + "selp.b32 %r5, 1, 2, %p1; barrier.sync %r5, 32;",
    "synccheck: uniform branch": "setp.eq.u32 %p1, %r101, 7; @%p1 bra END; bar.sync 0; END:",
    "synccheck: warp barriers": (
        FIRST_LANES + "@%p1 bra ELSE; bar.warp.sync 0xffff0000; bra END; ELSE: bar.warp.sync 0x0000ffff; END: bar.sync 0;"
    ),
    "synccheck: reduction over a barrier": "setp.lt.u32 %p2, %r100, 40; bar.red.popc.u32 %r9, 0, %p2;" + KEEP,
}  # fmt: skip

BEYOND = {
    "shared memory nothing has written": (WORD + "ld.shared.b32 %r9, [%r3];" + KEEP, "uninitialised"),
    "all threads store at one address": ("st.global.b32 [%rd100], %r100;", "thread-race"),
    "a word of global memory that another warp stores": (
        "xor.b32 %r4, %r100, 32; mul.wide.u32 %rd1, %r4, 4; add.s64 %rd1, %rd100, %rd1; st.global.b32 [%rd91], %r100; ld.global.b32 %r9, [%rd1];"
        + KEEP,
        "thread-race",
    ),
    "a histogram in global memory without atomics": (
        "and.b32 %r5, %r100, 7; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %rd100, %rd1;"
        "ld.global.b32 %r6, [%rd1]; add.s32 %r6, %r6, 1; st.global.b32 [%rd1], %r6;",
        "thread-race",
    ),
    "asynchronous copy without a wait": (COPY + "ld.shared.b32 %r9, [%r3];" + KEEP, "async-read"),
}

EXAMPLE_TOOL = {"out-of-bounds": "memcheck", "misaligned": "memcheck", "shared-race": "racecheck"}
ON_HARDWARE_TOO = [
    "softmax: no barrier between writing and reading the maximum", "softmax: no barrier between writing and reading the sum",
    "layer_norm: no barrier before the exchange", "transpose: no barrier", "sum_columns: no barrier", "max_columns: no barrier",
    "vector_add: load mask dropped", "vector_add: store mask dropped", "dropout: store mask dropped", "masked_gather: load mask dropped",
    "vector_add: vector shifted by a word", "small_matmul: no barrier before the tile is read", "small_matmul: a shared vector shifted by a word",
]  # fmt: skip
"""Faults in compiled kernels, from `KERNEL_FAULTS`."""


def small(name: str, body: str, planted: str = "", kind: str = "") -> Sample:
    arrays = [np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)]
    kernel = "k_" + "".join(c if c.isalnum() else "_" for c in (f"{planted}_{name}" if planted else name))
    return Sample(
        name, ptx_of(body, threads=64, shared=256, name=kernel), arrays, (1,), 0, planted, frozenset({kind} - {""})
    )


def from_examples(compiled: object) -> list[Sample]:
    """The example kernels that `ON_HARDWARE_TOO` names, with their faults and without. `compiled(name, compiler, capability)` gives PTX and shared bytes."""
    found: dict[str, Sample] = {}
    for number, fault in enumerate(ON_HARDWARE_TOO):
        name, edit, kind = KERNEL_FAULTS[fault]
        case = next(c for c in CASES if c.name == name)
        ptx, shared = compiled(name, "minitriton", 90)  # type: ignore[operator]
        arguments = case.inputs(np.random.default_rng(0))
        tool = EXAMPLE_TOOL[kind]
        for planted in (tool, ""):
            text = plant(ptx, edit) if planted else ptx
            kernel = f"k_{name}_{number}" if planted else f"k_{name}"
            label = fault if planted else f"{tool}: {name}"
            text = text.replace(f" {case.kernel}(", f" {kernel}(")
            found.setdefault(
                kernel,
                Sample(label, text, arguments, case.grid, shared, planted, frozenset({kind} if planted else ()), False),
            )
    return list(found.values())


def small_samples() -> list[Sample]:
    """All that are written as PTX."""
    tables = {"memcheck": MEMCHECK, "racecheck": RACECHECK, "synccheck": SYNCCHECK}
    planted = [small(n, b, tool, kind) for tool, table in tables.items() for n, (b, kind) in table.items()]
    return [*planted, *(small(n, b) for n, b in SOUND.items())]


def beyond_samples() -> list[Sample]:
    """Faults that compute-sanitizer's three tools do not look for."""
    return [small("beyond " + n, b, "", kind) for n, (b, kind) in BEYOND.items()]


def verdict(kinds: set[str] | frozenset[str]) -> set[str]:
    """The tools whose reports these findings stand for."""
    return {tool for tool, own in TOOLS.items() if own & kinds}
