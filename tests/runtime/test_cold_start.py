"""What a process imports that compiles one kernel: nothing of the compiler if the kernel is kept on disk, else what the kernel needs.

Times cannot be tested on a machine that others use; modules can be counted. `benchmarks/cold_start.py` measures the times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
    import sys
    import minitriton as triton
    import minitriton.language as tl
    from minitriton.compiler import ASTSource
    from minitriton.target import GPUTarget

    @triton.jit
    def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)

    defined = sorted(sys.modules)
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    triton.compile(ASTSource(add, signature, {"BLOCK": 1024}), target=GPUTarget("cuda", 90, 32))
    import json
    print(json.dumps([defined, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The modules there once the kernel is defined, once it is compiled, and in another process once it is loaded."""
    folder = tmp_path_factory.mktemp("cold")
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    runs = [
        modules(folder, cache) for cache in ("first", "second", "second")
    ]  # the first leaves bytecode, and the digest of the sources
    return {"defined": set(runs[1][0]), "compiled": set(runs[1][1]), "loaded": set(runs[2][1])}


def modules(folder: Path, cache: str) -> list[list[str]]:
    """What a process that runs the program has imported before and after its compile."""
    environment = {
        **os.environ,
        "TRITON_CACHE_DIR": str(folder / cache),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([sys.executable, str(folder / "program.py")], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of(modules: set[str], *packages: str) -> set[str]:
    return {name for name in modules if name.startswith(tuple(f"{package}." for package in packages))}


@pytest.mark.parametrize("when", ["defined", "loaded"])
def test_a_kernel_that_is_not_compiled_imports_no_compiler(imported: dict[str, set[str]], when: str) -> None:
    parts = (
        "passes",
        "analysis",
        "rewriting",
        "pipeline.pass_manager",
        "pipeline.pass_registry",
        "pipeline.pipelines",
        "interpreter",
        "emulator",
    )
    assert not of(imported[when], "xdsl", "llvmlite", *(f"minitriton.{part}" for part in parts))
    assert len(of(imported[when], "minitriton")) < 95  # 83 and 89 on 2026-11-24


def test_a_first_compile_imports_what_it_needs(imported: dict[str, set[str]]) -> None:
    compiled = imported["compiled"]
    assert not of(compiled, "minitriton.interpreter", "minitriton.emulator", "minitriton.lab", "minitriton.explorer")
    assert not of(compiled, "importlib.metadata", "email")
    assert not compiled & {f"xdsl.dialects.{name}" for name in ("arith", "gpu", "memref", "func")}
    of_loops = (
        "warp_specialization.code_partition",
        "pipelining.lower_loads",
        "pipelining.expander",
        "plan_cta.tiling",
    )
    assert not compiled & {"minitriton.dialects.nvws", *(f"minitriton.passes.{name}" for name in of_loops)}


def test_a_first_compile_imports_no_more_modules_than_it_did(imported: dict[str, set[str]]) -> None:
    """465 of minitriton's and 60 of xDSL's on 2026-11-26: a new pass, op or rule adds its file, not a package."""
    assert len(of(imported["compiled"], "minitriton")) < 490
    assert len(of(imported["compiled"], "xdsl")) < 66
