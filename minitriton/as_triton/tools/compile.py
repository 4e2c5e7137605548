"""`python -m minitriton.tools.compile`: a kernel compiled ahead of time, as C source that holds its cubin.

python -m minitriton.tools.compile add.py --kernel-name add --signature "*fp32:16, *fp32:16, i32, 1024" --grid "n/1024, 1, 1" --out-name add

writes `add.HASH_SUFFIX.c` and `.h`, with functions that load, unload and launch it. The signature gives each parameter a
type, with `:16` for divisible by 16 and `:1` for equal to one, or a number that is compiled in (`commands.signature`); the grid's three C
expressions may name parameters. `minitriton.tools.link` makes one entry point of several. Options are Triton's.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from minitriton.as_triton.compiler import compile, default_target
from minitriton.as_triton.tools.aot_source import AotKernel, suffix_of
from minitriton.commands.kernel_files import load_kernel
from minitriton.commands.signature import parse_signature, source_of
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import write_whole
from minitriton.target import GPUTarget


@dataclass
class CompileArgs:
    """The command line. `target` is `cuda:ARCH:32`, by default that of the current device."""

    path: str = ""
    kernel_name: str = ""
    signature: str = ""
    grid: str = ""
    target: str | None = None
    num_warps: int = 1
    num_stages: int = 3
    out_name: str | None = None
    out_path: Path | None = None


def compile_kernel(args: CompileArgs) -> tuple[str, list[Path]]:
    """Writes the C source and header; returns the C function's name and the files.

    Raises `MinitritonError` for a kernel, signature or grid that cannot be compiled ahead of time.
    """
    kernel = load_kernel(f"{args.path}:{args.kernel_name}")
    grid = [part.strip() for part in args.grid.split(",")]
    if len(grid) != 3:
        raise MinitritonError(f"grid {args.grid!r}", help="give three C expressions, separated by commas")
    parameters = parse_signature(args.signature, kernel)
    if any(parameter.items for parameter in parameters):
        raise MinitritonError(
            "tuples cannot be compiled ahead of time", help="pass their items as parameters of their own"
        )
    target = _target(args.target)
    compiled = compile(
        source_of(kernel, parameters), target, {"num_warps": args.num_warps, "num_stages": args.num_stages}
    )
    if compiled.metadata.global_scratch_size:
        raise MinitritonError("kernels that need global scratch memory cannot be compiled ahead of time")
    options = f"warps{args.num_warps}xstages{args.num_stages}"
    described = [part.strip() for part in args.signature.split(",")]
    digest = hashlib.sha256(" ".join([*described, options]).encode()).hexdigest()[:8]
    constants = {p.name: p.constant if p.is_constant else 1 for p in parameters if not p.is_passed}
    fixed = [p for p in parameters if p.is_constant]
    out_name = args.out_name or args.kernel_name
    suffix = suffix_of(parameters)
    written = AotKernel(
        name=f"{out_name}_{digest}_{suffix}",
        entry=compiled.name,
        cubin=compiled.asm["cubin"],
        parameters=parameters,
        grid=grid,
        threads=args.num_warps * target.warp_size,
        shared=compiled.metadata.shared,
        algorithm=re.sub(r"\W", "_", "_".join(["x".join(str(p.constant) for p in fixed), options])),
        description=", ".join([*(f"{n}={v}" for n, v in constants.items()), f"num_warps={args.num_warps}", target.sm]),
    )
    out_path = args.out_path or Path(out_name)
    files: list[Path] = []
    for extension, text in ((".c", written.source()), (".h", written.header())):
        files.append(out_path.with_suffix(f".{digest}_{suffix}{extension}"))
        write_whole(files[-1], text)
    return written.name, files


def _target(text: str | None) -> GPUTarget:
    if text is None:
        return default_target()
    backend, _, rest = text.partition(":")
    arch, _, warp_size = rest.partition(":")
    if not arch.isdigit():
        raise MinitritonError(f"target {text!r}", help="write it as cuda:90:32")
    return GPUTarget(backend, int(arch), int(warp_size or 32))


def main(argv: list[str] | None = None) -> int:
    """The command. Exit code 1, and the reason on standard error, if the kernel cannot be compiled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="Python file with the kernel; it is executed")
    parser.add_argument("--kernel-name", "-n", required=True)
    parser.add_argument("--signature", "-s", required=True)
    parser.add_argument("--grid", "-g", required=True)
    parser.add_argument("--target", "-t", help="cuda:ARCH:32; default: the current device")
    parser.add_argument("--num-warps", "-w", type=int, default=1)
    parser.add_argument("--num-stages", "-ns", type=int, default=3)
    parser.add_argument("--out-name", "-on", help="name of the C function, without hash and suffix")
    parser.add_argument("--out-path", "-o", type=Path, help="path of the files, without hash, suffix and extension")
    try:
        compile_kernel(CompileArgs(**vars(parser.parse_args(argv))))
    except MinitritonError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
