"""`minitriton demo`: one kernel from Python to numbers, every stage shown on the way.

In: nothing. Out: on the terminal, the kernel's source, its TTIR, TTGIR, LLVM IR and PTX, then the numbers that it computes as
TTIR on the interpreter, as PTX on the emulator and, where there is one, on a GPU, next to NumPy's; and what the emulator counted.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

import minitriton
from minitriton.commands.shared_options import print_json
from minitriton.dialects.text import parse_module, print_module
from minitriton.lab.corpus.case import KERNELS, load_file
from minitriton.runtime.cuda_driver import has_gpu

if TYPE_CHECKING:
    from minitriton.emulator import Report


ROWS, COLUMNS, BLOCK = 64, 1000, 1024
SHOWN_LINES = 24

_TOUR = KERNELS / "lessons" / "tour.py"
softmax = load_file(_TOUR, "minitriton").softmax


def run(full: bool = False, as_json: bool = False) -> int:
    """Prints the demo, `as_json` its stages and errors only. Returns 0 if the numbers agree, else 1."""
    if not as_json:
        return _run(full, {}, {})
    stages: dict[str, str] = {}
    errors: dict[str, float] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        status = _run(full, stages, errors)
    print_json({"agree": status == 0, "largest_errors": errors, "stages": stages})
    return status


def _run(full: bool, stages: dict[str, str], errors: dict[str, float]) -> int:
    """The demo; what it shows is left in `stages` and `errors` too."""
    target = minitriton.compiler.default_target()
    _title("A Triton kernel")
    print(inspect.getsource(softmax.fn))
    start = time.perf_counter()
    kernel = softmax.warmup(
        np.empty(1, np.float32), np.empty(1, np.float32), COLUMNS, COLUMNS, BLOCK=BLOCK, grid=(ROWS,)
    )
    seconds = time.perf_counter() - start
    for stage, what in _STAGES.items():
        _title(f"{stage}: {what}")
        stages[stage] = str(kernel.asm[stage])
        _show(_readable(stage, str(kernel.asm[stage])), full)
    print(f"\ncompiled for {target.sm} in {seconds * 1e3:.0f} ms; ", end="")
    print(f"{kernel.metadata.shared} bytes of shared memory, {kernel.metadata.num_warps} warps")
    _title("The numbers")
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = wide / wide.sum(axis=1, keepdims=True)
    agree = _on_host(x, expected, errors)
    if has_gpu():
        agree &= _on_gpu(x, expected, errors)
    print("\nthey agree" if agree else "\nTHEY DIFFER")
    return 0 if agree else 1


_STAGES = {
    "ttir": "tensors without layouts",
    "ttgir": "each tensor spread over registers, lanes and warps by its layout",
    "llir": "LLVM IR after LLVM's optimiser",
    "ptx": "what the driver's assembler reads",
}


def _title(text: str) -> None:
    print(f"\n== {text} " + "=" * max(3, 100 - len(text)))


def _show(text: str, full: bool) -> None:
    lines = text.splitlines()
    shown = lines if full else lines[:SHOWN_LINES]
    print("\n".join(shown))
    if len(shown) < len(lines):
        print(f"... {len(lines) - len(shown)} more lines (minitriton demo --full)")


def _readable(stage: str, text: str) -> str:
    """`text` without source locations."""
    if stage in ("ttir", "ttgir"):
        return print_module(parse_module(text))
    return "\n".join(line.split(", !dbg")[0] for line in text.splitlines() if not line.startswith("\t.loc"))


def _report(name: str, result: np.ndarray, expected: np.ndarray, errors: dict[str, float]) -> bool:
    error = errors[name] = float(np.abs(result - expected).max())
    print(f"{name:28} row 0: {result[0, 0]:.7f} {result[0, 1]:.7f} {result[0, 2]:.7f} ...  max error {error:.1e}")
    return error < 1e-6


def _on_host(x: np.ndarray, expected: np.ndarray, errors: dict[str, float]) -> bool:
    """The kernel on both levels that need no GPU, and what the emulator saw."""
    agree = _report("NumPy (float64)", expected, expected, errors)
    interpreted, emulated = np.zeros_like(x), np.zeros_like(x)
    with _environment("MINITRITON_INTERPRET", "1"):
        softmax[(ROWS,)](x, interpreted, COLUMNS, COLUMNS, BLOCK=BLOCK)
    agree &= _report("TTIR (interpreter)", interpreted, expected, errors)
    with _environment("MINITRITON_INTERPRET", "0"):
        kernel = softmax[(ROWS,)](x, emulated, COLUMNS, COLUMNS, BLOCK=BLOCK)
    agree &= _report("PTX (emulator)", emulated, expected, errors)
    _title("What the emulator counted")
    if kernel is not None and kernel.last_report is not None:
        _show_costs(kernel.last_report)
    return agree


def _show_costs(report: Report) -> None:
    """Coalescing, bank conflicts and the instructions issued most, of the whole launch."""
    memory, shared = report.total("global"), report.total("shared")
    print(
        f"global memory   {memory.requests} requests of warps, {memory.bytes} bytes, {memory.sectors} sectors of 32 bytes: ",
        end="",
    )
    print(f"{memory.bytes / (32 * memory.sectors):.0%} of what moves is used")
    print(
        f"shared memory   {shared.requests} requests, {shared.wavefronts} passes, {shared.conflicts} of them for bank conflicts"
    )
    issued = int(report.warps.sum())
    often = ", ".join(f"{name} {count / issued:.0%}" for name, count in list(report.mix().items())[:4])
    print(f"instructions    {issued} issued by warps, most of all {often}")
    print(f"faults          {len(report.findings) or 'none'} (accesses, races, barriers, waits)")


@contextlib.contextmanager
def _environment(name: str, value: str) -> Generator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _on_gpu(x: np.ndarray, expected: np.ndarray, errors: dict[str, float]) -> bool:
    try:
        import torch
    except ImportError:
        print("torch is not installed, so device arrays are missing to the GPU")
        return True
    source = torch.from_numpy(x).cuda()

    def launch(kernel: Any) -> np.ndarray:
        out = torch.empty_like(source)
        kernel[(ROWS,)](source, out, COLUMNS, COLUMNS, BLOCK=BLOCK)
        return out.cpu().numpy()

    ours = launch(softmax)
    agree = _report("minitriton (GPU)", ours, expected, errors)
    triton_kernel = _under_triton()
    if triton_kernel is not None:
        theirs = launch(triton_kernel)
        agree &= _report("Triton (GPU)", theirs, expected, errors)
        print("bit for bit equal to Triton" if np.array_equal(ours, theirs) else "not bit for bit equal to Triton")
    return agree


def _under_triton() -> Any | None:
    """The same kernel decorated by Triton, or None where Triton is not installed."""
    try:
        import triton
    except ImportError:
        return None
    if triton.__name__ == "minitriton":
        return None
    return load_file(_TOUR, "triton").softmax
