"""FileCheck tests written as kernels: the comments of a kernel are checked against its TTIR.

    @filecheck_test
    @jit
    def test_store_of_a_constant(ptr):
        # CHECK: tt.store
        tl.store(ptr, 1)

Names are Triton's. Needs the `filecheck` package.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.context import make_context
from minitriton.dialects.text import print_module
from minitriton.runtime.jit import JITFunction, MockTensor
from minitriton.target import GPUTarget, options_for

stub_target = GPUTarget("cuda", 90, 32)
"""Frontend tests need some target; the newest one that minitriton knows."""


class MatchError(ValueError):
    """IR that does not match. `module_str` is the IR."""

    def __init__(self, message: str, module_str: str) -> None:
        super().__init__(message)
        self.module_str = module_str

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.module_str}"


def run_filecheck(name: str, module_str: str, check_template: str) -> None:
    """Raises `MatchError` unless `module_str` satisfies the CHECK lines of `check_template`."""
    from filecheck.main import main

    with tempfile.TemporaryDirectory() as folder:
        ir, checks = Path(folder) / f"{name}.mlir", Path(folder) / f"{name}.check"
        ir.write_text(module_str, "utf-8")
        checks.write_text(check_template, "utf-8")
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                code = main(["filecheck", str(checks), "--input-file", str(ir)])
            except SystemExit as leaving:
                code = leaving.code
    if code:
        raise MatchError(_in_llvm_s_words(output.getvalue(), check_template), module_str)


_NOT_FOUND = re.compile(r":(\d+): error: (?:Couldn't match |[\w-]+: Can't find match)")


def _in_llvm_s_words(message: str, check_template: str) -> str:
    """`message` of the `filecheck` package after what LLVM's FileCheck says of a pattern that is not found."""
    found = _NOT_FOUND.search(message)
    if found is None:
        return message
    line = re.sub(r"[ \t]+", " ", check_template.splitlines()[int(found[1]) - 1])
    return f"{found[1]}: error: expected string not found in input\n{line}\n{message}"


class ParsedModule:
    """A kernel's IR, printed as Triton's module objects print."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module

    def str_nodebug(self) -> str:
        return print_module(self.module)

    def __str__(self) -> str:
        return print_module(self.module, locations=True)

    def verify(self) -> bool:
        self.module.verify()
        return True


def run_parser(
    kernel_fn: JITFunction,
    args: Iterable[object] = (),
    kwargs: Mapping[str, object] | None = None,
    target: GPUTarget = stub_target,
) -> ParsedModule:
    """The TTIR of `kernel_fn` for these arguments, as the frontend makes it."""
    options: dict[str, object] = {"sanitize_overflow": False, **(kwargs or {})}
    source, _, options = kernel_fn.source_of_call(tuple(map(MockTensor.wrap_dtype, args)), options)
    return ParsedModule(source.make_ir(target, options_for(target, **options), make_context()))


def run_filecheck_test(kernel_fn: JITFunction) -> None:
    """Checks the TTIR of a kernel without parameters against its own comments."""
    run_filecheck("kernel", run_parser(kernel_fn).str_nodebug(), inspect.getsource(kernel_fn.fn))


def filecheck_test(fn: JITFunction) -> Callable[[], None]:
    """Decorator: makes a kernel a test."""

    def test() -> None:
        run_filecheck_test(fn)

    functools.update_wrapper(test, fn.fn)
    del vars(test)["__wrapped__"]
    return test
