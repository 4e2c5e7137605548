"""What Triton's pipeline makes of a kernel, pass by pass, up to the lowering to the LLVM dialect. Needs the wheel, no GPU.

    record = steps_of(Path("bin_op-1-sm90.py"))
    record["steps"][3]       # {"stage": "ttir", "pass": "common.add_canonicalizer", "args": [], "before": 2, "after": 3}
    record["texts"][2]       # the module before it, without locations

The order of the passes and their options are those of the wheel's own `triton.backends.nvidia.compiler`, or AMD's: the objects through which
it adds passes are replaced by ones that take note and run each pass by itself.
"""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

LAST_PASSES = ("ttgpuir.add_to_llvmir", "amd.ttgpuir.add_to_llvmir")
"""Where recording ends; these passes are not run."""


class _LoweringReached(Exception):
    pass


class _Record:
    """The steps taken so far, and the texts between them, each kept once."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self._index: dict[str, int] = {}

    def text(self, module: Any) -> int:
        text = module.str_nodebug()
        if text not in self._index:
            self._index[text] = len(self.texts)
            self.texts.append(text)
        return self._index[text]


class _PassManager:
    """Stands for `ir.pass_manager`."""

    def __init__(self, record: _Record, real: Any, context: Any) -> None:
        self.record, self.real, self.context = record, real, context
        self.pending: list[tuple[str, Any, tuple[Any, ...]]] = []

    def enable_debug(self) -> bool:
        return False

    def run(self, module: Any, stage: str) -> None:
        before: int | None = None
        for name, add, args in self.pending:
            if name in LAST_PASSES:
                raise _LoweringReached
            if before is None:
                before = self.record.text(module)
            manager = self.real(self.context)
            add(manager, *args)
            manager.run(module, stage)
            step = {"stage": stage.removeprefix("make_"), "pass": name, "args": list(args), "before": before}
            before = self.record.text(module)
            self.record.steps.append({**step, "after": before})


class _Passes:
    """Stands for a module of the wheel that holds `add_*` functions, submodules included. `vendor` begins the names of all of them."""

    def __init__(self, real: Any, prefix: str = "", vendor: str = "") -> None:
        self._real, self._prefix, self._vendor = real, prefix, vendor

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if isinstance(value, ModuleType):
            return _Passes(value, f"{self._vendor}{name}.", self._vendor)
        if not name.startswith("add_"):
            return value
        return lambda manager, *args: manager.pending.append((self._prefix + name, value, args))


class _Ir:
    """Stands for the wheel's `ir`: only its pass manager is another."""

    def __init__(self, real: Any, record: _Record) -> None:
        self._real, self._record = real, record

    def pass_manager(self, context: Any) -> _PassManager:
        return _PassManager(self._record, self._real.pass_manager, context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def load_kernel(path: Path, compiler: str) -> ModuleType:
    """Imports a harvested file with `import triton` meaning `compiler` ("triton" or "minitriton")."""
    with triton_means(compiler):
        name = path.stem.replace("-", "_")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


@contextmanager
def triton_means(compiler: str) -> Any:
    """While it holds, `import triton` and what lies below it give the modules of `compiler`."""
    saved = {n: m for n, m in sys.modules.items() if n == "triton" or n.startswith("triton.")}
    finders = list(sys.meta_path)
    try:
        if compiler == "minitriton":
            from minitriton.run_as_triton import install

            for name in saved:
                del sys.modules[name]
            install()
        yield
    finally:
        if compiler == "minitriton":
            for name in [n for n in sys.modules if n == "triton" or n.startswith("triton.")]:
                del sys.modules[name]
            sys.modules.update(saved)
        sys.meta_path[:] = finders


def steps_of(path: Path) -> dict[str, Any]:
    """The passes of Triton's pipeline on the kernel in `path`, and the IR between them. Raises what Triton raises."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    case = load_kernel(path, "triton")
    source = ASTSource(case.KERNEL, case.SIGNATURE, case.CONSTANTS, case.ATTRS)
    return steps_of_source(source, GPUTarget("cuda", case.ARCH, 32), case.OPTIONS)


def steps_of_source(source: Any, target: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The passes of Triton's pipeline for `target` on a source, and the IR between them. Raises what Triton raises."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import Language
    from triton.compiler import make_backend

    backend: Any = make_backend(target)
    backend_module: Any = sys.modules[type(backend).__module__]
    options = backend.parse_options(given)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    record = _Record()
    replaced: dict[str, Any] = {"ir": _Ir(ir, record), "passes": _Passes(backend_module.passes)}
    if target.backend == "hip":
        replaced["amd"] = _Passes(backend_module.amd, vendor="amd.")
    else:
        replaced["nvidia"] = _Passes(backend_module.nvidia)
    with patch.multiple(backend_module, **replaced):
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, Language.TRITON)
        module = source.make_ir(
            target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
        )
        try:
            for stage in ("ttir", "ttgir", "llir"):
                module = stages[stage](module, {})
        except _LoweringReached:
            pass
    return {"steps": record.steps, "texts": record.texts}
