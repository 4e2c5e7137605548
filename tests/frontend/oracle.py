"""Both front ends side by side: the TTIR each makes of one kernel source, after Triton's own clean-up passes.

In: a kernel compiled by minitriton and by Triton from one file, and a signature `"*fp32:16, i32, BLOCK=128"`. Out: normalised
text, in which constants stand where they are used and values are numbered in order, so that equal text means equal programs.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from minitriton.dialects.text import print_module
from minitriton.frontend.code_generator import ast_to_ttir
from minitriton.target import CUDAOptions, GPUTarget


def load_twice(path: Path) -> tuple[ModuleType, ModuleType]:
    """The module at `path`, once with `import triton` meaning minitriton and once meaning Triton."""
    return _load(path, "minitriton"), _load(path, "triton")


def _load(path: Path, compiler: str) -> ModuleType:
    name = f"_{compiler}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    names = ("triton", "triton.language", "triton.language.extra")
    importlib.import_module(f"{compiler}.language.extra.libdevice")
    saved = {n: sys.modules.get(n) for n in names}
    try:
        for n in names:
            sys.modules[n] = importlib.import_module(n.replace("triton", compiler, 1))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        for n, before in saved.items():
            if before is None:
                sys.modules.pop(n, None)
            else:
                sys.modules[n] = before
    return module


def parse_signature(fn: Any, text: str, language: ModuleType) -> tuple[dict[str, Any], dict[Any, Any], dict[Any, Any]]:
    """Signature, compile-time values and attributes of `"*fp32:16, i32, BLOCK=128, TYPE=tl.float16"`."""
    types: dict[str, Any] = {}
    constants: dict[Any, Any] = {}
    attrs: dict[Any, Any] = {}
    items = [item.strip() for item in re.split(r",(?![^(\[]*[)\]])", text) if item.strip()]
    position = 0
    for item in items:
        name, _, value = item.partition("=")
        if value:
            types[name] = "constexpr"
            index = fn.arg_names.index(name)
            constants[(index,)] = (
                getattr(language, value.removeprefix("tl.")) if value.startswith("tl.") else ast.literal_eval(value)
            )
            continue
        kind, _, divisibility = item.partition(":")
        types[fn.arg_names[position]] = kind
        if divisibility:
            attrs[(position,)] = [["tt.divisibility", int(divisibility)]]
        position += 1
    for index, name in enumerate(fn.arg_names):
        if name not in types:
            types[name] = "constexpr"
            constants[(index,)] = fn.params[index].default
    return {n: types[n] for n in fn.arg_names}, constants, attrs


def own_ttir(fn: Any, signature: str, *, arch: int = 90, locations: bool = False, **options: Any) -> str:
    """Our front end's output, as it leaves it."""
    import minitriton.language as tl

    target = GPUTarget("cuda", arch, 32)
    types, constants, attrs = parse_signature(fn, signature, tl)
    module = ast_to_ttir(fn, types, constants, attrs, CUDAOptions.for_target(target, **options), target)
    module.verify()
    return print_module(module, locations=locations)


def wheel_ttir(fn: Any, signature: str, *, arch: int = 90, locations: bool = False, **options: Any) -> str:
    """Triton's front end's output, as it leaves it."""
    import triton.language as tl
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget as WheelTarget
    from triton.compiler import ASTSource, make_backend

    types, constants, attrs = parse_signature(fn, signature, tl)
    source = ASTSource(fn=fn, signature=types, constexprs=constants, attrs=attrs)
    target = WheelTarget("cuda", arch, 32)
    backend = make_backend(target)
    parsed = backend.parse_options(options)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target, parsed, backend.get_codegen_implementation(parsed), backend.get_module_map(), context
    )
    return str(module) if locations else module.str_nodebug()


def cleaned(text: str) -> str:
    """`text` after the wheel's inliner, canonicalizer, combine, reorder-broadcast, cse and symbol-dce; normalised."""
    from triton._C.libtriton import ir, nvidia, passes

    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    manager.run(module, "clean up")
    return normalised(module.str_nodebug())


_CONSTANT = re.compile(r"^\s*(%[\w#-]+) = (?:arith\.constant|ub\.poison)(.*)$")
_VALUE = re.compile(r"%[\w-]+")


def normalised(text: str) -> str:
    """Constants written where they are used, values and blocks numbered in order of appearance, no source names.

    Names are local to a function, so each function is treated by itself.
    """
    functions = re.split(r"(?m)^(?=  tt\.func)", text.replace("minitriton", "triton"))
    return "".join(map(_normalised_function, functions))


def _normalised_function(text: str) -> str:
    constants: dict[str, str] = {}
    lines: list[str] = []
    for line in text.splitlines():
        found = _CONSTANT.match(line)
        if found:
            constants[found[1]] = "<" + found[2].strip() + ">"
        else:
            lines.append(line)
    numbers: dict[str, str] = {}
    return (
        "\n".join(
            _VALUE.sub(lambda m: constants.get(m[0]) or numbers.setdefault(m[0], f"%v{len(numbers)}"), line)
            for line in lines
        )
        + "\n"
    )


def both(pair: tuple[ModuleType, ModuleType], kernel: str, signature: str, **options: Any) -> tuple[str, str]:
    """The cleaned TTIR of both front ends: ours, then Triton's."""
    ours, theirs = (getattr(module, kernel) for module in pair)
    return cleaned(own_ttir(ours, signature, **options)), cleaned(wheel_ttir(theirs, signature, **options))
