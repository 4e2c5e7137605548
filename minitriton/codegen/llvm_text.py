"""Writes LLVM IR text.

In: a module of the `llvm` and `nvvm` dialects. Out: the text of an LLVM module. One function per op, in a table; block arguments
become phis, constants are written where they are used, locations become debug metadata.

    %2 = llvm.add %0, %1 : vector<8xi32>        %v2 = add <8 x i32> %v0, %v1, !dbg !7
"""

import re
from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation

from minitriton.analysis.register_demand import DEMAND
from minitriton.codegen.debug_info import DebugInfo, NoDebugInfo, VariableInfo
from minitriton.codegen.text import llvm_ops as llvm_ops  # fills the table
from minitriton.codegen.text.values import constant_text, string_text, symbol_text, type_text
from minitriton.codegen.text.writer import (
    FUNCTION_ATTRIBUTES,
    KERNEL_CONVENTIONS,
    PARAMETER_ATTRIBUTES,
    WRITERS,
    FunctionWriter,
    ModuleWriter,
)
from minitriton.dialects.attribute_values import integer, integers, plain_text
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import LoweringError


def write_module(
    module: ModuleOp,
    *,
    line_info: bool = True,
    local_variables: bool = False,
    ptx_version: int = 87,
    reflect_ftz: bool = True,
    names_callees: bool = True,
    flags: Sequence[str] = (),
) -> str:
    """The LLVM IR text of a module of the `llvm` dialect and a back end's own. There are no `local_variables` without `line_info`; `names_callees`
    as `DebugInfo` takes it; `flags` are the module's in addition to NVIDIA's."""
    if not line_info:
        debug = NoDebugInfo()
    else:
        debug = VariableInfo() if local_variables else DebugInfo(names_callees=names_callees)
    writer = ModuleWriter(debug, ptx_version)
    globals_: list[str] = []
    functions: list[str] = []
    # A function before those that call it: the code generator would declare it first. 100 functions of a line each: 3,443 lines of PTX for
    # 4,043, assembled in 114 ms for 128 (2026-11-24).
    for op in reversed(list(module.ops)):
        if isinstance(op, L.FuncOp):
            _write_function(writer, op, functions)
        elif isinstance(op, L.GlobalOp):
            globals_.append(_global(op))
        else:
            raise LoweringError(f"{op.name} cannot stand in a module of LLVM IR", help="lower it first")
    flags = [*flags, *(['!{i32 4, !"nvvm-reflect-ftz", i32 1}'] if reflect_ftz else [])]
    parts = ["; ModuleID = 'LLVMDialectModule'", 'source_filename = "LLVMDialectModule"', ""]
    parts += [*(f"{name} = type {fields}" for fields, name in writer.structs.items())]
    parts += [*reversed(globals_), "", *functions, *writer.declarations.values(), ""]
    if writer.asm_attributes_used:
        parts.append("attributes #0 = { nounwind }")
    parts += ["", *debug.metadata(flags)]
    text = "\n".join(parts) + "\n"
    return text if reflect_ftz else _FLUSHING.sub(r"\1", text)


_FLUSHING = re.compile(r"(@llvm\.nvvm\.[\w.]+)\.ftz(?=\.[fd]\()")
"""An instruction that flushes denormals, as libdevice chooses it where `__CUDA_FTZ` is reflected as 1."""


# Functions and globals ------------------------------------------------------------------------------------------------


def _global(op: Operation) -> str:
    properties = op.properties
    name = plain_text(properties["sym_name"])
    space = integer(properties["addr_space"])
    type_ = properties["global_type"]
    linkage = _linkage(op)
    where = f"addrspace({space}) " if space else ""
    kind = "constant" if "constant" in properties else "global"
    value = properties.get("value")
    text = f"{symbol_text(name)} = {linkage} {where}{kind} {type_text(type_)}"
    if isinstance(value, StringAttr):
        text += f" {string_text(value.data)}"
    elif value is not None:
        text += f" {constant_text(value, type_)}"
    elif linkage != "external":
        text += " zeroinitializer"
    alignment = properties.get("alignment")
    return text if alignment is None else f"{text}, align {integer(alignment)}"


def _linkage(op: Operation) -> str:
    linkage = op.properties["linkage"]
    assert isinstance(linkage, L.LinkageAttr)
    return linkage.linkage.data


