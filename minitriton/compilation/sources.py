"""What can be compiled: a Python kernel with its argument types, or the IR text of a stage.

In: a function and a signature, or a path to a `.ttir`, `.ttgir`, `.llir` or `.ptx` file. Out: a source, which knows its name, a
hash of everything that its result depends on, and how to make the first IR. Names and shapes are Triton's.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr

from minitriton import knobs
from minitriton.compilation.stages import STAGES
from minitriton.errors import IRError, MinitritonError, SourceLocation
from minitriton.host.damaged_files import parse_json, read_regular
from minitriton.identity import key_of
from minitriton.target import CUDAOptions, GPUTarget

if TYPE_CHECKING:
    from minitriton.dialects.bindings import ModuleView
    from minitriton.dialects.tt import FuncOp


class ASTSource:
    """A Python kernel with its argument types.

    `signature`: parameter name → type name (`*fp32`, `i32`, `constexpr`); `constexprs`: name or path → value;
    `attrs`: path → `[["tt.divisibility", 16]]`.
    """

    ext = "source"

    def __init__(
        self, fn: Any, signature: dict[str, Any], constexprs: dict[Any, Any] | None = None, attrs: Any = None
    ) -> None:
        self.fn = fn
        self.name: str = fn.__name__
        self.entry = self.name
        self.signature = signature
        self.constants: dict[tuple[int, ...], Any] = {}
        for key, value in (constexprs or {}).items():
            if isinstance(key, str) and key not in fn.arg_names:
                raise MinitritonError(
                    f"kernel {fn.__name__!r} has no parameter {key!r}", help="parameters: " + ", ".join(fn.arg_names)
                )
            path = (fn.arg_names.index(key),) if isinstance(key, str) else key
            self.constants[path] = value
        self.attrs: dict[tuple[int, ...], Any] = attrs or {}
        for name in signature:
            if not isinstance(name, str):
                raise TypeError("Signature keys must be string")

    def hash(self) -> str:
        """A digest of everything in the source that the result depends on."""
        constants = [(path, key_of(value)) for path, value in sorted(self.constants.items())]
        text = f"{self.fn.cache_key}-{self.attrs}-{key_of(list(self.signature.items()))}-{constants}"
        return hashlib.sha256(text.encode()).hexdigest()

    @overload
    def make_ir(self, target: GPUTarget, options: CUDAOptions, context: Context, /) -> ModuleOp: ...

    @overload
    def make_ir(
        self, target: GPUTarget, options: CUDAOptions, codegen_fns: Any, module_map: Any, context: Context
    ) -> ModuleView: ...

    def make_ir(
        self, target: GPUTarget, options: CUDAOptions, codegen_fns: Any, module_map: Any = None, context: Any = None
    ) -> Any:
        """The frontend's TTIR. Raises `CompilationError` with the kernel's line.

        Called as Triton's (`target, options, codegen_fns, module_map, context`) it returns a `ModuleView`, whose methods are
        those of `ir.module`; `codegen_fns` and `module_map` are passed over, since the frontend knows its target.
        """
        return _made(self._ttir, target, options, codegen_fns, context)

    def _ttir(self, target: GPUTarget, options: CUDAOptions, context: Context) -> ModuleOp:
        from minitriton.frontend.code_generator import ast_to_ttir
        from minitriton.frontend.errors import CompilationError

        try:
            return ast_to_ttir(self.fn, self.signature, self.constants, self.attrs, options, target, context)
        except CompilationError as error:
            if not knobs.compilation.front_end_debugging:
                _forget_frames(error)
            raise error

    def parse_options(self) -> dict[str, Any]:
        return {}

    def known_metadata(self) -> dict[str, Any]:
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


def _flatten(types: Any) -> list[str]:
    out: list[str] = []
    for t in types:
        if isinstance(t, (tuple, list)):
            out.extend(_flatten(t))
        else:
            out.append(t)
    return out


def _made(make: Callable[..., Any], target: GPUTarget, options: CUDAOptions, third: Any, context: Any) -> Any:
    """What `make(target, options, third)` returns; where Triton's last argument is given, a view of what is made with that."""
    if context is None:
        return make(target, options, third)
    module = make(target, options, context)
    if not isinstance(module, ModuleOp):
        return module
    from minitriton.dialects.bindings import ModuleView

    return ModuleView(module, context)


