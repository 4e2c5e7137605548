"""Writes LLVM IR text.

In: a module of the `llvm` and `nvvm` dialects. Out: the text of an LLVM module. One function per op, in a table; block arguments
become phis, constants are written where they are used, locations become debug metadata.

    %2 = llvm.add %0, %1 : vector<8xi32>        %v2 = add <8 x i32> %v0, %v1, !dbg !7
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.codegen.debug_info import DebugInfo, NoDebugInfo
from minitriton.codegen.llvm_text_values import constant_text, string_text, symbol_text, type_text
from minitriton.dialects import llvm as ours
from minitriton.errors import LoweringError

Writer = Callable[["FunctionWriter", Any], None]

WRITERS: dict[str, Writer] = {}
"""How each op is written, by its name."""


def writes(*names: str) -> Callable[[Writer], Writer]:
    """Registers the writer of the ops of these names."""

    def register(writer: Writer) -> Writer:
        for name in names:
            WRITERS[name] = writer
        return writer

    return register


class ModuleWriter:
    """What the functions of a module share: declarations, attribute groups, metadata."""

    def __init__(self, debug: DebugInfo | NoDebugInfo, ptx_version: int):
        self.debug = debug
        self.ptx_version = ptx_version
        self.declarations: dict[str, str] = {}
        self.asm_attributes_used = False

    def declare(self, name: str, result: str, parameters: str) -> None:
        """Makes sure that a function is declared."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} {symbol_text(name)}({parameters})"


class FunctionWriter:
    """Writes the body of one function: `lines` so far, and what every value is called."""

    __slots__ = ("_count", "dbg", "labels", "lines", "module", "names", "predecessors")

    def __init__(self, module: ModuleWriter):
        self.module = module
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.predecessors: dict[Block, list[tuple[str, Any]]] = {}
        self.dbg = ""
        self._count = 0

    def new_name(self) -> str:
        """A name for a value that is only in the text."""
        self._count += 1
        return f"%t{self._count}"

    def define(self, value: SSAValue) -> str:
        """Names the value that the next line defines."""
        self._count += 1
        name = self.names[value] = f"%v{self._count}"
        return name

    def typed(self, value: SSAValue) -> str:
        """`i32 %v4`"""
        return f"{type_text(value.type)} {self.names[value]}"

    def emit(self, text: str) -> None:
        """One instruction."""
        self.lines.append(f"  {text}{self.dbg}")

    def let(self, text: str) -> str:
        """One instruction whose result is only in the text; returns its name."""
        name = self.new_name()
        self.lines.append(f"  {name} = {text}{self.dbg}")
        return name


def write_module(module: ModuleOp, *, line_info: bool = True, ptx_version: int = 87, reflect_ftz: bool = True) -> str:
    """The LLVM IR text of a module of the `llvm` and `nvvm` dialects."""
    from minitriton.codegen import nvvm_text  # noqa: F401  (fills the table)

    debug = DebugInfo() if line_info else NoDebugInfo()
    writer = ModuleWriter(debug, ptx_version)
    globals_: list[str] = []
    functions: list[str] = []
    for op in module.ops:
        if op.name == "llvm.func":
            _write_function(writer, op, functions)
        elif op.name == "llvm.mlir.global":
            globals_.append(_global(op))
        else:
            raise LoweringError(f"{op.name} cannot stand in a module of LLVM IR", help="lower it first")
    flags = ['!{i32 4, !"nvvm-reflect-ftz", i32 1}'] if reflect_ftz else []
    parts = ["; ModuleID = 'LLVMDialectModule'", 'source_filename = "LLVMDialectModule"', ""]
    parts += [*globals_, "", *functions, *writer.declarations.values(), ""]
    if writer.asm_attributes_used:
        parts.append("attributes #0 = { nounwind }")
    parts += ["", *debug.metadata(flags)]
    return "\n".join(parts) + "\n"


# Functions and globals ------------------------------------------------------------------------------------------------


