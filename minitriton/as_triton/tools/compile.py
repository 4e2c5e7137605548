"""`python -m minitriton.tools.compile`: a kernel compiled ahead of time, as C source that holds its cubin.

python -m minitriton.tools.compile add.py --kernel-name add --signature "*fp32:16, *fp32:16, i32, 1024" --grid "n/1024, 1, 1" --out-name add

writes `add.HASH_SUFFIX.c` and `.h`, with functions that load, unload and launch it: `CUresult add_0a1b2c3d_0d1d2(CUstream stream, CUdeviceptr x, ...)`. The signature gives each parameter a
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
from minitriton.backends.nvidia.driver import ty_to_cpp
from minitriton.commands.kernel_files import load_kernel
from minitriton.commands.signature import Parameter, parse_signature, source_of
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


_STATIC_SHARED_LIMIT = 48 * 1024

_HEADER = """\
#ifndef TT_KERNEL_INCLUDES
#define TT_KERNEL_INCLUDES

#include <cuda.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#endif

void load_{name}(void);
void unload_{name}(void);
// tt-linker: {name}:{signature}:{algorithm}
// tt-linker-hints: {hints}
CUresult {name}(CUstream stream{parameters});
"""

_SOURCE = """\
/* {description} */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static CUmodule module_of_kernel = NULL;
static CUfunction kernel = NULL;
static const unsigned char cubin[{size}] = {{
{data}
}};

static void check(CUresult code, const char *call) {{
  const char *text = "unknown error";
  if (code == CUDA_SUCCESS)
    return;
  cuGetErrorString(code, &text);
  fprintf(stderr, "Triton Error [CUDA]: {name}: %s: %s\\n", call, text);
  exit((int)code);
}}

void load_{name}(void) {{
  if (kernel != NULL)
    return;
  check(cuModuleLoadData(&module_of_kernel, cubin), "cuModuleLoadData");
  check(cuModuleGetFunction(&kernel, module_of_kernel, "{entry}"), "cuModuleGetFunction");
{opt_in}}}

void unload_{name}(void) {{
  if (kernel == NULL)
    return;
  kernel = NULL;
  check(cuModuleUnload(module_of_kernel), "cuModuleUnload");
}}

CUresult {name}(CUstream stream{parameters}) {{
{constants}  const unsigned int grid_x = {grid[0]}, grid_y = {grid[1]}, grid_z = {grid[2]};
  CUdeviceptr global_scratch = 0, profile_scratch = 0;
  void *arguments[] = {{ {arguments} }};
  load_{name}();
  if (grid_x == 0 || grid_y == 0 || grid_z == 0)
    return CUDA_SUCCESS;
  return cuLaunchKernel(kernel, grid_x, grid_y, grid_z, {threads}, 1, 1, {shared}, stream, arguments, NULL);
}}
"""

_OPT_IN = """\
  check(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {shared}), "cuFuncSetAttribute");
"""


@dataclass(frozen=True)
class AotKernel:
    """What the C source of a kernel is made of. `grid`: three C expressions over the parameters; `algorithm` tells apart
    kernels of one name that are compiled with other constants or options."""

    name: str
    entry: str
    cubin: bytes
    parameters: list[Parameter]
    grid: list[str]
    threads: int
    shared: int
    algorithm: str
    description: str

    def _listed(self, parameters: list[Parameter]) -> list[str]:
        return [f"{ty_to_cpp(p.type_name)} {p.name}" for p in parameters]

    def _passed(self) -> str:
        return "".join(f", {text}" for text in self._listed([p for p in self.parameters if p.is_passed]))

    def header(self) -> str:
        """The `.h` file; its comments are what `link` reads."""
        given = [p for p in self.parameters if not p.is_constant]
        return _HEADER.format(
            name=self.name,
            signature=", ".join(self._listed(given)),
            algorithm=self.algorithm,
            hints=",".join(str(p.hint or "") for p in given),
            parameters=self._passed(),
        )

    def source(self) -> str:
        """The `.c` file."""
        lines = [self.cubin[i : i + 20] for i in range(0, len(self.cubin), 20)]
        passed = [f"&{p.name}" for p in self.parameters if p.is_passed]
        return _SOURCE.format(
            name=self.name,
            entry=self.entry,
            description=self.description,
            size=len(self.cubin),
            data=",\n".join("  " + ", ".join(f"0x{byte:02x}" for byte in line) for line in lines),
            opt_in=_OPT_IN.format(shared=self.shared) if self.shared > _STATIC_SHARED_LIMIT else "",
            parameters=self._passed(),
            constants="".join(_constant(p) for p in self.parameters if not p.is_passed),
            grid=self.grid,
            arguments=", ".join([*passed, "&global_scratch", "&profile_scratch"]),
            threads=self.threads,
            shared=self.shared,
        )


def suffix_of(parameters: list[Parameter]) -> str:
    """`0d1c2`: each parameter's position, `d` for divisible by 16, `c` for equal to 1."""
    marks = {16: "d", 1: "c"}
    return "".join(f"{i}{marks[p.hint] if p.hint else ''}" for i, p in enumerate(parameters))


def _constant(parameter: Parameter) -> str:
    """A constant by its name, for the grid's expressions."""
    value = 1 if parameter.constant is None else parameter.constant
    kind = "double" if isinstance(value, float) else "int64_t"
    return f"  const {kind} {parameter.name} = {value};\n  (void){parameter.name};\n"


if __name__ == "__main__":
    sys.exit(main())
