"""Types and constants for a kernel that is opened without a launch: as its body uses its parameters.

    def scaled(x, out, n, factor, BLOCK: tl.constexpr):               x        *fp32     read by tl.load
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)            out      *fp32     written by tl.store
        tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)      n        i32
                                                                      factor   fp32      an operand of what was read
                                                                      BLOCK    128       a size

Annotations, defaults, and the first `Config` of `@triton.autotune` come first. The body is read as text: a parameter is a pointer if an
address begins with it, and its elements are what is done with them: float16 as operands of `tl.dot`, integers as offsets or bits.
Strides are those of rows one after another (`commands.made_up_strides`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from minitriton.commands.kernel_files import computed_values, first_config
from minitriton.commands.made_up_strides import Axes, is_stride, note_address, note_block_pointer, strides_of
from minitriton.commands.signature import ast_source
from minitriton.commands.signature_text import split_items
from minitriton.dialects.context import make_context
from minitriton.frontend.function import JITCallable
from minitriton.runtime.jit import JITFunction
from minitriton.target import CUDAOptions, GPUTarget


class Inferred(NamedTuple):
    """A signature as `minitriton compile` takes it, and those of its items that nobody gave."""

    text: str
    made_up: tuple[str, ...]
    fits: bool = False
    """Whether the frontend takes it."""


def inferred_signature(kernel: JITFunction) -> Inferred:
    """All parameters of `kernel`. Never raises: what the body does not tell is i32, or 128 of a constant.

    If the frontend refuses what was read off, all floats are tried as float32, as float16, and then all elements as integers.
    """
    found = _as_used(kernel)
    for text in (
        found.text,
        found.text.replace("fp16", "fp32"),
        found.text.replace("fp32", "fp16"),
        re.sub(r"\*fp(16|32)", "*i32", found.text),
    ):
        try:
            target = GPUTarget("cuda", 90, 32)
            ast_source(kernel, text).make_ir(target, CUDAOptions.for_target(target), make_context())
        except Exception:  # the user's program, of types that it may not be meant for
            continue
        items = split_items(text)
        return Inferred(
            text,
            tuple(item for item in items if item.partition("=")[0] in {m.partition("=")[0] for m in found.made_up}),
            fits=True,
        )
    return found


def signature_for(kernel: JITFunction, given: str = "") -> str:
    """`given`, or what is inferred, which is said on standard error."""
    if given:
        return given
    found = inferred_signature(kernel)
    if found.made_up:
        print(
            f"made up, as {kernel.__name__} uses them: {', '.join(found.made_up)} (--signature says otherwise)",
            file=sys.stderr,
        )
    return found.text


def strides_as_used(kernel: JITFunction) -> dict[str, int]:
    """The value of each parameter that is called a stride, for rows one after another."""
    return _Uses(kernel, {}).strides() if any(map(is_stride, kernel.arg_names)) else {}


def _as_used(kernel: JITFunction) -> Inferred:
    uses = _Uses(kernel, {})
    config = first_config(kernel)
    known: dict[str, object] = {p.name: p.default for p in kernel.params if p.is_constexpr and p.has_default} | config
    parts: list[str] = []
    made_up: list[str] = []
    for parameter in kernel.params:
        name = parameter.name
        if not parameter.is_constexpr and parameter.has_default:
            continue
        if parameter.is_constexpr and name in known:
            item = f"{name}={known[name]}"
        elif parameter.annotation_type and not parameter.is_constexpr:
            kind = parameter.annotation_type
            item = f"{name}={kind}:16" if kind.startswith("*") else f"{name}={kind}"
        else:
            made = uses.constant(name) if parameter.is_constexpr else uses.type_of(name)
            if parameter.is_constexpr:
                known[name] = made
            item = f"{name}={made}"
            made_up.append(item)
        parts.append(item)
    computed = computed_values(kernel, known)
    parts = [part for part in parts if part.partition("=")[0] not in computed]
    return Inferred(",".join(parts), tuple(item for item in made_up if item.partition("=")[0] not in computed))


_READS = frozenset([
    "load", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg",
    "atomic_cas",
])  # fmt: skip
_ACCESSES = _READS | {"store", "make_block_ptr", "make_tensor_descriptor", "async_copy_global_to_shared"}
_TENSOR_COPIES = frozenset((
    "async_copy_global_to_shared", "async_copy_shared_to_global", "async_reduce_add_to_global",
))  # fmt: skip
"""Of the Gluon module `tma`; the first of them is also what `async_copy` has."""
_INTEGERS = frozenset(
    ("arange", "range", "static_range", "program_id", "num_programs", "cdiv", "multiple_of", "randint", "philox")
)
_GIVES_INTEGERS = frozenset(("argmax", "argmin", "histogram"))
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_TESTS = frozenset(("where", "static_assert", "device_assert", "bool"))
_EQUALITY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_SHAPES = frozenset(("arange", "zeros", "full", "reshape", "view", "broadcast_to", "allocate_shared_memory"))


class _Uses:
    """What one function does with its parameters: the evidence of `Inferred`."""

    def __init__(self, function: JITCallable, known: dict[JITCallable, _Uses]) -> None:
        known[function] = self
        self.names = [p.name for p in function.params]
        self.globals: dict[str, Any] = getattr(function.fn, "__globals__", {})
        self.known = known
        tree = function.parse().body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.body = [node for statement in tree.body for node in ast.walk(statement)]
        self.assigned: dict[str, list[ast.expr]] = {}
        self.pointers: set[str] = set()
        self.elements: dict[str, str] = {}
        self.integers: set[str] = set()
        self.floats: set[str] = set()
        self.sizes: set[str] = set()
        self.slots: set[str] = set()
        """Counts of buffers that one allocation has."""
        self.dtypes: set[str] = set()
        self.flags: set[str] = set()
        self.groups: set[str] = set()
        self.texts: dict[str, str] = {}
        self.compared: dict[str, int] = {}
        """A number that each is compared with by `==`, where it is no truth."""
        self.tested: set[int] = set()
        """Names in the body, by identity, that are asked for being true."""
        self.read: dict[str, set[int]] = {}
        """All occurrences of each parameter."""
        self.descriptors: dict[str, int] = {}
        """The rank of the blocks of each."""
        self.tiles: dict[str, int] = {}
        """The same of the descriptors of a Gluon kernel."""
        self.has_dot = False
        self.axes: dict[str, Axes] = {}
        """How the addresses that begin with each pointer move."""
        for node in self.body:
            self._note_assignment(node)
        for node in self.body:
            self._note(node)
        for node in self.body:
            if isinstance(node, ast.Call):
                self._note_axes(node)

    # What a parameter becomes ----------------------------------------------------------------------------------------

    def type_of(self, name: str) -> str:
        if name in self.descriptors:
            blocks = [self._size()] * self.descriptors[name]
            return f"tensordesc<fp16{blocks}>"
        if name in self.tiles:
            rank, size = self.tiles[name], self._size()
            swizzle = min(128, 2 * size) if rank > 1 else 0
            return f"tensordesc<fp16{[size] * rank},NVMMASharedLayout({swizzle}, 16, {rank})>"
        if name in self.pointers:
            return f"*{self.elements.get(name, 'fp32')}:16"
        if is_stride(name) and (stride := self.strides().get(name)) is not None:
            return "1" if stride == 1 else "i32:16"
        return "fp32" if name in self.floats - self.integers else "i32"

    def strides(self) -> dict[str, int]:
        """The strides among the parameters, where the body says which axis moves fastest."""
        return strides_of(self.axes.values(), self.names)

    def constant(self, name: str) -> object:
        if is_stride(name) and (stride := self.strides().get(name)) is not None:
            return stride
        if name in self.texts:
            return self.texts[name]
        if name in self.dtypes:
            return "fp32"
        if self.is_flag(name):
            return False
        if name in self.compared:
            return self.compared[name]
        if name in self.slots:
            return 2
        if name in self.sizes:
            return self._size()
        if name in self.flags - self.integers:
            return False
        return 8 if name in self.groups else 128

    def is_flag(self, name: str) -> bool:
        """Whether it is only asked for being true: by `if`, `and`, `not`, `==` with a truth, `tl.where`, or a function that does no more."""
        return name in self.read and self.read[name] <= self.tested

    def _size(self) -> int:
        return 64 if self.has_dot else 128 if len(self.sizes) == 1 else 32

    # How it is read off ----------------------------------------------------------------------------------------------

    def _note_assignment(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._assign(target, node.value)
        elif isinstance(node, ast.For):
            self._assign(node.target, node.iter)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple):
            values = (
                value.elts
                if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
                else [value] * len(target.elts)
            )
            for each, part in zip(target.elts, values, strict=True):
                self._assign(each, part)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name) if name in self.names:
                self.read.setdefault(name, set()).add(id(node))
            case ast.BoolOp(values=values):
                for value in values:
                    self._note_test(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._note_test(operand)
            case ast.Call():
                self._note_call(node)
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, _BITS):
                    self._elements_are(self._read_by(left) | self._read_by(right), "i32")
                if isinstance(op, (ast.FloorDiv, ast.Mod)):
                    self.integers |= self._parameters(node)
                    self.groups |= self._parameters(right)
                self._note_operands(left, right)
            case ast.Compare(left=left, comparators=[right]):
                for name, other in ((left, right), (right, left)):
                    if isinstance(name, ast.Name) and isinstance(other, ast.Constant) and isinstance(other.value, str):
                        self.texts[name.id] = f"'{other.value}'"
                    elif (
                        isinstance(name, ast.Name)
                        and isinstance(other, ast.Constant)
                        and isinstance(node.ops[0], _EQUALITY)
                    ):
                        if other.value in (0, 1, None):
                            self.tested.add(id(name))
                        elif isinstance(other.value, int):
                            self.compared.setdefault(name.id, other.value)
                if self._is_integer(left) or self._is_integer(right):
                    self.integers |= self._parameters(left) | self._parameters(right)
                self._note_operands(left, right)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
                self.flags |= {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
                self._note_test(test)
            case _:
                pass

    def _note_test(self, expression: ast.expr) -> None:
        """Names whose truth is that of `expression`."""
        match expression:
            case ast.Name():
                self.tested.add(id(expression))
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right) if not isinstance(
                right, ast.Constant
            ):
                self._note_test(left)
                self._note_test(right)
            case _:
                pass

    def _note_operands(self, left: ast.expr, right: ast.expr) -> None:
        """A number next to what was read is of the same kind: a float, unless something else says that it counts."""
        for number, other in ((left, right), (right, left)):
            if isinstance(number, ast.Name) and self._is_read(other):
                self.floats |= self._parameters(number)

    def _note_call(self, call: ast.Call) -> None:
        name = _called(call)
        arguments = {str(i): a for i, a in enumerate(call.args)} | {k.arg: k.value for k in call.keywords if k.arg}
        first = arguments.get("1" if name == "async_copy_global_to_shared" else "0")
        if name in _TENSOR_COPIES and isinstance(coordinates := arguments.get("1"), (ast.List, ast.Tuple)):
            tile = arguments["0"]
            if isinstance(tile, ast.Name) and tile.id in self.names:
                self.tiles[tile.id] = len(coordinates.elts)
            self.integers |= self._parameters(coordinates)
            first = None
        if name.startswith("warpgroup_mma") or name == "mma_v2":
            self.has_dot = True
        if name in _ACCESSES and first is not None and (name in _TENSOR_COPIES or not _is_method(call)):
            base = self._base(first)
            if base is not None:
                self.pointers.add(base)
            self.integers |= self._parameters(first) - {base}
            self._elements_are(self._read_by(first) - {base}, "i32")
            if name == "store" and base is not None and "1" in arguments:
                self._note_stored(base, arguments["1"])
        if _is_method(call) and name in ("load", "store") and isinstance(first, (ast.List, ast.Tuple)):
            owner = cast(ast.Attribute, call.func).value
            if isinstance(owner, ast.Name) and owner.id in self.names:
                self.descriptors[owner.id] = len(first.elts)
        if name == "dot":
            self.has_dot = True
            for operand in call.args[:2]:
                self._elements_are(self._read_by(operand), "fp16")
        if name == "histogram" and first is not None:
            self._elements_are(self._read_by(first), "i32")
        if name in _TESTS and call.args:
            self._note_test(call.args[0])
        if name in _SHAPES:
            shape = call.args[:2] if name == "arange" else call.args[:1]
            if name == "allocate_shared_memory":
                whole = call.args[1].elts if len(call.args) > 1 and isinstance(call.args[1], ast.List) else []
                shape = whole[-2:]
                self.slots |= {n for each in whole[:-2] for n in self._parameters(each)}
            self.sizes |= {n for each in shape for n in self._parameters(each)}
        if name in _INTEGERS or name in ("rand", "randn"):
            self.integers |= {n for each in call.args for n in self._parameters(each)}
        for key in ("dtype", "out_dtype"):
            if isinstance(given := arguments.get(key), ast.Name):
                self.dtypes.add(given.id)
        if name in ("to", "cast", "zeros") and isinstance(last := call.args[-1] if call.args else None, ast.Name):
            self.dtypes.add(last.id)
        if name == "warp_specialize" and isinstance(first, (ast.List, ast.Tuple)):
            for pair in first.elts:
                if isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
                    self._note_callee(ast.Call(pair.elts[0], list(self._items(pair.elts[1])), []))
        self._note_callee(call)

    def _note_axes(self, call: ast.Call) -> None:
        """The axes of what an access, or a function of the kernel, is given."""
        name = _called(call)
        arguments = {str(i): a for i, a in enumerate(call.args)} | {k.arg: k.value for k in call.keywords if k.arg}
        first = arguments.get("1" if name == "async_copy_global_to_shared" else "0")
        if name in _ACCESSES and first is not None and not _is_method(call) and (base := self._base(first)) is not None:
            axes = self.axes.setdefault(base, Axes())
            note_address(axes, first, self.assigned, self._expanded)
            if name == "make_block_ptr":
                order = arguments.get("order", arguments.get("5"))
                note_block_pointer(axes, arguments.get("strides", arguments.get("2")), order)
        callee = self.globals.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if not isinstance(callee, JITCallable) or (inner := self.known.get(callee)) is None:
            return
        given = dict(zip(inner.names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        renamed = {theirs: mine.id for theirs, mine in given.items() if isinstance(mine, ast.Name)}
        for pointer, axes in inner.axes.items():
            if pointer in given and (base := self._base(given[pointer])) is not None:
                mine = self.axes.setdefault(base, Axes())
                note_address(mine, given[pointer], self.assigned, self._expanded)
                mine.add(axes, renamed)

    def _note_stored(self, base: str, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and _called(value) == "to" and value.args:
            self._elements_are({base}, _ELEMENTS.get(ast.unparse(value.args[0]).rpartition(".")[2], "fp32"))
        elif any(isinstance(n, ast.Call) and _called(n) in _GIVES_INTEGERS for n in self._expanded(value)):
            self._elements_are({base}, "i32")

    def _note_callee(self, call: ast.Call) -> None:
        """What a function of the kernel does with its parameters, it does with the arguments."""
        callee = self.globals.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if not isinstance(callee, JITCallable):
            return
        inner = self.known.get(callee) or _Uses(callee, self.known)
        given = dict(zip(inner.names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        self.has_dot |= inner.has_dot
        for name, argument in given.items():
            base = self._base(argument)
            if isinstance(argument, ast.Name) and argument.id in self.names:
                for mine, theirs in ((self.descriptors, inner.descriptors), (self.tiles, inner.tiles)):
                    if name in theirs:
                        mine[argument.id] = theirs[name]
            if name in inner.descriptors or name in inner.tiles:
                continue
            if name in inner.pointers and base is not None:
                self.pointers.add(base)
                self._elements_are({base}, inner.elements.get(name, "fp32"))
                continue
            for mine, theirs in (
                (self.integers, inner.integers),
                (self.sizes, inner.sizes),
                (self.slots, inner.slots),
                (self.floats, inner.floats),
                (self.groups, inner.groups),
            ):
                if name in theirs:
                    mine |= self._parameters(argument)
            if isinstance(argument, ast.Name):
                if inner.is_flag(name) or name not in inner.read:
                    self.tested.add(id(argument))
                if name in inner.compared:
                    self.compared[argument.id] = inner.compared[name]
                for mine, theirs in ((self.dtypes, inner.dtypes), (self.flags, inner.flags)):
                    if name in theirs:
                        mine.add(argument.id)
                if name in inner.texts:
                    self.texts[argument.id] = inner.texts[name]

    def _elements_are(self, pointers: set[str], element: str) -> None:
        for pointer in pointers:
            if element.startswith("i"):
                self.elements[pointer] = element
            else:
                self.elements.setdefault(pointer, element)

    def _items(self, given: ast.expr) -> Iterator[ast.expr]:
        """What a tuple holds that is written down here, or assigned to a name."""
        match given:
            case ast.Tuple(elts=items):
                for item in items:
                    yield from self._items(item.value) if isinstance(item, ast.Starred) else (item,)
            case ast.Name(id=name) if len(values := self.assigned.get(name, [])) == 1:
                yield from self._items(values[0])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from self._items(left)
                yield from self._items(right)
            case _:
                return

    # Expressions -----------------------------------------------------------------------------------------------------

    def _expanded(self, expression: ast.expr, seen: frozenset[str] = frozenset()) -> Iterator[ast.AST]:
        """The nodes of `expression` and of what its variables were assigned."""
        for node in ast.walk(expression):
            yield node
            if isinstance(node, ast.Name) and node.id not in seen and node.id not in self.names:
                for value in self.assigned.get(node.id, []):
                    yield from self._expanded(value, seen | {node.id})

    def _parameters(self, expression: ast.expr) -> set[str]:
        """Of which parameters the value is computed, what was read apart."""
        return {n.id for n in self._arithmetic(expression) if isinstance(n, ast.Name) and n.id in self.names}

    def _arithmetic(self, expression: ast.expr) -> Iterator[ast.AST]:
        """As `_expanded`, without what stands in an access of memory."""
        pending: list[ast.AST] = [expression]
        seen: set[str] = set()
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Call) and _called(node) in _ACCESSES:
                continue
            yield node
            pending += list(ast.iter_child_nodes(node))
            if isinstance(node, ast.Name) and node.id not in seen and node.id not in self.names:
                seen.add(node.id)
                pending += self.assigned.get(node.id, [])

    def _base(self, address: ast.expr, seen: frozenset[str] = frozenset()) -> str | None:
        """The parameter that an address begins with."""
        match address:
            case ast.Name(id=name) if name in self.names:
                return name
            case ast.Name(id=name) if name not in seen:
                found = (self._base(value, seen | {name}) for value in self.assigned.get(name, []))
                return next((each for each in found if each is not None), None)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                sides = [self._base(left, seen), self._base(right, seen)]
                certain = [each for each in sides if each in self.pointers]
                return next((each for each in (*certain, *sides) if each is not None), None)
            case ast.Call(func=ast.Attribute(value=value)) if _called(address) in ("to", "cast"):
                return self._base(value, seen)
            case ast.Call(args=[value, *_]) if _called(address) in (
                *_ACCESSES,
                "advance",
                "multiple_of",
                "max_contiguous",
            ):
                return None if _called(address) in _READS else self._base(value, seen)
            case ast.IfExp(body=one, orelse=other):
                return self._base(one, seen) or self._base(other, seen)
            case _:
                return None

    def _read_by(self, expression: ast.expr) -> set[str]:
        """The pointers whose elements reach the value: through arithmetic, not through comparisons."""
        found: set[str] = set()
        pending, seen = [(expression, frozenset[str]())], set[int]()
        while pending:
            node, names = pending.pop()
            if id(node) in seen or isinstance(node, ast.Compare):
                continue
            seen.add(id(node))
            if isinstance(node, ast.Call) and _called(node) in _READS and node.args and not _is_method(node):
                base = self._base(node.args[0])
                found |= {base} if base is not None else set()
                continue
            if isinstance(node, ast.Name) and node.id not in self.names and node.id not in names:
                pending += [(value, names | {node.id}) for value in self.assigned.get(node.id, [])]
            pending += [(child, names) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return found

    def _is_read(self, expression: ast.expr) -> bool:
        return bool(self._read_by(expression)) or any(
            isinstance(n, ast.Call) and _called(n) in ("rand", "randn", "exp", "exp2", "log", "sqrt", "rsqrt", "dot")
            for n in self._expanded(expression)
        )

    def _is_integer(self, expression: ast.expr) -> bool:
        return not self._read_by(expression) and any(
            isinstance(n, ast.Call) and _called(n) in _INTEGERS for n in self._expanded(expression)
        )


_ELEMENTS = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint32": "u32",
}  # fmt: skip


def _called(call: ast.AST) -> str:
    function = call.func if isinstance(call, ast.Call) else None
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_method(call: ast.Call) -> bool:
    """Whether it is `descriptor.load(...)`, not `tl.load(...)`."""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in (
        "tl",
        "gl",
        "ttgl",
        "triton.language",
        "language",
    )
