"""What a checked program takes: the runtime parameters of a kernel, or of IR text of any stage.

ASTSource(add, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, ...)     →   {"x": "*fp32", "n": "i32"}
add.ttgir   tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32)     →   the same, x divisible by 16
add.ptx     .entry add(.param .u64 .ptr add_param_0, .param .u32 add_param_1, ...)          →   {"0": "*i8", "1": "i32"}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute

from minitriton.commands.inferred_signature import strides_as_used
from minitriton.commands.signature import DIVISIBLE
from minitriton.commands.signature_text import split_items, typed
from minitriton.dialects import tt
from minitriton.dialects.facts.launch import target_text
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.errors import MinitritonError
from minitriton.lab.arguments import FP8
from minitriton.pipeline.ast_source import ASTSource, TypeName
from minitriton.pipeline.ir_source import IRSource
from minitriton.runtime.jit import JITFunction
from minitriton.target import arch_named

Source = ASTSource | IRSource
"""What is compiled."""


@dataclass
class Parameters:
    """Type names by name, in launch order, the names of those that are divisible by 16, and values for strides that nobody gives."""

    kinds: dict[str, str] = field(default_factory=dict[str, str])
    divisible: list[str] = field(default_factory=list[str])
    strides: dict[str, int] = field(default_factory=dict[str, int])

    def with_strides(self, numbers: Mapping[str, object]) -> dict[str, object]:
        """`numbers`, and a value for each stride that is not among them."""
        return {**self.strides, **numbers}


def parameters_of(source: Source, signature: str = "") -> Parameters:
    """The runtime parameters of `source`; those of tuples are called `name[0]`, `name[1]`.

    `signature` (`*fp32:16,i32`) says of IR text what its types do not, such as what a pointer of PTX points at.
    """
    if isinstance(source, ASTSource):
        return _of_kernel(source)
    found = (
        _of_module(source, source.module)
        if source.module is not None
        else Parameters({str(i): kind for i, kind in enumerate(source.parameters)})
    )
    return _restated(found, signature, source.path.name) if signature else found


def architecture_of(source: Source) -> int | str | None:
    """What IR text was made for, as `GPUTarget` calls it; None where it does not say."""
    if isinstance(source, ASTSource):
        return None
    if source.module is not None:
        stated = (target_text(source.module) or "").partition(":")[2]
    else:
        found = re.search(r"\.target sm_(\d+)|\"target-cpu\"=\"(?:sm_)?(\w+)", source.src)
        stated = found[1] or found[2].removesuffix("a") if found else ""
    return arch_named(stated) if stated else None


def _of_kernel(source: ASTSource) -> Parameters:
    found = Parameters()

    def add(name: str, path: tuple[int, ...], kind: TypeName) -> None:
        if isinstance(kind, tuple):
            for index, part in enumerate(kind):
                add(f"{name}[{index}]", (*path, index), part)
        elif kind != "constexpr":
            found.kinds[name] = kind
            if path in source.attrs:
                found.divisible.append(name)

    for index, (name, kind) in enumerate(source.signature.items()):
        add(name, (index,), kind)
    strides = strides_as_used(source.fn) if isinstance(source.fn, JITFunction) else {}
    found.strides = {
        name: value
        for name, value in strides.items()
        if found.kinds.get(name, "").startswith(("i", "u")) and (value != 1 or name not in found.divisible)
    }
    return found


def _of_module(source: IRSource, module: ModuleOp) -> Parameters:
    found = Parameters()
    function = next(op for op in module.ops if isinstance(op, tt.FuncOp) and op.sym_name.data == source.entry)
    arguments = function.args
    hints = function.arg_attrs.data if function.arg_attrs is not None else [None] * len(arguments)
    sizes = 0  # parameters left of a descriptor's sizes and strides: a launch gives them with it
    for argument, kind, attributes in zip(arguments, source.parameters, hints, strict=True):
        if sizes:
            sizes -= 1
            continue
        if isinstance(argument.type, TensorDescType):
            block = argument.type.block_type
            kind = f"tensordesc<{_element_name(block.element_type)}{list(block.get_shape())}>"
            rank, after = len(block.get_shape()), argument.index + 1
            sizes = 2 * rank if source.parameters[after : after + 2 * rank] == ["i32"] * rank + ["i64"] * rank else 0
        name = argument.name_hint or str(argument.index)
        found.kinds[name if name not in found.kinds else str(argument.index)] = kind
        hint = attributes.data.get("tt.divisibility") if attributes is not None else None
        if instance_of(hint, IntegerAttr) and hint.value.data % 16 == 0:
            found.divisible.append(name)
    return found


def _element_name(element: Attribute) -> str:
    """`si8` is `i8`, `ui8` is `u8`, `f8E5M2` is `fp8e5`."""
    text = str(element)
    integer = re.fullmatch(r"([su])i(\d+)", text)
    if integer:
        return ("i" if integer[1] == "s" else "u") + integer[2]
    return {ir: name for name, ir in FP8.items()}.get(text) or re.sub(r"^f(?=\d)", "fp", text)


def _restated(found: Parameters, signature: str, file: str) -> Parameters:
    given = split_items(signature)
    names = list(found.kinds)
    if len(given) != len(names):
        raise MinitritonError(
            f"{len(given)} types for the kernel of {file}, which takes {len(names)} arguments",
            help="it takes " + (", ".join(f"{n}: {k}" for n, k in found.kinds.items()) or "none"),
        )
    stated = Parameters()
    for name, item in zip(names, given, strict=True):
        kind, hint = typed(item, name)
        if kind.startswith("*") != found.kinds[name].startswith("*") or hint not in (None, DIVISIBLE):
            raise MinitritonError(
                f"argument {name!r} of {file} is {found.kinds[name]}, and the signature says {item!r}",
                help="IR text is compiled already: restate its types, as in *fp32:16 for a pointer to floats",
            )
        stated.kinds[name] = kind
        if hint or name in found.divisible:
            stated.divisible.append(name)
    return stated