def _global(op: Operation) -> str:
    properties = op.properties
    name = properties["sym_name"].data  # pyright: ignore[reportAttributeAccessIssue]
    space = properties["addr_space"].value.data  # pyright: ignore[reportAttributeAccessIssue]
    type_ = properties["global_type"]
    linkage = properties["linkage"].linkage.data  # pyright: ignore[reportAttributeAccessIssue]
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
    return text if alignment is None else f"{text}, align {alignment.value.data}"  # pyright: ignore[reportAttributeAccessIssue]


def _write_function(module: ModuleWriter, op: Operation, out: list[str]) -> None:
    w = FunctionWriter(module)
    name = op.properties["sym_name"].data  # pyright: ignore[reportAttributeAccessIssue]
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
    kernel = "nvvm.kernel" in op.attributes
    linkage = "" if op.properties["linkage"].linkage.data == "external" else "internal "  # pyright: ignore[reportAttributeAccessIssue]
    convention = "ptx_kernel " if kernel else ""
    subprogram = module.debug.enter(name, op.location)
    out.append(
        f"define {linkage}{convention}{result} {symbol_text(name)}({', '.join(parameters)}){_function_attributes(op)}{subprogram} {{"
    )
    _write_blocks(w, blocks)
    out += w.lines
    out.append("}\n")


def _parameters(w: FunctionWriter, op: Operation, entry: Block) -> list[str]:
    attributes = op.properties.get("arg_attrs")
    given = list(attributes) if isinstance(attributes, ArrayAttr) else []
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
        elif name == "llvm.align" and isinstance(value, IntegerAttr):
            text += f" align {value.value.data}"
        elif name == "nvvm.grid_constant":
            text += ' "nvvm.grid_constant"'
    return text


def _function_attributes(op: Operation) -> str:
    text = " nounwind"
    if "no_inline" in op.properties:
        text += " noinline"
    for name in ("nvvm.reqntid", "nvvm.cluster_dim"):
        values = op.attributes.get(name)
        if isinstance(values, DenseArrayBase):
            text += f' "{name}"="{",".join(map(str, values.get_values()))}"'
    registers = op.attributes.get("nvvm.maxnreg")
    if isinstance(registers, IntegerAttr):
        text += f' "nvvm.maxnreg"="{registers.value.data}"'
    return text


def _write_blocks(w: FunctionWriter, blocks: list[Block]) -> None:
    lines = w.lines
    phis: list[tuple[Block, int]] = []
    debug = w.module.debug
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
            writer = WRITERS.get(op.name)
            if writer is None:
                raise LoweringError(
                    f"{op.name} cannot be written as LLVM IR", help="lower it to the llvm dialect first"
                )
            writer(w, op)
    for block, at in phis:
        incoming = w.predecessors.get(block, ())
        for index, argument in enumerate(block.args):
            edges = ", ".join(f"[ {w.names[values[index]]}, %{label} ]" for label, values in incoming)
            lines[at + index] = f"  {w.names[argument]} = phi {type_text(argument.type)} {edges}"


# Values without an instruction ----------------------------------------------------------------------------------------


