"""Functions of float64 beside Triton: what an element costs to compile, and on a GPU to compute.

    python benchmarks/double_functions.py              lines of PTX and processor seconds to a cubin, a process for each compiler
    python benchmarks/double_functions.py --gpu        microseconds for 2^24 numbers, small ones and (for tl.sin, tl.cos) one large one in 4096

The functions are those of `tl` and of libdevice; sine and cosine of one value together are what a Fourier transform needs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTIONS = (
    "tl.sin(v)", "tl.sin(v) * tl.cos(v)", "tl.exp(v)", "tl.log(v)", "tl.erf(v)", "libdevice.tan(v)", "libdevice.pow(v, v)",
    "libdevice.tgamma(v)", "libdevice.lgamma(v)", "libdevice.erfc(v)", "libdevice.atan(v)", "libdevice.fmod(v, v + 1)",
)  # fmt: skip
KERNEL = """
import {package} as triton
import {package}.language as tl
from {package}.language.extra import libdevice


@triton.jit
def kernel(x, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, {expression})
"""
COUNT = 1 << 24


def kernel_of(package: str, expression: str, folder: Path) -> object:
    """A kernel that stores `expression` of each element `v`, for `package` (triton or minitriton)."""
    name = f"kernel_{abs(hash(expression))}"
    (folder / f"{name}.py").write_text(KERNEL.format(package=package, expression=expression))
    return importlib.import_module(name).kernel


def compile_all(package: str, folder: Path) -> None:
    """Prints lines of PTX and processor seconds for each function, of 16 elements a thread."""
    compiler = importlib.import_module(f"{package}.compiler")
    targets = importlib.import_module("triton.backends.compiler" if package == "triton" else "minitriton.target")
    for expression in FUNCTIONS:
        source = compiler.ASTSource(
            kernel_of(package, expression, folder), {"x": "*fp64", "out": "*fp64", "N": "constexpr"}, {(2,): 2048}
        )
        before = os.times()
        made = importlib.import_module(package).compile(source, target=targets.GPUTarget("cuda", 90, 32))
        after = os.times()
        seconds = after.user - before.user + after.children_user - before.children_user
        lines = made.asm["ptx"].count("\n")
        print(f"{package:12} {expression:26} {lines:6} lines {seconds:6.2f} s", flush=True)


def measure_all(package: str, folder: Path) -> None:
    """Prints microseconds for each function over `COUNT` numbers."""
    import torch

    do_bench = importlib.import_module(f"{package}.testing").do_bench
    small = torch.randn(COUNT, dtype=torch.float64, device="cuda")
    large = small.clone()
    large[::4096] = 1e300
    out = torch.empty_like(small)
    for expression in FUNCTIONS:
        kernel = kernel_of(package, expression, folder)
        for name, numbers in (("small", small), *([("some large", large)] if "tl.sin" in expression else [])):
            took = do_bench(lambda kernel=kernel, numbers=numbers: kernel[(COUNT // 1024,)](numbers, out, 1024))
            print(f"{package:12} {expression:26} {name:10} {took * 1e3:8.1f} us", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--package", choices=["triton", "minitriton"])
    given = parser.parse_args()
    if given.package is None:
        for package in ("triton", "minitriton"):
            subprocess.run(
                [sys.executable, __file__, "--package", package, *(["--gpu"] if given.gpu else [])], check=True
            )
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        sys.path.insert(0, folder)
        (measure_all if given.gpu else compile_all)(given.package, Path(folder))


if __name__ == "__main__":
    main()