class IRSource:
    """IR text of one stage, read from a file whose suffix names the stage.

    As in Triton, `name` is `@kernel` for MLIR and `kernel` for other text, and `signature` maps the index of a parameter to its
    type in that text (`*f32`). `entry` is the plain name, `parameters` has the names of types that launches use (`*fp32`).
    Triton's third argument, the backend, is not needed.
    """

    def __init__(self, path: str | Path, context: Context, backend: Any = None) -> None:
        self.path = Path(path)
        self.ext = self.path.suffix[1:]
        if self.ext not in STAGES:
            raise MinitritonError(
                f"cannot compile {str(path)!r}: unknown stage {self.ext!r}",
                help="use a file named *." + ", *.".join(STAGES),
            )
        try:
            self.src = read_regular(self.path).decode()
        except OSError as error:
            raise MinitritonError(
                f"cannot read {str(path)!r}: {error.strerror}", help="give the path of a file that exists"
            ) from None
        except UnicodeDecodeError as error:
            raise IRError(
                f"{str(path)!r} is no text: byte {error.start} cannot be read as UTF-8",
                help="a cubin or other binary cannot be compiled; give the text of a stage",
            ) from None
        self.module: ModuleOp | None = None
        if self.ext in ("ttir", "ttgir"):
            from minitriton.dialects.bindings import parameter_types
            from minitriton.dialects.text import parse_module

            self.module = parse_module(self.src, str(path), ignore_locations=bool(knobs.compilation.use_ir_loc))
            function = _entry_function(self.module, str(path))
            self.entry = function.sym_name.data
            self.name = f"@{self.entry}"
            self.parameters = [_type_name(kind) for kind in function.function_type.inputs]
            self.signature = dict(enumerate(parameter_types(function)))
        else:
            self.name, self.parameters = entry_of_text(self.src, self.ext, str(path))
            self.entry = self.name
            self.signature = dict(enumerate(self.parameters))

    def hash(self) -> str:
        return hashlib.sha256(self.src.encode()).hexdigest()

    @overload
    def make_ir(self, target: GPUTarget, options: CUDAOptions, context: Context, /) -> ModuleOp | str: ...

    @overload
    def make_ir(
        self, target: GPUTarget, options: CUDAOptions, codegen_fns: Any, module_map: Any, context: Context
    ) -> ModuleView | str: ...

    def make_ir(
        self, target: GPUTarget, options: CUDAOptions, codegen_fns: Any, module_map: Any = None, context: Any = None
    ) -> Any:
        """The module, or the text of a later stage; as a view where it is called as Triton's."""
        return _made(self._ir, target, options, codegen_fns, context)

    def _ir(self, target: GPUTarget, options: CUDAOptions, context: Context) -> ModuleOp | str:
        if self.ext == "llir":
            from minitriton.codegen.llvm_session import CheckedLLVMIR, check_in_child
            from minitriton.codegen.ptx import ptx_version

            check_in_child(self.src, str(self.path), (target.sm, f"+ptx{ptx_version(options)}"))
            return CheckedLLVMIR(self.src)
        if self.module is None:
            return self.src
        if self.ext == "ttgir":
            self.module.attributes.setdefault("ttg.target", StringAttr(target.ttg_target))
        return self.module

    def parse_options(self) -> dict[str, Any]:
        """Options that the IR itself fixes: the number of warps and CTAs."""
        if self.module is not None:
            names = {"ttg.num-warps": "num_warps", "ttg.num-ctas": "num_ctas"}
            attributes = self.module.attributes
            return {o: v.value.data for a, o in names.items() if isinstance(v := attributes.get(a), IntegerAttr)}
        threads = re.search(r"\.reqntid\b([^.{]*)" if self.ext == "ptx" else r'nvvm\.reqntid"?\D+(\d+)', self.src)
        return {"num_warps": self._warps(threads)} if threads else {}

    def _warps(self, found: re.Match[str]) -> int:
        """Raises `IRError`, at the line, for a number of threads that is no power of 2 of warps."""
        numbers = [n.strip() for n in found[1].split(",")]
        threads = math.prod(map(int, numbers)) if all(re.fullmatch(r"\d{1,9}", n) for n in numbers) else 0
        if threads not in _THREADS:
            line = self.src.count("\n", 0, found.start()) + 1
            raise IRError(
                f"{' '.join(found[0].split())}: that is no number of threads that a kernel here has",
                SourceLocation(str(self.path), line),
                help="write 32, 64, 128, 256, 512 or 1024",
                source_line=self.src.split("\n")[line - 1],
            )
        return threads // 32

    def known_metadata(self) -> dict[str, Any]:
        """What the text does not say but the `.json` beside it does (Triton's cache and dumps put one there): `shared`."""
        beside = self.path.with_suffix(".json")
        if not beside.exists():
            return {}
        try:
            found = parse_json(read_regular(beside))
        except (OSError, ValueError):
            return {}
        shared = found.get("shared") if isinstance(found, dict) else None
        return {"shared": shared} if isinstance(shared, int) else {}

    def runtime_parameters(self) -> list[str]:
        """The type names of the parameters that a launch passes."""
        return self.parameters


