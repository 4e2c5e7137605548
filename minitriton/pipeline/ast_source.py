"""The source that most compiles begin with: a Python kernel, in `tl` or in Gluon, with its argument types.

In: a function and a signature. Out: a source, which knows its name, a hash of everything that its result depends on, and how to make the
first IR: TTIR, or of a kernel in Gluon TTGIR, whose module says for how many warps it is. Names and shapes are Triton's. Nothing of the compiler is imported
before a compile: programs that define kernels start fast.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.host.identity import key_of
from minitriton.target import CompileOptions, GPUTarget

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from minitriton.dialects.bindings import ModuleView
    from minitriton.frontend.function import JITCallable, Seen


TypeName: TypeAlias = "str | tuple[TypeName, ...]"
"""Of a parameter: Triton's name of its type, of a tuple those of its elements."""
Path: TypeAlias = "tuple[int, ...]"
"""A parameter's number, then the index in its tuple, and so on."""
Attributes: TypeAlias = "dict[Path, list[list[str | int]]]"
"""By path: `[["tt.divisibility", 16]]`."""

_PLAIN = (bool, int, float, str, type(None))


class DescribedParameter(NamedTuple):
    """What a launch of a compiled kernel asks of a parameter."""

    name: str
    is_constexpr: bool


class DescribedFunction:
    """What a launch of a compiled kernel asks of its function, without the function: it can be pickled, and is not compiled again."""

    def __init__(self, fn: JITCallable | DescribedFunction) -> None:
        self.__name__: str = fn.__name__
        self.arg_names: list[str] = list(fn.arg_names)
        self.params = [DescribedParameter(p.name, p.is_constexpr) for p in fn.params]
        self.launch_metadata: None = None


class ASTSource:
    """A Python kernel with its argument types.

    `signature`: parameter name → type name (`*fp32`, `i32`, `constexpr`); `constexprs`: name or path → value;
    `attrs`: path → `[["tt.divisibility", 16]]`.
    """

    ext = "source"

    def __init__(
        self,
        fn: JITCallable | DescribedFunction,
        signature: Mapping[str, TypeName],
        constexprs: Mapping[str, object] | Mapping[Path, object] | None = None,
        attrs: Attributes | None = None,
    ) -> None:
        self.fn = fn
        self.name: str = fn.__name__
        self.signature = dict(signature)
        self.constants: dict[Path, object] = {}
        for key, value in (constexprs or {}).items():
            if isinstance(key, str) and key not in fn.arg_names:
                raise MinitritonError(
                    f"kernel {fn.__name__!r} lacks a parameter {key!r}", help="parameters: " + ", ".join(fn.arg_names)
                )
            path = (fn.arg_names.index(key),) if isinstance(key, str) else key
            self.constants[path] = value
        self.attrs: Attributes = {path: promises for path, promises in (attrs or {}).items() if promises}
        names: list[object] = list(signature)
        for name in names:
            if not isinstance(name, str):
                raise TypeError("Signature keys must be string")

    @classmethod
    def of(
        cls,
        kernel: JITCallable,
        signature: Mapping[str, TypeName],
        constants: Mapping[str, object] | Mapping[Path, object],
        attrs: Attributes | None = None,
    ) -> ASTSource:
        """The source in the kernel's language."""
        kind: type[ASTSource] = getattr(kernel, "ASTSource", cls)
        return kind(kernel, signature, constants, attrs)

    @cached_property
    def entry(self) -> str:
        """The kernel's name in the IR: the function's, or what its `repr` makes of this specialization."""
        from minitriton.frontend.function import kernel_name

        return kernel_name(self.function, self.signature, self.constants)

    def described(self) -> ASTSource:
        """The same for a kernel that is compiled already: the function's names in place of the function, constants that are plain values."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, entry=self.entry)
        other.fn = DescribedFunction(self.fn)
        other.constants = {path: value for path, value in self.constants.items() if isinstance(value, _PLAIN)}
        return other

    @property
    def function(self) -> JITCallable:
        """The kernel. Raises `MinitritonError` where only what a launch asks of it is left."""
        if isinstance(self.fn, DescribedFunction):
            raise MinitritonError(
                f"kernel {self.name!r} was compiled in another process, and its function is not here",
                help="compile it from its function, by ASTSource(kernel, signature) or kernel.warmup(...)",
            )
        return self.fn

    def hash(self) -> str:
        """A digest of everything in the source that the result depends on."""
        constants = [(path, key_of(value)) for path, value in sorted(self.constants.items())]
        text = f"{self.function.cache_key}-{self.attrs}-{key_of(list(self.signature.items()))}-{constants}"
        return hashlib.sha256(text.encode()).hexdigest()

    @overload
    def make_ir(
        self,
        target: GPUTarget,
        options: CompileOptions,
        context: Context,
        /,
        *,
        is_debugged: bool = False,
        is_verbatim: bool = False,
        seen: Seen | None = None,
    ) -> ModuleOp: ...

    @overload
    def make_ir(
        self, target: GPUTarget, options: CompileOptions, codegen_fns: object, module_map: object, context: Context
    ) -> ModuleView: ...

    def make_ir(
        self,
        target: GPUTarget,
        options: CompileOptions,
        codegen_fns: Any,
        module_map: object = None,
        context: Context | None = None,
        *,
        is_debugged: bool = False,
        is_verbatim: bool = False,
        seen: Seen | None = None,
    ) -> ModuleOp | ModuleView:
        """The frontend's TTIR; for the interpreter (`is_debugged`), with breakpoints; `is_verbatim`, with each op of Triton's. `seen` is called with what each expression and parameter is. Raises `CompilationError` with the kernel's line.

        Called as Triton's (`target, options, codegen_fns, module_map, context`) it returns a `ModuleView`, whose methods are
        those of `ir.module`; `codegen_fns` and `module_map` are passed over, since the frontend knows its target.
        """
        if context is None:
            return self._first_ir(target, options, codegen_fns, is_debugged, is_verbatim, seen)
        from minitriton.dialects.bindings import ModuleView

        return ModuleView(self._first_ir(target, options, context, is_debugged, is_verbatim, seen), context)

    def _first_ir(
        self,
        target: GPUTarget,
        options: CompileOptions,
        context: Context,
        is_debugged: bool,
        is_verbatim: bool,
        seen: Seen | None,
    ) -> ModuleOp:
        from minitriton.frontend.code_generator import ast_to_ttir
        from minitriton.frontend.errors import CompilationError

        try:
            return ast_to_ttir(
                self.function, self.signature, self.constants, self.attrs, options, target, context, is_debugged,
                is_verbatim, self.ext == "gluon", seen,
            )  # fmt: skip
        except CompilationError as error:
            if not knobs.compilation.front_end_debugging:
                _forget_frames(error)
            raise error

    def parse_options(self) -> dict[str, int]:
        return {}

    def known_metadata(self) -> dict[str, int]:
        """Nothing: only the lowering knows how much shared memory the kernel takes."""
        return {}

    def runtime_parameters(self) -> list[str]:
        """The type names of the parameters that a launch passes, tuples flattened."""
        return [t for t in _flatten(self.signature.values()) if t != "constexpr"]


def _forget_frames(error: BaseException | None) -> None:
    """Takes the frontend's own frames out of the traceback: the error says where in the kernel it is."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__


