"""The C source and header of one compiled kernel: the cubin as data, functions that load, unload and launch it.

CUresult add_0a1b2c3d_0d1d2(CUstream stream, CUdeviceptr x, CUdeviceptr y, int32_t n);
"""

from __future__ import annotations

from dataclasses import dataclass

from minitriton.backends.nvidia.driver import ty_to_cpp
from minitriton.commands.signature import Parameter

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