_THREADS = frozenset(32 << n for n in range(6))


def _entry_function(module: ModuleOp, file: str) -> FuncOp:
    """The kernel of `module`. Raises `IRError` if there is none."""
    from minitriton.dialects import tt

    for op in module.body.block.ops:
        if isinstance(op, tt.FuncOp) and (op.sym_visibility is None or op.sym_visibility.data == "public"):
            return op
    raise IRError(f"{file}: the module has no public tt.func", help="declare the kernel as `tt.func public @name(...)`")


def _type_name(attribute: Any) -> str:
    """Triton's name of an IR type: `!tt.ptr<f32>` is `*fp32`, `i32` is `i32`."""
    text = str(attribute)
    pointer = re.match(r"!tt\.ptr<([^,>]+)", text)
    if pointer:
        return "*" + _type_name(pointer[1])
    return {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"}.get(text, text)


_PTX_ENTRY = re.compile(r"\.(?:visible|extern)\s+\.entry\s+(\w+)\s*\(([^)]*)\)")
_LLVM_ENTRY = re.compile(r"define (?:\w+ )*ptx_kernel [^@]*@\"?([\w.$]+)\"?\((.*)\)")
_HIDDEN_PARAMETERS = 2


def entry_of_text(text: str, ext: str, file: str = "<string>") -> tuple[str, list[str]]:
    """Name and parameter types of the kernel in LLVM IR or PTX text. Raises `IRError` if there is none."""
    match = (_PTX_ENTRY if ext == "ptx" else _LLVM_ENTRY).search(text)
    if match is None:
        declaration = ".visible .entry name(...)" if ext == "ptx" else "define ptx_kernel void @name(...)"
        raise IRError(f"{file}: no kernel entry found in the {ext} text", help=f"declare the kernel as `{declaration}`")
    if ext == "ptx":
        found = re.findall(r"\.param\s+\.(\w+)(\s+\.ptr)?", match[2])
        names: dict[str, str] = {
            "b64": "i64",
            "u64": "u64",
            "b32": "i32",
            "u32": "u32",
            "f32": "fp32",
            "f64": "fp64",
            "b16": "i16",
            "b8": "i8",
        }
        types = ["*i8" if pointer else names.get(str(kind), str(kind)) for kind, pointer in found]
    else:
        kinds = [p.split()[0] for p in match[2].split(", ") if p]
        types = [{"ptr": "*i8", "float": "fp32", "double": "fp64", "half": "fp16"}.get(k, str(k)) for k in kinds]
    return match[1], types[: len(types) - _HIDDEN_PARAMETERS]
