"""Loads, stores and atomics in every state space.

ld.global.v2.b32 {%r1, %r2}, [%rd1+8]   →   t1 = load(x, 7, "global", rd1 + k0, m, D_u32, 2); r1 = t1[0]; r2 = t1[1]
"""

from minitriton.emulator.operations import atomic as atomic_operations
from minitriton.emulator.operations import memory as memory_operations
from minitriton.emulator.ptx.program import Address, Immediate, Instruction, Operand, Register, Symbol, Vector
from minitriton.emulator.translate import NAMES, BlockWriter, kind_of, rule

NAMES.update({
    "load": memory_operations.load, "store": memory_operations.store, "load_parameter": memory_operations.load_parameter,
    "atomic": atomic_operations.atomic,
})  # fmt: skip

SPACES = ("global", "shared", "local", "param", "const")
PACKED = {"f16": "narrow:f16", "bf16": "narrow:bf16", "f16x2": "pairs:f16", "bf16x2": "pairs:bf16"}


def space_of(parts: list[str]) -> str:
    """The state space an opcode names; constant memory is in the global buffer."""
    for part in parts[1:]:
        base = part.partition(":")[0]
        if base in SPACES:
            return "global" if base == "const" else base
    return "generic"


def address_text(w: BlockWriter, operand: Operand, space: str) -> str:
    """The expression of an address. Registers keep their width; symbols are addresses in their space."""
    if not isinstance(operand, Address):
        raise w.fail("expected an address in brackets")
    base = operand.base
    wide = "u32" if space in ("shared", "local", "param") else "u64"
    if isinstance(base, Register):
        wide = f"u{base.bits}"
        text = w.read(base, wide)
    elif isinstance(base, Symbol):
        text = w.symbol(base.name, wide)
    elif isinstance(base, Immediate):
        text = w.constant(base.value, wide)
    else:
        raise w.fail("an address needs a register or a variable")
    return f"({text} + {w.constant(operand.offset, wide)})" if operand.offset else text


@rule("ld", "ldu")
def _load(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    space, kind = space_of(parts), kind_of(parts[-1])
    destination = i.operands[0]
    elements = destination.elements if isinstance(destination, Vector) else (destination,)
    address = i.operands[1]
    if space == "param":
        if not isinstance(address, Address):
            raise w.fail("expected an address in brackets")
        if isinstance(address.base, Symbol) and address.base.name in w.arguments:
            w.write(destination, kind, w.arguments[address.base.name])
            return
        text = address_text(w, address, space)
        call = f"load_parameter(x, {w.site()}, {text}, {w.active()}, D_{kind}, {len(elements)})"
    else:
        text = address_text(w, address, space)
        call = f"load(x, {w.site()}, {space!r}, {text}, {w.active()}, D_{kind}, {len(elements)})"
    loaded = w.temporary(call)
    if "relaxed" in parts or "acquire" in parts:
        w.emit("x.waits += 1")
    for position, element in enumerate(elements):
        w.write(element, kind, f"{loaded}[{position}]")


def elements_of(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector operand, or the operand itself."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _store_argument(w: BlockWriter, name: str, offset: int, value: Operand, kind: str) -> None:
    """What a function of the driver is passed: whole, or in parts, as by `st.param.v2.b32 [param0], {%r1, %r2}`."""
    if offset == 0 and not isinstance(value, Vector):
        w.arguments[name] = w.temporary(w.read(value, kind))
        return
    parts = ", ".join(w.read(v, kind) for v in elements_of(value))
    before = w.arguments[name] if offset and name in w.arguments else "None"
    w.arguments[name] = w.temporary(f"parts_together({before}, {offset}, D_{kind}, [{parts}])")


@rule("st")
def _store(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    space, kind = space_of(parts), "u" + kind_of(parts[-1])[1:]
    if space == "param" and isinstance(i.operands[0], Address) and isinstance(i.operands[0].base, Symbol):
        _store_argument(w, i.operands[0].base.name, i.operands[0].offset, i.operands[1], kind)
        return
    values = ", ".join(w.read(v, kind) for v in elements_of(i.operands[1]))
    address = address_text(w, i.operands[0], space)
    w.emit(f"store(x, {w.site()}, {space!r}, {address}, {w.active()}, [{values}], D_{kind})")


@rule("atom", "red")
def _atomic(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    space = space_of(parts)
    operation = next(p for p in parts if p in ("add", "and", "or", "xor", "exch", "cas", "min", "max", "inc", "dec"))
    type = parts[-1]
    packed = PACKED.get(type, "")
    kind = ("u16" if packed.startswith("narrow") else "u32") if packed else kind_of(type)
    result = None if parts[0] == "red" else i.operands[0]
    address, *operands = i.operands[0 if result is None else 1 :]
    values = [w.read(v, kind) for o in operands[: 2 if operation == "cas" else 1] for v in elements_of(o)]
    text = address_text(w, address, space)
    old = w.temporary(
        f"atomic(x, {w.site()}, {space!r}, {operation!r}, {packed!r}, {text}, {w.active()}, [{', '.join(values)}], D_{kind})"
    )
    if result is not None:
        for position, element in enumerate(elements_of(result)):
            w.write(element, kind, f"{old}[{position}]")
