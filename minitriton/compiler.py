"""From a source (a Python kernel, or IR text of any stage) to a `CompiledKernel`.

In: `ASTSource(fn, signature, constexprs, attrs)` or a path to a `.ttir`, `.ttgir`, `.llir` or `.ptx` file. Out: the text
of every stage, the cubin where an assembler is at hand, and the metadata that a launch needs. Names and shapes are
Triton's (`triton.compiler`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections import namedtuple
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from minitriton.errors import IRError, MinitritonError
from minitriton.pass_manager import Hook, PassManager, Pipeline, representation_text
from minitriton.pass_registry import Property, Step
from minitriton.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

STAGES = ("ttir", "ttgir", "llir", "ptx")
"""The representations that `CompiledKernel.asm` holds as text, in order; `cubin` follows as bytes."""


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
        self.signature = signature
        self.constants: dict[tuple[int, ...], Any] = {}
        for key, value in (constexprs or {}).items():
            path = (fn.arg_names.index(key),) if isinstance(key, str) else key
            self.constants[path] = value
        self.attrs: dict[tuple[int, ...], Any] = attrs or {}
        for name in signature:
            if not isinstance(name, str):
                raise TypeError("Signature keys must be string")

    def hash(self) -> str:
        """A digest of everything in the source that the result depends on."""
        constants = [(path, getattr(v, "cache_key", None) or repr(v)) for path, v in sorted(self.constants.items())]
        text = f"{self.fn.cache_key}-{self.attrs}-{list(self.signature.items())}-{constants}"
        return hashlib.sha256(text.encode()).hexdigest()

    def make_ir(self, target: GPUTarget, options: CUDAOptions, context: Context) -> ModuleOp:
        """The frontend's TTIR. Raises `CompilationError` with the kernel's line."""
        from minitriton.frontend.code_generator import ast_to_ttir

        return ast_to_ttir(self.fn, self.signature, self.constants, self.attrs, options, target, context)

    def parse_options(self) -> dict[str, Any]:
        return {}

    def runtime_parameters(self) -> list[str]:
        """The type names of the parameters that a launch passes, tuples flattened."""
        return [t for t in _flatten(self.signature.values()) if t != "constexpr"]


def _flatten(types: Any) -> list[str]:
    out: list[str] = []
    for t in types:
        if isinstance(t, (tuple, list)):
            out.extend(_flatten(t))
        else:
            out.append(t)
    return out


class IRSource:
    """IR text of one stage, read from a file whose suffix names the stage."""

    def __init__(self, path: str | Path, context: Context) -> None:
        self.path = Path(path)
        self.ext = self.path.suffix[1:]
        if self.ext not in STAGES:
            raise MinitritonError(
                f"cannot compile {str(path)!r}: unknown stage {self.ext!r}",
                help="use a file named *." + ", *.".join(STAGES),
            )
        try:
            self.src = self.path.read_text()
        except OSError as error:
            raise MinitritonError(f"cannot read {str(path)!r}: {error.strerror}") from error
        self.module: ModuleOp | None = None
        if self.ext in ("ttir", "ttgir"):
            from minitriton.dialects.text import parse_module

            self.module = parse_module(self.src, str(path))
            self.name, self.signature = _entry_function(self.module)
        else:
            self.name, self.signature = _entry_of_text(self.src, self.ext)

    def hash(self) -> str:
        return hashlib.sha256(self.src.encode()).hexdigest()

    def make_ir(self, target: GPUTarget, options: CUDAOptions, context: Context) -> ModuleOp | str:
        if self.ext == "llir":
            from minitriton.codegen.llvm_session import check_in_child

            check_in_child(self.src)
        return self.module if self.module is not None else self.src

    def parse_options(self) -> dict[str, Any]:
        """Options that the IR itself fixes: the number of warps and CTAs."""
        if self.module is not None:
            names = {"ttg.num-warps": "num_warps", "ttg.num-ctas": "num_ctas"}
            attributes = self.module.attributes
            return {o: v.value.data for a, o in names.items() if isinstance(v := attributes.get(a), IntegerAttr)}
        threads = re.search(r"(?:reqntid|nvvm\.reqntid)\"?\D+(\d+)", self.src)
        return {"num_warps": int(threads[1]) // 32} if threads else {}

    def known_metadata(self) -> dict[str, Any]:
        """What the text does not say but the `.json` beside it does (Triton's cache and dumps put one there): `shared`."""
        beside = self.path.with_suffix(".json")
        if not beside.exists():
            return {}
        try:
            found = json.loads(beside.read_text())
        except ValueError:
            return {}
        return {"shared": found["shared"]} if isinstance(found.get("shared"), int) else {}

    def runtime_parameters(self) -> list[str]:
        return list(self.signature.values())


def _entry_function(module: ModuleOp) -> tuple[str, dict[str, str]]:
    from minitriton.dialects import tt

    for op in module.body.block.ops:
        if isinstance(op, tt.FuncOp) and (op.sym_visibility is None or op.sym_visibility.data == "public"):
            types = [_type_name(t) for t in op.function_type.inputs]
            return op.sym_name.data, {str(i): t for i, t in enumerate(types)}
    raise IRError("the module has no public tt.func", help="declare the kernel as `tt.func public @name(...)`")


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


def _entry_of_text(text: str, ext: str) -> tuple[str, dict[str, str]]:
    match = (_PTX_ENTRY if ext == "ptx" else _LLVM_ENTRY).search(text)
    if match is None:
        raise IRError(f"no kernel entry found in the {ext} text")
    if ext == "ptx":
        found = re.findall(r"\.param\s+\.(\w+)(\s+\.ptr)?", match[2])
        names = {
            "b64": "i64",
            "u64": "u64",
            "b32": "i32",
            "u32": "u32",
            "f32": "fp32",
            "f64": "fp64",
            "b16": "i16",
            "b8": "i8",
        }
        types: list[str] = ["*i8" if pointer else names.get(kind, kind) for kind, pointer in found]
    else:
        kinds = [p.split()[0] for p in match[2].split(", ") if p]
        types = [{"ptr": "*i8", "float": "fp32", "double": "fp64", "half": "fp16"}.get(k, k) for k in kinds]
    return match[1], {str(i): t for i, t in enumerate(types[: len(types) - _HIDDEN_PARAMETERS])}


class AsmDict(dict[str, Any]):
    """Stage name → text. `cubin` and `sass` are made when first asked for."""

    def __init__(self, texts: dict[str, Any], make: dict[str, Any]) -> None:
        super().__init__(texts)
        self._make = make

    def __missing__(self, key: str) -> Any:
        if key not in self._make:
            raise KeyError(f"no stage {key!r} in this kernel; it has: {', '.join(self)}")
        self[key] = self._make[key]()
        return self[key]


def _starts_lowering(step: Step) -> bool:
    """Whether `step` is the first after the `ttgir` stage: it places shared memory, or leaves the IR's structure."""
    leaves = {Property.SHARED_ALLOCATED, Property.LLVM_DIALECT} & step.establishes
    return bool(leaves) or Property.STRUCTURED in step.destroys


@dataclass
class _StageTexts(Hook):
    """Notes the text of each stage as the pipeline leaves it, the metadata, and the seconds that each stage took."""

    texts: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    stage: str = "ttir"
    _since: float = field(default_factory=time.perf_counter)

    def before(self, step: Step, value: Any) -> None:
        if self.stage == "ttir" and Property.ENCODINGS in step.establishes:
            self._leave("ttir", value, "ttgir")
        elif self.stage == "ttgir" and _starts_lowering(step):
            self._leave("ttgir", value, "llir")
        elif self.stage == "llir" and Property.LLVM_IR in step.establishes:
            self.metadata.update(_module_metadata(value))
        elif self.stage == "llir" and Property.PTX in step.establishes:
            self._leave("llir", value, "ptx")

    def _leave(self, stage: str, value: Any, following: str) -> None:
        self.texts[stage] = stage_text(value)
        now = time.perf_counter()
        self.seconds[stage] = now - self._since
        self._since, self.stage = now, following

    def finish(self, value: Any) -> None:
        self._leave(self.stage, value, "done")


def stage_text(value: Any) -> str:
    """What `asm` shows of a stage: IR with its locations, as Triton's."""
    return representation_text(value)


def _module_metadata(module: ModuleOp) -> dict[str, Any]:
    def number(name: str) -> int:
        value = module.attributes.get(name)
        return value.value.data if isinstance(value, IntegerAttr) else 0

    return {
        "shared": number("ttg.shared"),
        "global_scratch_size": number("ttg.global_scratch_memory_size"),
        "global_scratch_align": number("ttg.global_scratch_memory_alignment") or 1,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "tmem_size": 0,
    }


_FIRST_FACTS: dict[str, frozenset[Property]] = {
    "source": frozenset({Property.TTIR, Property.STRUCTURED}),
    "ttir": frozenset({Property.TTIR, Property.STRUCTURED, Property.INLINED}),
    "ttgir": frozenset({Property.ENCODINGS, Property.STRUCTURED, Property.INLINED}),
    "llir": frozenset({Property.LLVM_IR}),
}


def _remaining(pipeline: Pipeline, ext: str) -> Pipeline:
    """The part of `pipeline` that comes after stage `ext` (a stage's own passes are not run again)."""
    if ext == "source":
        return pipeline
    for index, step in enumerate(pipeline.steps):
        starts_next = {
            "ttir": Property.ENCODINGS in step.establishes,
            "ttgir": _starts_lowering(step),
            "llir": Property.PTX in step.establishes,
        }
        if starts_next.get(ext):
            return Pipeline(pipeline.steps[index:])
    return Pipeline(())


def compile(
    src: ASTSource | IRSource | str | Path,
    target: GPUTarget | None = None,
    options: dict[str, Any] | CUDAOptions | None = None,
    *,
    hooks: list[Hook] | None = None,
) -> CompiledKernel:
    """Compiles `src` for `target` (default: the current device, else Hopper) and returns the kernel.

    A cached result is used unless `hooks` are given or `TRITON_ALWAYS_COMPILE` is set. Raises `MinitritonError`s that name the kernel's line.
    """
    from minitriton.dialects.context import make_context

    target = target or default_target()
    context = make_context()
    source = IRSource(src, context) if isinstance(src, (str, Path)) else src
    if not isinstance(options, CUDAOptions):
        options = CUDAOptions.for_target(target, **{**(options or {}), **source.parse_options()})
    key = _cache_key(source, target, options)
    hooks = [*(hooks or []), *_environment_hooks(source.name)]
    always = os.environ.get("TRITON_ALWAYS_COMPILE", "0") not in ("", "0")
    kernel = None if hooks or always else _load(source, key)
    if kernel is None:
        kernel = _compile(source, target, options, context, key, hooks)
        kernel.assemble_if_possible()
        kernel.store()
    if _is_set("TRITON_KERNEL_DUMP"):
        _dump(kernel)
    return kernel


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


class _DumpBefore(Hook):
    """Prints the IR before each pass to standard error, or to the file `MLIR_DUMP_PATH`."""

    def before(self, step: Step, value: Any) -> None:
        text = f"// -----// IR Dump Before {step.name} //----- //\n{representation_text(value)}\n"
        path = os.environ.get("MLIR_DUMP_PATH")
        if path:
            with open(path, "a") as file:
                file.write(text)
        else:
            print(text, file=sys.stderr)


def _environment_hooks(name: str) -> list[Hook]:
    """`MLIR_ENABLE_DUMP=1` (or `=kernel_name`) dumps the IR before each pass; a cached kernel is then compiled again."""
    wanted = os.environ.get("MLIR_ENABLE_DUMP", "0")
    return [_DumpBefore()] if wanted == "1" or wanted == name else []


def _dump(kernel: CompiledKernel) -> None:
    """`TRITON_KERNEL_DUMP=1`: writes every stage below `TRITON_DUMP_DIR` (default `~/.minitriton/dump`)."""
    root = Path(os.environ.get("TRITON_DUMP_DIR") or Path.home() / ".minitriton" / "dump")
    folder = root / kernel.hash
    folder.mkdir(parents=True, exist_ok=True)
    for stage, content in kernel.asm.items():
        (folder / f"{kernel.name}.{stage}").write_bytes(_as_bytes(content))


def default_target() -> GPUTarget:
    """The current device's architecture; without a GPU, Hopper (or `TRITON_OVERRIDE_ARCH=smXY`)."""
    override = os.environ.get("TRITON_OVERRIDE_ARCH")
    if override:
        return GPUTarget("cuda", int(override.removeprefix("sm").rstrip("a")), 32)
    from minitriton.runtime.driver import get_driver, has_gpu

    if not has_gpu():
        return GPUTarget("cuda", 90, 32)
    driver = get_driver()
    return driver.target(driver.current_device())


def _compile(
    source: Any, target: GPUTarget, options: CUDAOptions, context: Context, key: str, hooks: list[Hook]
) -> CompiledKernel:
    start = time.perf_counter()
    module = source.make_ir(target, options, context)
    stages = _StageTexts(stage="ttir" if source.ext == "source" else source.ext)
    stages.seconds["frontend"] = stages._since - start
    value = module
    if source.ext == "ptx":
        stages.texts["ptx"] = str(module)
    else:
        pipeline = _remaining(pipeline_for(target, options), source.ext)
        pipeline.check(_FIRST_FACTS[source.ext])
        if source.ext != "source":
            stages.texts[source.ext] = stage_text(module)
            stages.stage = STAGES[STAGES.index(source.ext) + 1]
        stages.metadata["pipeline"] = str(pipeline)
        reproducer = os.environ.get("TRITON_REPRODUCER_PATH")
        manager = PassManager(
            pipeline, [stages, *hooks], Path(reproducer) / f"{source.name}.repro.mlir" if reproducer else None
        )
        value = manager.run(context, module)
        stages.finish(value)
    ptx = stages.texts.get("ptx")
    metadata = {**asdict(options), **stages.metadata, "hash": key, "target": target, "triton_version": "3.6.0"}
    if ptx is not None:
        metadata["name"] = _entry_of_text(ptx, "ptx")[0]
    else:
        metadata["name"] = source.name
    if "shared" not in metadata:
        metadata.update({"shared": _shared_of_text(str(value)), **source.known_metadata()})
    return CompiledKernel(source, dict(stages.texts), metadata, key, stages.seconds)


_UNKNOWN_DYNAMIC_SHARED = 48 * 1024


def _shared_of_text(text: str) -> int:
    """Bytes of dynamic shared memory for PTX or LLVM IR from elsewhere, which does not say: the most that needs no opt-in."""
    return _UNKNOWN_DYNAMIC_SHARED if "global_smem" in text else 0


def _cache_key(source: Any, target: GPUTarget, options: CUDAOptions) -> str:
    from minitriton.runtime.cache import compiler_fingerprint

    text = f"{compiler_fingerprint()}-{source.hash()}-{source.ext}-{target}-{options}-{_environment_key()}"
    return hashlib.sha256(text.encode()).hexdigest()


_ENVIRONMENT = ("TRITON_DISABLE_LINE_INFO", "DISABLE_LLVM_OPT", "TRITON_DEFAULT_FP_FUSION")


def _environment_key() -> str:
    return ",".join(os.environ.get(name, "") for name in _ENVIRONMENT)


class CompiledKernel:
    """A compiled kernel: `.asm[stage]`, `.metadata`, and launching it: `kernel[grid](*args)`.

    `n_regs`, `n_spills` and `n_max_threads` are known once it is loaded on a device.
    """

    def __init__(
        self, src: Any, texts: dict[str, str], metadata: dict[str, Any], key: str, seconds: dict[str, float]
    ) -> None:
        self.src = src
        self.hash = key
        self.stage_seconds = seconds
        self.metadata = namedtuple("KernelMetadata", sorted(metadata))(**metadata)
        self.name: str = metadata["name"]
        self.asm = AsmDict(texts, {"cubin": self._assemble, "sass": self._disassemble})
        self.module: int | None = None
        self.function: int | None = None
        self.n_regs: int | None = None
        self.n_spills: int | None = None
        self.n_max_threads: int | None = None
        self._launcher: Any = None

    @property
    def packed_metadata(self) -> tuple[int, int, int]:
        return (self.metadata.num_warps, self.metadata.num_ctas, self.metadata.shared)

    @property
    def kernel(self) -> bytes:
        """The cubin."""
        return self.asm["cubin"]

    def _assemble(self) -> bytes:
        from minitriton.codegen.cubin import ptx_to_cubin

        start = time.perf_counter()
        cubin = ptx_to_cubin(self.asm["ptx"], self.metadata.target, self.metadata)
        self.stage_seconds["cubin"] = time.perf_counter() - start
        return cubin

    def assemble_if_possible(self) -> None:
        """Makes the cubin where an assembler is at hand; elsewhere the driver compiles the PTX when the kernel is loaded."""
        from minitriton.codegen.cubin import assembler_available

        if assembler_available():
            self.asm["cubin"]

    def _disassemble(self) -> str:
        from minitriton.tools.disasm import get_sass

        return get_sass(self.asm["cubin"])

    def store(self) -> None:
        """Puts the kernel into the on-disk cache."""
        from minitriton.runtime.cache import KernelCache

        files = {f"{self.name[:150]}.{stage}": _as_bytes(text) for stage, text in self.asm.items()}
        files["metadata.json"] = json.dumps(self.metadata._asdict(), default=vars).encode()
        KernelCache().store(self.hash, files)

    def _init_handles(self) -> None:
        """Loads the kernel on the current device. Raises `OutOfResources` where it does not fit."""
        if self.module is not None:
            return
        from minitriton.runtime.loading import load

        load(self)

    @property
    def run(self) -> Any:
        """The launcher of the current device."""
        self._init_handles()
        return self._launcher

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        """`kernel[grid](*args, stream=None)`: launches with the runtime arguments (constexprs left out or in place)."""
        from minitriton.runtime.loading import direct_launcher

        return direct_launcher(self, grid)


def _as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def _load(source: Any, key: str) -> CompiledKernel | None:
    """The cached kernel of `key`; an entry that cannot be understood counts as absent."""
    from minitriton.runtime.cache import KernelCache

    files = KernelCache().load(key)
    if files is None:
        return None
    try:
        metadata: dict[str, Any] = json.loads(files.pop("metadata.json"))
        metadata["target"] = GPUTarget(**metadata["target"])
        texts: dict[str, Any] = {
            name.rsplit(".", 1)[1]: data if name.endswith(".cubin") else data.decode() for name, data in files.items()
        }
        return CompiledKernel(source, texts, metadata, key, {})
    except (KeyError, ValueError, TypeError):
        return None