def _write_function(module: ModuleWriter, op: Operation, out: list[str]) -> None:
    w = FunctionWriter(module)
    name = plain_text(op.properties["sym_name"])
    signature = op.properties["function_type"]
    assert isinstance(signature, L.LLVMFunctionType)
    blocks = list(op.regions[0].blocks)
    result = type_text(signature.output)
    if not blocks:
        module.declare(name, result, ", ".join(map(type_text, signature.inputs)))
        return
    for number, block in enumerate(blocks):
        w.labels[block] = f"b{number}"
    parameters = _parameters(w, op, blocks[0])
    linkage = "" if _linkage(op) == "external" else "internal "
    convention = next((f"{how} " for mark, how in KERNEL_CONVENTIONS.items() if mark in op.attributes), "")
    subprogram = module.debug.enter(name, op.location)
    out.append(
        f"define {linkage}{convention}{result} {symbol_text(name)}({', '.join(parameters)}){_function_attributes(op)}{subprogram} {{"
    )
    _write_blocks(w, blocks)
    out += w.lines
    out.append("}\n")


def _parameters(w: FunctionWriter, op: Operation, entry: Block) -> list[str]:
    attributes = op.properties.get("arg_attrs")
    given = list(attributes) if instance_of(attributes, ArrayAttr) else []
    result: list[str] = []
    for number, argument in enumerate(entry.args):
        w.names[argument] = name = f"%a{number}"
        extra = _parameter_attributes(given[number]) if number < len(given) else ""
        result.append(f"{type_text(argument.type)}{extra} {name}")
    return result


def _parameter_attributes(attributes: Attribute) -> str:
    if not isinstance(attributes, DictionaryAttr) or not attributes.data:
        return ""
    text = ""
    for name, value in attributes.data.items():
        if name == "llvm.byval":
            text += f" byval({type_text(value)})"
        elif name == "llvm.align" and instance_of(value, IntegerAttr):
            text += f" align {value.value.data}"
        elif name == "llvm.inreg":
            text += " inreg"
        elif name in PARAMETER_ATTRIBUTES:
            text += f' "{name}"'
    return text


def _function_attributes(op: Operation) -> str:
    text = " nounwind"
    if "no_inline" in op.properties:
        text += " noinline"
    if "always_inline" in op.attributes:
        text += " alwaysinline"
    for name in (*FUNCTION_ATTRIBUTES, DEMAND):
        value = op.attributes.get(name)
        if isinstance(value, StringAttr):
            text += f' "{name}"="{value.data}"'
        elif value is not None:
            numbers = (value.value.data,) if instance_of(value, IntegerAttr) else integers(value)
            text += f' "{name}"="{",".join(map(str, numbers))}"'
    return text


def _record(w: FunctionWriter, op: Operation, debug: VariableInfo) -> None:
    """Writes a debug record of the variable that holds the op's first result."""
    result = op.results[0]
    record = debug.record(op.location, w.names[result], result.type)
    if record:
        w.lines.append(record)


def _write_blocks(w: FunctionWriter, blocks: list[Block]) -> None:
    lines = w.lines
    phis: list[tuple[Block, int]] = []
    debug = w.module.debug
    recorded = debug if isinstance(debug, VariableInfo) else None
    location: object = None
    for number, block in enumerate(blocks):
        lines.append(f"{w.labels[block]}:")
        if number and block.args:
            for argument in block.args:
                w.define(argument)
            phis.append((block, len(lines)))
            lines += [""] * len(block.args)
        for op in block.ops:
            if op.location is not location:
                location = op.location
                w.dbg = debug.suffix(op.location)
            writer = WRITERS.of(op)
            if writer is None:
                raise LoweringError(
                    f"{op.name} cannot be written as LLVM IR",
                    source_location(op.location),
                    help="lower it to the llvm dialect first; a new op of llvm or nvvm gets its writer in "
                    "minitriton/codegen/text/ or codegen/nvidia/text/ (docs/add-an-op.md)",
                )
            writer(w, op)
            if recorded is not None and op.results:
                _record(w, op, recorded)
    for block, at in phis:
        incoming = w.predecessors.get(block, ())
        for index, argument in enumerate(block.args):
            edges = ", ".join(f"[ {w.names[values[index]]}, %{label} ]" for label, values in incoming)
            lines[at + index] = f"  {w.names[argument]} = phi {type_text(argument.type)} {edges}"
