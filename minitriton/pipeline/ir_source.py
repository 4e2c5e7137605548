"""What can be compiled other than a kernel: the IR text of a stage.

In: a path to a `.ttir`, `.ttgir`, `.llir` or `.ptx` file, or to a `.gluon` file: the first IR of a kernel in Gluon. Out: a source, which knows its name, a hash of everything that its result depends
on, and how to make the first IR. Names and shapes are Triton's.
"""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import Any, cast, overload

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from minitriton import knobs
from minitriton.codegen.llvm_session import CheckedLLVMIR, check_in_child
from minitriton.codegen.ptx import ptx_version
from minitriton.dialects import tt
from minitriton.dialects.bindings import ModuleView, parameter_types
from minitriton.dialects.text import parse_module
from minitriton.errors import IRError, MinitritonError, SourceLocation
from minitriton.host.damaged_files import parse_json, read_regular
from minitriton.host.source_text import give_folder_of
from minitriton.target import CompileOptions, CUDAOptions, GPUTarget
from minitriton.target.architectures import WARP_SIZE
from minitriton.target.backends import STAGES

IR_FILES = (*STAGES, "gluon")
"""Suffixes of files of IR. One of `gluon` is TTGIR before Gluon's passes: its functions are not inlined, and layouts may be open."""


class IRSource:
    """IR text of one stage, read from a file whose suffix names the stage.

    As in Triton, `name` is `@kernel` for MLIR and `kernel` for other text, and `signature` maps the index of a parameter to its
    type in that text (`*f32`). `entry` is the plain name, `parameters` has the names of types that launches use (`*fp32`).
    Triton's third argument, the backend, is not needed.
    """

    def __init__(self, path: str | Path, context: Context, backend: object = None) -> None:
        self.path = Path(path)
        self.ext = self.path.suffix[1:]
        if self.ext not in IR_FILES:
            raise MinitritonError(
                f"cannot compile {str(path)!r}: unknown stage {self.ext!r}",
                help="use a file named *." + ", *.".join(IR_FILES),
            )
        give_folder_of(self.path)
        try:
            self.src = read_regular(self.path).decode()
        except OSError as error:
            raise MinitritonError(
                f"cannot read {str(path)!r}: {error.strerror}", help="give the path of a file that exists"
            ) from None
        except UnicodeDecodeError as error:
            raise IRError(
                f"{str(path)!r} is not text: byte {error.start} cannot be read as UTF-8",
                help="a cubin or other binary cannot be compiled; give the text of a stage",
            ) from None
        self.module: ModuleOp | None = None
        if self.ext in ("ttir", "ttgir", "gluon"):
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

    def described(self) -> IRSource:
        """The same for a kernel that is compiled already: its text, without the IR."""
        other = object.__new__(IRSource)
        other.__dict__.update(self.__dict__)
        other.module = None
        return other

    def hash(self) -> str:
        """Of the text, and of its file if locations in it are what the machine code will name (`USE_IR_LOC`)."""
        path = str(self.path.absolute()) if knobs.compilation.use_ir_loc else ""
        return hashlib.sha256((self.src + path).encode()).hexdigest()

    @overload
    def make_ir(self, target: GPUTarget, options: CompileOptions, context: Context, /) -> ModuleOp | str: ...

    @overload
    def make_ir(
        self, target: GPUTarget, options: CompileOptions, codegen_fns: object, module_map: object, context: Context
    ) -> ModuleView | str: ...

    def make_ir(
        self,
        target: GPUTarget,
        options: CompileOptions,
        codegen_fns: Any,
        module_map: object = None,
        context: Context | None = None,
    ) -> ModuleOp | ModuleView | str:
        """The module, or the text of a later stage; as a view where it is called as Triton's."""
        if context is None:
            return self._ir(target, options, codegen_fns)
        made = self._ir(target, options, context)
        return ModuleView(made, context) if isinstance(made, ModuleOp) else made

    def _ir(self, target: GPUTarget, options: CompileOptions, context: Context) -> ModuleOp | str:
        if self.ext == "llir" and isinstance(options, CUDAOptions):
            check_in_child(self.src, str(self.path), (target.sm, f"+ptx{ptx_version(options, target)}"))
            return CheckedLLVMIR(self.src)
        if self.module is None:
            return self.src
        if self.ext in ("ttgir", "gluon"):
            self.module.attributes.setdefault("ttg.target", StringAttr(target.ttg_target))
        return self.module

    def parse_options(self) -> dict[str, int]:
        """Options that the IR itself fixes: the number of warps and CTAs."""
        if self.module is not None:
            names = {"ttg.num-warps": "num_warps", "ttg.num-ctas": "num_ctas"}
            attributes = self.module.attributes
            return {o: v.value.data for a, o in names.items() if isinstance(v := attributes.get(a), IntegerAttr)}
        threads = re.search(r"\.reqntid\b([^.{]*)" if self.ext == "ptx" else r'nvvm\.reqntid"?\D{1,20}(\d+)', self.src)
        return {"num_warps": self._warps(threads)} if threads else {}

    def _warps(self, found: re.Match[str]) -> int:
        """Raises `IRError`, at the line, for a number of threads that is no power of 2 of warps."""
        numbers = [n.strip() for n in found[1].split(",")]
        threads = math.prod(map(int, numbers)) if all(re.fullmatch(r"\d{1,9}", n) for n in numbers) else 0
        if threads not in _THREADS:
            line = self.src.count("\n", 0, found.start()) + 1
            raise IRError(
                f"{' '.join(found[0].split())}: that is not a number of threads of a kernel here",
                SourceLocation(str(self.path), line),
                help="write 32, 64, 128, 256, 512 or 1024",
                source_line=self.src.split("\n")[line - 1],
            )
        return threads // WARP_SIZE

    def known_metadata(self) -> dict[str, int]:
        """What the text does not say but the `.json` next to it does (Triton's cache and dumps put one there): `shared`."""
        sidecar = self.path.with_suffix(".json")
        if not sidecar.exists():
            return {}
        try:
            found = parse_json(read_regular(sidecar))
        except (OSError, ValueError):
            return {}
        shared = cast("dict[str, object]", found).get("shared") if isinstance(found, dict) else None
        return {"shared": shared} if isinstance(shared, int) else {}

    def runtime_parameters(self) -> list[str]:
        """The type names of the parameters that a launch passes."""
        return self.parameters


_THREADS = frozenset(WARP_SIZE << n for n in range(6))


def _entry_function(module: ModuleOp, file: str) -> tt.FuncOp:
    """The kernel of `module`. Raises `IRError` if there is none."""
    for op in module.body.block.ops:
        if isinstance(op, tt.FuncOp) and (op.sym_visibility is None or op.sym_visibility.data == "public"):
            return op
    raise IRError(
        f"{file}: the module lacks a public tt.func", help="declare the kernel as `tt.func public @name(...)`"
    )


def _type_name(attribute: Attribute | str) -> str:
    """Triton's name of an IR type: `!tt.ptr<f32>` is `*fp32`, `i32` is `i32`."""
    text = str(attribute)
    pointer = re.match(r"!tt\.ptr<([^,>]+)", text)
    if pointer:
        return "*" + _type_name(pointer[1])
    return {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"}.get(text, text)


_PTX_ENTRY = re.compile(r"\.(?:visible|extern)\s+\.entry\s+(\w+)\s*\(([^()]*)\)")
_LLVM_ENTRY = re.compile(r"^define (?:(?!ptx_kernel )\w+ )*+ptx_kernel [^@\n]*+@\"?([\w.$]+)\"?\((.*)\)", re.MULTILINE)
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