@writes("llvm.mlir.constant")
def _constant(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    w.names[result] = constant_text(op.properties["value"], result.type)


@writes("llvm.mlir.poison")
def _poison(w: FunctionWriter, op: Operation) -> None:
    w.names[op.results[0]] = "poison"


@writes("llvm.mlir.undef")
def _undef(w: FunctionWriter, op: Operation) -> None:
    w.names[op.results[0]] = "undef"


@writes("llvm.mlir.zero")
def _zero(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    w.names[result] = "null" if isinstance(result.type, L.LLVMPointerType) else "zeroinitializer"


@writes("llvm.mlir.addressof")
def _address(w: FunctionWriter, op: Operation) -> None:
    w.names[op.results[0]] = symbol_text(op.properties["global_name"].string_value())  # pyright: ignore[reportAttributeAccessIssue]


# Arithmetic -----------------------------------------------------------------------------------------------------------


def _binary(keyword: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        a, b = op._operands
        names = w.names
        flags = _flags(op) if op.properties else ""
        text = f"{keyword} {flags}{type_text(a.type)} {names[a]}, {names[b]}"
        w.lines.append(f"  {w.define(op.results[0])} = {text}{w.dbg}")

    return write


_NO_FLAGS = L.FastMathAttr(None)


def _flags(op: Operation) -> str:
    """The flags between an instruction's name and its type, each with a blank after it."""
    properties = op.properties
    fast = properties.get("fastmathFlags")
    if fast is not None:
        if fast is _NO_FLAGS or not fast.data:  # pyright: ignore[reportAttributeAccessIssue]
            return ""
        return "".join(f"{flag.value} " for flag in fast.data)  # pyright: ignore[reportAttributeAccessIssue]
    overflow = properties.get("overflowFlags")
    if isinstance(overflow, IntegerAttr):
        bits = overflow.value.data
        return ("nsw " if bits & 1 else "") + ("nuw " if bits & 2 else "")
    return "".join(text for name, text in _UNIT_FLAGS if name in properties)


_UNIT_FLAGS = (("isDisjoint", "disjoint "), ("isExact", "exact "))


for _name, _keyword in {
    **{
        f"llvm.{k}": k
        for k in ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr")
    },
    **{f"llvm.{k}": k for k in ("fadd", "fsub", "fmul", "fdiv", "frem")},
}.items():
    WRITERS[_name] = _binary(_keyword)


def _cast(keyword: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        a = op._operands[0]
        result = op.results[0]
        text = f"{keyword} {type_text(a.type)} {w.names[a]} to {type_text(result.type)}"
        w.lines.append(f"  {w.define(result)} = {text}{w.dbg}")

    return write


for _keyword in (
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp", "bitcast", "inttoptr", "ptrtoint",
    "addrspacecast",
):  # fmt: skip
    WRITERS[f"llvm.{_keyword}"] = _cast(_keyword)


@writes("llvm.fneg")
def _fneg(w: FunctionWriter, op: Operation) -> None:
    a = op._operands[0]
    w.emit(f"{w.define(op.results[0])} = fneg {w.typed(a)}")


_ICMP = tuple(str(p) for p in L.ICmpPredicateFlag)
_FCMP = tuple(str(p).lstrip("_") for p in L.FCmpPredicateFlag)


@writes("llvm.icmp")
def _icmp(w: FunctionWriter, op: Operation) -> None:
    a, b = op._operands
    predicate = _ICMP[op.properties["predicate"].value.data]  # pyright: ignore[reportAttributeAccessIssue]
    w.emit(f"{w.define(op.results[0])} = icmp {predicate} {w.typed(a)}, {w.names[b]}")


@writes("llvm.fcmp")
def _fcmp(w: FunctionWriter, op: Operation) -> None:
    a, b = op._operands
    predicate = _FCMP[op.properties["predicate"].value.data]  # pyright: ignore[reportAttributeAccessIssue]
    w.emit(f"{w.define(op.results[0])} = fcmp {predicate} {w.typed(a)}, {w.names[b]}")


@writes("llvm.select")
def _select(w: FunctionWriter, op: Operation) -> None:
    c, a, b = map(w.typed, op._operands)
    w.emit(f"{w.define(op.results[0])} = select {c}, {a}, {b}")


# Vectors and aggregates -----------------------------------------------------------------------------------------------


@writes("llvm.extractelement")
def _extract_element(w: FunctionWriter, op: Operation) -> None:
    vector, index = map(w.typed, op._operands)
    w.emit(f"{w.define(op.results[0])} = extractelement {vector}, {index}")


@writes("llvm.insertelement")
def _insert_element(w: FunctionWriter, op: Operation) -> None:
    vector, value, index = map(w.typed, op._operands)
    w.emit(f"{w.define(op.results[0])} = insertelement {vector}, {value}, {index}")


@writes("llvm.shufflevector")
def _shuffle_vector(w: FunctionWriter, op: Operation) -> None:
    a, b = map(w.typed, op._operands)
    mask = op.properties["mask"].get_values()  # pyright: ignore[reportAttributeAccessIssue]
    if not any(mask):
        lanes = "zeroinitializer"
    else:
        lanes = "<" + ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in mask) + ">"
    w.emit(f"{w.define(op.results[0])} = shufflevector {a}, {b}, <{len(mask)} x i32> {lanes}")


def _position(op: Operation) -> str:
    return ", ".join(map(str, op.properties["position"].get_values()))  # pyright: ignore[reportAttributeAccessIssue]


@writes("llvm.extractvalue")
def _extract_value(w: FunctionWriter, op: Operation) -> None:
    w.emit(f"{w.define(op.results[0])} = extractvalue {w.typed(op._operands[0])}, {_position(op)}")


@writes("llvm.insertvalue")
def _insert_value(w: FunctionWriter, op: Operation) -> None:
    container, value = map(w.typed, op._operands)
    w.emit(f"{w.define(op.results[0])} = insertvalue {container}, {value}, {_position(op)}")


# Memory ---------------------------------------------------------------------------------------------------------------


@writes("llvm.getelementptr")
def _gep(w: FunctionWriter, op: Operation) -> None:
    pointer, *dynamic = op._operands
    element = type_text(op.properties["elem_type"])
    rest = iter(dynamic)
    indices = ", ".join(
        w.typed(next(rest)) if index == ours.DYNAMIC_INDEX else f"i32 {index}"
        for index in op.properties["rawConstantIndices"].get_values()  # pyright: ignore[reportAttributeAccessIssue]
    )
    inbounds = "inbounds " if "inbounds" in op.properties else ""
    w.emit(f"{w.define(op.results[0])} = getelementptr {inbounds}{element}, {w.typed(pointer)}, {indices}")


def _alignment(op: Operation) -> str:
    attr = op.properties.get("alignment")
    return "" if attr is None else f", align {attr.value.data}"  # pyright: ignore[reportAttributeAccessIssue]


@writes("llvm.load")
def _load(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    w.emit(f"{w.define(result)} = load {type_text(result.type)}, {w.typed(op._operands[0])}{_alignment(op)}")


@writes("llvm.store")
def _store(w: FunctionWriter, op: Operation) -> None:
    value, pointer = map(w.typed, op._operands)
    volatile = "volatile " if "volatile_" in op.properties else ""
    w.emit(f"store {volatile}{value}, {pointer}{_alignment(op)}")


@writes("llvm.alloca")
def _alloca(w: FunctionWriter, op: Operation) -> None:
    element = type_text(op.properties["elem_type"])
    w.emit(f"{w.define(op.results[0])} = alloca {element}, {w.typed(op._operands[0])}{_alignment(op)}")


def _scope(op: Operation) -> str:
    scope = op.properties.get("syncscope")
    return f' syncscope("{scope.data}")' if isinstance(scope, StringAttr) and scope.data else ""


def _text(op: Operation, name: str) -> str:
    return op.properties[name].data  # pyright: ignore[reportAttributeAccessIssue]


@writes("llvm.atomicrmw")
def _atomicrmw(w: FunctionWriter, op: Operation) -> None:
    pointer, value = map(w.typed, op._operands)
    name = w.define(op.results[0])
    w.emit(f"{name} = atomicrmw {_text(op, 'bin_op')} {pointer}, {value}{_scope(op)} {_text(op, 'ordering')}")


@writes("llvm.cmpxchg")
def _cmpxchg(w: FunctionWriter, op: Operation) -> None:
    pointer, old, new = map(w.typed, op._operands)
    orders = f"{_text(op, 'success_ordering')} {_text(op, 'failure_ordering')}"
    w.emit(f"{w.define(op.results[0])} = cmpxchg {pointer}, {old}, {new}{_scope(op)} {orders}")


@writes("llvm.fence")
def _fence(w: FunctionWriter, op: Operation) -> None:
    w.emit(f"fence{_scope(op)} {_text(op, 'ordering')}")


# Calls ----------------------------------------------------------------------------------------------------------------


def _call(w: FunctionWriter, op: Operation, callee: str, *, declared: bool) -> None:
    arguments = ", ".join(map(w.typed, op._operands))
    if op.results:
        result = type_text(op.results[0].type)
        w.emit(f"{w.define(op.results[0])} = call {result} {symbol_text(callee)}({arguments})")
    else:
        result = "void"
        w.emit(f"call void {symbol_text(callee)}({arguments})")
    if declared:
        w.module.declare(callee, result, ", ".join(type_text(v.type) for v in op._operands))


@writes("llvm.call_intrinsic")
def _call_intrinsic(w: FunctionWriter, op: Operation) -> None:
    _call(w, op, _text(op, "intrin"), declared=True)


@writes("llvm.call")
def _call_function(w: FunctionWriter, op: Operation) -> None:
    callee = op.properties["callee"].string_value()  # pyright: ignore[reportAttributeAccessIssue]
    known = w.dbg
    w.dbg = known or w.module.debug.some_suffix()
    _call(w, op, callee, declared=False)
    w.dbg = known


def escaped(text: str) -> str:
    """A text inside LLVM's quotes."""
    return text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A").replace("\t", "\\09")


@writes("llvm.inline_asm")
def _inline_asm(w: FunctionWriter, op: Operation) -> None:
    properties = op.properties
    effects = " sideeffect" if "has_side_effects" in properties else ""
    text, constraints = escaped(_text(op, "asm_string")), escaped(_text(op, "constraints"))
    arguments = ", ".join(map(w.typed, op._operands))
    w.module.asm_attributes_used = True
    call = f'asm{effects} "{text}", "{constraints}"({arguments}) #0'
    if op.results:
        w.emit(f"{w.define(op.results[0])} = call {type_text(op.results[0].type)} {call}")
    else:
        w.emit(f"call void {call}")


# Control flow ---------------------------------------------------------------------------------------------------------


def _edge(w: FunctionWriter, op: Operation, target: Block, values: Any) -> str:
    parent = op.parent
    assert parent is not None
    if target.args:
        w.predecessors.setdefault(target, []).append((w.labels[parent], values))
    return f"label %{w.labels[target]}"


@writes("llvm.br")
def _br(w: FunctionWriter, op: Operation) -> None:
    w.emit(f"br {_edge(w, op, op._successors[0], op._operands)}")


@writes("llvm.cond_br")
def _cond_br(w: FunctionWriter, op: Operation) -> None:
    condition = op._operands[0]
    then, otherwise = op._successors
    count = len(then.args)
    first, second = op._operands[1 : 1 + count], op._operands[1 + count :]
    if then is otherwise and then.args:
        chosen = [_chosen(w, condition, a, b) for a, b in zip(first, second, strict=True)]
        w.emit(f"br {_edge(w, op, then, chosen)}")
        return
    w.emit(f"br {w.typed(condition)}, {_edge(w, op, then, first)}, {_edge(w, op, otherwise, second)}")


def _chosen(w: FunctionWriter, condition: SSAValue, a: SSAValue, b: SSAValue) -> object:
    """A value that exists in the text only, for two edges to the same block."""
    key = object()
    name = w.let(f"select {w.typed(condition)}, {w.typed(a)}, {w.typed(b)}")
    w.names[key] = name  # pyright: ignore[reportArgumentType]
    return key


@writes("llvm.switch")
def _switch(w: FunctionWriter, op: Operation) -> None:
    value = op._operands[0]
    default, *targets = op._successors
    numbers = op.properties["case_values"].get_values()  # pyright: ignore[reportAttributeAccessIssue]
    type_ = type_text(value.type)
    cases = " ".join(f"{type_} {n}, {_edge(w, op, t, ())}" for n, t in zip(numbers, targets, strict=True))
    w.emit(f"switch {w.typed(value)}, {_edge(w, op, default, ())} [ {cases} ]")


@writes("llvm.return")
def _return(w: FunctionWriter, op: Operation) -> None:
    w.emit(f"ret {w.typed(op._operands[0])}" if op._operands else "ret void")


@writes("llvm.unreachable")
def _unreachable(w: FunctionWriter, op: Operation) -> None:
    w.emit("unreachable")
