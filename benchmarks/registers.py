"""Registers and occupancy of kernels nobody tuned, beside what Triton's compile with its own `ptxas` gives. Needs no GPU.

    python benchmarks/registers.py [KERNEL ...] [--every N] [--json FILE]

For each launch of `speed_shapes.py`: registers and bytes of local memory (spills) of minitriton's cubin and of Triton's, how many
blocks of it an SM of Hopper holds, and the milliseconds of processor time that the assembler took.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from compile_time import processor_seconds
from speed_shapes import LAUNCHES, Array, Launch

from minitriton.codegen.cubin_resources import kernel_resources
from minitriton.pipeline.stages import assemble
from minitriton.target import GPUTarget
from minitriton.target.architectures import ARCHITECTURES
from minitriton_kernels.cases import load_kernels


def source_parts(launch: Launch, compiler: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The kernel with the signature, constexprs and attributes that a launch on aligned tensors has, and the options of its compile."""
    kernel = getattr(load_kernels(launch.file, compiler), launch.kernel)
    written = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    options = {name: value for name, value in launch.constexprs.items() if name not in kernel.arg_names}
    given = dict(zip(kernel.arg_names, launch.arguments, strict=False))
    given |= {name: value for name, value in launch.constexprs.items() if name in kernel.arg_names}
    signature: dict[str, str] = dict.fromkeys(kernel.arg_names, "constexpr")
    constexprs: dict[str, Any] = {}
    attrs: dict[tuple[int, ...], Any] = {}
    for name, value in given.items():
        if name in written or (name not in launch.constexprs and value == 1):
            constexprs[name] = value
            continue
        signature[name] = (
            f"*{value.dtype}" if isinstance(value, Array) else "fp32" if isinstance(value, float) else "i32"
        )
        if isinstance(value, Array) or (isinstance(value, int) and value % 16 == 0):
            attrs[(kernel.arg_names.index(name),)] = [["tt.divisibility", 16]]
    return (kernel, signature, constexprs, attrs), {"num_warps": launch.num_warps, **options}


def facts(cubin: bytes, name: str, threads: int, shared: int) -> dict[str, int]:
    """Registers, bytes of local memory and blocks on an SM."""
    taken = kernel_resources(cubin, name)
    blocks = ARCHITECTURES[90].ctas_on_sm(taken.registers, threads, shared)
    return {"registers": taken.registers, "local": taken.local_bytes, "blocks": blocks}


def measure(launch: Launch) -> dict[str, Any]:
    """Of both compilers the facts of the cubin; of minitriton the milliseconds of the assembler too."""
    import triton
    from triton.backends.compiler import GPUTarget as TritonTarget
    from triton.compiler import ASTSource as TritonSource

    import minitriton
    from minitriton.compiler import ASTSource

    target = GPUTarget("cuda", 90, 32)
    parts, options = source_parts(launch, "minitriton")
    ours = minitriton.compile(ASTSource(*parts), target, options, assemble=False)
    start = processor_seconds()
    cubin = assemble(ours.asm["ptx"], ours.metadata.pipeline)
    taken = processor_seconds() - start
    threads = math.prod(int(n) for n in re.search(r"\.reqntid ([\d, ]+)", ours.asm["ptx"])[1].split(","))  # pyright: ignore[reportOptionalSubscript]
    parts, options = source_parts(launch, "triton")
    theirs = triton.compile(TritonSource(*parts), TritonTarget("cuda", 90, 32), options)
    return {
        "name": launch.name,
        "minitriton": facts(cubin, ours.metadata.name, threads, ours.metadata.shared),
        "triton": facts(theirs.asm["cubin"], theirs.metadata.name, 32 * launch.num_warps, theirs.metadata.shared),
        "assembler_ms": taken * 1e3,
        "threads": threads,
        "shared": ours.metadata.shared,
        "ptx": ours.asm["ptx"],
        "entry": ours.metadata.name,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only kernels whose name contains one of these")
    parser.add_argument("--every", type=int, default=1, help="only every n-th launch")
    parser.add_argument("--json", help="also write the rows, their PTX among them, to this file")
    arguments = parser.parse_args()
    print(f"{'launch':64}{'minitriton':>22}{'Triton':>22}   registers, local bytes, blocks on an SM")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        for launch in LAUNCHES[:: arguments.every]:
            if arguments.names and not any(name in launch.kernel for name in arguments.names):
                continue
            try:
                row = measure(launch)
            except Exception as error:
                print(f"{launch.name:64} {type(error).__name__}: {str(error).strip()[:100]}", flush=True)
                continue
            rows.append(row)
            shown = "".join(
                f"{row[c]['registers']:10}{row[c]['local']:6}{row[c]['blocks']:6}" for c in ("minitriton", "triton")
            )
            fewer = "  fewer" if row["minitriton"]["blocks"] < row["triton"]["blocks"] else ""
            print(f"{launch.name:64}{shown}{fewer}", flush=True)
            if arguments.json:
                Path(arguments.json).write_text(json.dumps(rows))
    fewer = [row for row in rows if row["minitriton"]["blocks"] < row["triton"]["blocks"]]
    more = [row for row in rows if row["minitriton"]["blocks"] > row["triton"]["blocks"]]
    spilling = [row for row in rows if row["minitriton"]["local"] > row["triton"]["local"]]
    milliseconds = sum(row["assembler_ms"] for row in rows)
    print(
        f"\n{len(rows)} kernels: an SM holds fewer blocks than of Triton's of {len(fewer)}, more of {len(more)}; "
        f"{len(spilling)} spill more; assembler {milliseconds:.0f} ms"
    )


if __name__ == "__main__":
    main()