def _flatten(types: Iterable[TypeName]) -> list[str]:
    out: list[str] = []
    for t in types:
        if isinstance(t, (tuple, list)):
            out.extend(_flatten(t))
        else:
            out.append(t)
    return out


class GluonASTSource(ASTSource):
    """A Gluon kernel with its argument types."""

    ext = "gluon"

    def hash(self) -> str:
        return f"gluon-{super().hash()}"

    def _first_ir(
        self,
        target: GPUTarget,
        options: CompileOptions,
        context: Context,
        is_debugged: bool,
        is_verbatim: bool,
        seen: Seen | None,
    ) -> ModuleOp:
        from xdsl.dialects.builtin import StringAttr

        from minitriton.dialects.attribute_values import i32_attr
        from minitriton.dialects.verification.verifier import verify
        from minitriton.errors import IRError
        from minitriton.frontend.gluon import emitters as emitters  # registers Gluon's rules
        from minitriton.host.source_text import line_at

        module = super()._first_ir(target, options, context, is_debugged, is_verbatim, seen)
        module.attributes.update(
            {
                "ttg.num-ctas": i32_attr(options.num_ctas),
                "ttg.num-warps": i32_attr(options.num_warps),
                "ttg.target": StringAttr(target.ttg_target),
                "ttg.threads-per-warp": i32_attr(target.warp_size),
            }
        )
        limit: int | None = getattr(options, "maxnreg", None)
        if limit is not None:
            module.attributes["ttg.maxnreg"] = i32_attr(limit)
        try:
            verify(module)
        except IRError as error:
            if error.location is not None:
                error.source_line = line_at(error.location.file, error.location.line)
            warps = re.search(r"Layout has (\d+) warps per CTA, but the context requires (\d+)", error.message)
            if warps is not None:
                error.help = f"launch with num_warps={warps[1]}, or give the layout {warps[2]} warps: gl.num_warps() is their number"
            raise
        return module
