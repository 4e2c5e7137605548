"""Dots on AMD's matrix cores that the corpus lacks, by both compilers: the TTGIR compared, the assembly on the AMDGCN emulator against NumPy.

    python benchmarks/amd_dots.py [--arch gfx942,gfx950] [--only SUBSTRING]

Narrow results (4x64, 64x4), and microscaled operands packed along k or along M and N. A row says whether the instruction and the layouts of the dot
are Triton's, how far each result is from NumPy's, and how many instructions each assembly has. Needs Triton's wheel, and no GPU.
"""

from __future__ import annotations

import argparse
import os
import re
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minitriton.emulator import amdgcn
from minitriton.interpreter.numbers.formats import decode_small, encode_bf16
from minitriton_kernels.cases import load_kernels

KERNELS = str(Path(__file__).with_name("amd_dot_kernels"))
POINTERS = {"e2m1": "*u8", "e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "bf16": "*bf16", "fp16": "*fp16"}
SMALL = {"e2m1": "e2m1", "e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
NARROW = [(4, 64), (64, 4), (8, 64), (128, 4), (4, 256), (64, 8), (8, 128)]


@dataclass(frozen=True)
class Dot:
    """One kernel with its arguments and what NumPy says."""

    label: str
    kernel: str
    signature: dict[str, str]
    constants: dict[str, Any]
    arguments: list[Any]
    expected: np.ndarray


def dots() -> list[Dot]:
    """All of them."""
    rng = np.random.default_rng(0)
    depths = {"fp16": 64, "bf16": 128, "fp32": 32, "i8": 128}
    found = [_narrow(rng, kind, m, n, k) for kind, k in depths.items() for m, n in NARROW]
    for left, right, k_packs in [
        ("e2m1", "e2m1", (False, False)), ("e2m1", "e4m3", (False, True)), ("e5m2", "e2m1", (True, False)),
        ("e2m1", "bf16", (False, True)), ("bf16", "e2m1", (True, False)), ("e2m1", "fp16", (True, True)),
        ("e2m1", "bf16", (True, True)), ("bf16", "e2m1", (True, True)), ("e4m3", "bf16", (True, True)),
        ("fp16", "e4m3", (True, True)), ("bf16", "e5m2", (True, True)), ("e2m1", "e2m1", (True, True)),
    ]:  # fmt: skip
        for size in ((64, 64, 128), (32, 128, 256), (16, 16, 256)):
            found.append(_scaled(rng, left, right, k_packs, size))
    return found


def _narrow(rng: np.random.Generator, kind: str, m: int, n: int, k: int) -> Dot:
    a, b = (rng.integers(-8, 8, shape) for shape in ((m, k), (k, n)))
    wanted = a @ b
    if kind == "bf16":
        given = [encode_bf16(x.astype(np.float32)) for x in (a, b)]
    else:
        given = [x.astype({"fp16": np.float16, "fp32": np.float32, "i8": np.int8}[kind]) for x in (a, b)]
    into = np.int32 if kind == "i8" else np.float32
    signature = {"a": f"*{kind}", "b": f"*{kind}", "c": "*i32" if kind == "i8" else "*fp32"}
    constants = {"M": m, "N": n, "K": k}
    return Dot(
        f"{kind} {m}x{n}x{k}", "dot", signature, constants, [*given, np.zeros((m, n), into)], wanted.astype(into)
    )


def _operand(
    rng: np.random.Generator, form: str, rows: int, k: int, is_k_packed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """What is in memory, [rows, k] with two codes of e2m1 to a byte along one of them, and its numbers."""
    if form in ("bf16", "fp16"):
        numbers = rng.integers(-8, 8, (rows, k)).astype(np.float32)
        return (encode_bf16(numbers) if form == "bf16" else numbers.astype(np.float16)), numbers.astype(np.float64)
    most = {"e2m1": 8, "e4m3": 0x50, "e5m2": 0x48}[form]
    sign = rng.integers(0, 2, (rows, k)) * (8 if form == "e2m1" else 0x80)
    codes = (rng.integers(0, most, (rows, k)) | sign).astype(np.uint8)
    numbers = decode_small(SMALL[form], codes).astype(np.float64)
    if form == "e2m1":
        codes = codes[:, ::2] | codes[:, 1::2] << 4 if is_k_packed else codes[::2] | codes[1::2] << 4
    return codes, numbers


def _scaled(
    rng: np.random.Generator, left: str, right: str, k_packs: tuple[bool, bool], size: tuple[int, int, int]
) -> Dot:
    m, n, k = size
    has_scale = [form not in ("bf16", "fp16") for form in (left, right)]
    (a, x), (b, y) = _operand(rng, left, m, k, k_packs[0]), _operand(rng, right, n, k, k_packs[1])
    scales = [rng.integers(125, 130, (rows, k // 32)).astype(np.uint8) for rows in (m, n)]
    factors = [np.repeat(2.0 ** (s.astype(int) - 127), 32, axis=1) for s in scales]
    wanted = (x * factors[0] if has_scale[0] else x) @ (y * factors[1] if has_scale[1] else y).T
    a = a if k_packs[0] else np.ascontiguousarray(a.T)
    constants = {
        "M": m, "N": n, "K": k, "FA": left, "FB": right, "SA": has_scale[0], "SB": has_scale[1], "LK": k_packs[0], "RK": k_packs[1],
    }  # fmt: skip
    signature = {"a": POINTERS[left], "sa": "*u8", "b": POINTERS[right], "sb": "*u8", "c": "*fp32"}
    given = [a, scales[0], np.ascontiguousarray(b.T), scales[1], np.zeros((m, n), np.float32)]
    packs = "".join("k" if each else "mn"[side] for side, each in enumerate(k_packs))
    return Dot(f"{left} {right} {packs} {m}x{n}x{k}", "scaled", signature, constants, given, wanted.astype(np.float32))


class Made(NamedTuple):
    """What a compiler made of a dot; `error` says why it made nothing."""

    error: str
    dot: str = ""
    matrix: frozenset[str] = frozenset()
    worst: float = 0.0
    issued: int = 0
    findings: str = ""


def made(case: Dot, arch: str, compiler: str) -> Made:
    """Compiles and runs it."""
    if compiler == "triton":
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    else:
        import minitriton as triton
        from minitriton.compiler import ASTSource
        from minitriton.target import GPUTarget
    kernel = getattr(load_kernels(KERNELS, compiler), case.kernel)
    kinds = case.signature | dict.fromkeys(case.constants, "constexpr")
    constants = {(kernel.arg_names.index(name),): value for name, value in case.constants.items()}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(len(case.signature))}
    try:
        compiled = triton.compile(
            ASTSource(kernel, kinds, constants, attrs), GPUTarget("hip", arch, 64), {"num_warps": 4}
        )
        text = compiled.asm["amdgcn"]
        arguments = [x.copy() for x in case.arguments]
        report = amdgcn.run(text, None, (1,), arguments, shared_bytes=compiled.metadata.shared)
    except Exception as error:  # compilers raise errors of different classes
        return Made(str(error).splitlines()[0][:90])
    wanted = case.expected.astype(np.float64)
    worst = np.abs(arguments[-1].astype(np.float64) - wanted).max() / max(1.0, np.abs(wanted).max())
    return Made(
        "",
        _dot_of(str(compiled.asm["ttgir"])),
        frozenset(re.findall(r"^\s+(v_mfma\w+|ds_read_b64_tr\w+|v_cvt_scalef32\w+)", text, re.MULTILINE)),
        float(worst),
        int(report.warps.sum()),
        "; ".join(map(str, report.findings[:1])),
    )


def in_child(case: Dot, arch: str, compiler: str) -> Made:
    """`made` in a process of its own: what a compiler cannot lower may abort it."""
    with ProcessPoolExecutor(1, get_context("fork"), initializer=_silent) as pool:
        try:
            return pool.submit(made, case, arch, compiler).result()
        except BrokenProcessPool:
            return Made("the process aborts")


def _silent() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _dot_of(ttgir: str) -> str:
    """The layout of the matrix cores, and the ops that make the dot's operands, without names and locations."""
    lines = [line for line in ttgir.splitlines() if re.search(r"^#mma|tt\.dot|amdg\.(up|scaled_up|local_load)", line)]
    return "\n".join(re.sub(r"%[\w#]+|loc\(.*|#(linear|blocked|shared)\d*", "", line).strip() for line in lines)


def main() -> None:
    """Prints a row for each dot and target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="gfx942,gfx950")
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true", help="print the layouts and dots that differ")
    options = parser.parse_args()
    print(f"{'dot':34} {'target':7} {'TTGIR':6} {'errors: own':>11} {'Triton':>8} {'instr.':>7} {'Triton':>7}")
    for arch in options.arch.split(","):
        for case in dots():
            if options.only not in case.label:
                continue
            own, theirs = made(case, arch, "minitriton"), in_child(case, arch, "triton")
            same = "-" if own.error or theirs.error else "equal" if own.dot == theirs.dot else "other"
            notes = [
                own.error and f"own: {own.error}",
                theirs.error and f"Triton: {theirs.error}",
                own.findings,
                theirs.findings,
            ]
            notes += (
                [f"instructions {sorted(own.matrix ^ theirs.matrix)}"]
                if own.matrix != theirs.matrix and same != "-"
                else []
            )
            print(
                f"{case.label:34} {arch:7} {same:6} {own.worst:11.1e} {theirs.worst:8.1e} {own.issued:7} {theirs.issued:7}  "
                + "; ".join(filter(None, notes)),
                flush=True,
            )
            if options.show and same == "other":
                print(own.dot, "\n--- Triton", theirs.dot, sep="\n")


if __name__ == "__main__":
    main()
