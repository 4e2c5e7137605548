"""Runs lowered kernels on NumPy: all threads of a block in lockstep, one array element per thread.

In: TTGIR text and arrays. Out: the arrays as the kernel leaves them. What is run is the `llvm` and `nvvm` dialects, op by op, so
that a wrong register, lane, address or mask shows as a wrong number. Branches must go one way in all threads (or be harmless
for those taken along); what barriers are for is not checked here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, ModuleOp, VectorType

from minitriton.analysis.shared_memory.allocation import allocate, write_attributes
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.codegen.convert_triton_gpu_to_llvm import lower_module
from minitriton.codegen.llvm_text import write_module
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects import llvm as ours
from minitriton.dialects.text import parse_module

sys.path.insert(0, str(Path(__file__).parent / "support"))

SHARED_BYTES = 1 << 18


def lower(text: str) -> ModuleOp:
    """The LLVM level of TTGIR text, verified."""
    module = parse_module(text)
    allocation = allocate(module, scratch_bytes)
    write_attributes(module, allocation)
    insert_barriers(module, allocation)
    lowered = lower_module(module, allocation)
    lowered.verify()
    return lowered


def _dtype(type_: Any) -> Any:
    match type_:
        case IntegerType():
            return {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}[type_.width.data]
        case Float16Type():
            return np.float16
        case Float32Type() | BFloat16Type():
            return np.float32
        case Float64Type():
            return np.float64
        case _:
            return np.int64


def _element(type_: Any) -> Any:
    return type_.element_type if isinstance(type_, VectorType) else type_


def _lanes(type_: Any) -> int:
    return type_.get_shape()[0] if isinstance(type_, VectorType) else 1


def _to_bits(values: np.ndarray, type_: Any) -> np.ndarray:
    """Values as they lie in memory."""
    if isinstance(_element(type_), BFloat16Type):
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.ascontiguousarray(values, dtype=_dtype(_element(type_)))


def _from_bits(raw: np.ndarray, type_: Any) -> np.ndarray:
    if isinstance(_element(type_), BFloat16Type):
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return raw.view(_dtype(_element(type_)))


def _item_bytes(type_: Any) -> int:
    return 2 if isinstance(_element(type_), BFloat16Type) else np.dtype(_dtype(_element(type_))).itemsize


@dataclass
class Kernel:
    """A lowered module that can be run."""

    module: ModuleOp

    def __call__(self, *arguments: Any, program: tuple[int, int, int] = (0, 0, 0)) -> None:
        function = next(op for op in self.module.ops if op.name == "llvm.func" and op.attributes.keys() & _KERNELS)
        _Machine(function, arguments, program).run()


_KERNELS = {"nvvm.kernel", "toy.kernel", "rocdl.kernel"}


def _launched(function: Any) -> tuple[int, int]:
    """Threads of the block, and of a warp."""
    given = function.attributes
    if "toy.threads" in given:
        return given["toy.threads"].value.data, 64
    if "rocdl.kernel" in given:
        lanes = function.parent_op().attributes["ttg.threads-per-warp"].value.data
        return int(given["amdgpu-flat-work-group-size"].data.partition(",")[2]), lanes
    return given["nvvm.reqntid"].get_values()[0], 32


class _Machine:
    def __init__(self, function: Any, arguments: Sequence[Any], program: tuple[int, int, int]):
        self.threads, self.lanes = _launched(function)
        self.active = np.full(self.threads, True)
        self.program = program
        self.function = function
        self.shared = np.full(SHARED_BYTES, 0xA5, np.uint8)
        self.arrays: list[tuple[int, np.ndarray]] = []
        self.env: dict[Any, np.ndarray] = {}
        base = 1 << 32
        blocks = list(function.regions[0].blocks)
        given = [*arguments, 0, 0]
        for argument, value in zip(blocks[0].args, given, strict=True):
            if isinstance(value, np.ndarray):
                self.arrays.append((base, value.view(np.uint8).reshape(-1)))
                value = base
                base += 1 << 32
            self.env[argument] = self.full(argument.type, value)

    def full(self, type_: Any, value: Any) -> np.ndarray:
        count = _lanes(type_)
        shape = (self.threads, count) if isinstance(type_, VectorType) else (self.threads,)
        return np.full(shape, value, _dtype(_element(type_)))

    def memory(self, address: int, pointer_type: Any) -> tuple[np.ndarray, int]:
        if getattr(pointer_type.addr_space, "data", 0) == 3:
            return self.shared, int(address)
        for base, array in self.arrays:
            if base <= address < base + array.size:
                return array, int(address) - base
        raise AssertionError(f"access outside of every array at {int(address):#x}")

    def load(self, address: int, pointer_type: Any, count: int, type_: Any) -> np.ndarray:
        array, offset = self.memory(address, pointer_type)
        size = count * _item_bytes(type_)
        assert offset % size == 0, f"{size} bytes at the misaligned address {offset}"
        assert offset + size <= array.size
        return _from_bits(array[offset : offset + size].copy(), type_)

    def store(self, address: int, pointer_type: Any, values: np.ndarray, type_: Any) -> None:
        array, offset = self.memory(address, pointer_type)
        raw = _to_bits(np.atleast_1d(values), type_).view(np.uint8)
        assert offset % raw.size == 0, f"{raw.size} bytes at the misaligned address {offset}"
        assert offset + raw.size <= array.size
        array[offset : offset + raw.size] = raw

    def run(self) -> None:
        self.run_from(self.function.regions[0].first_block, None)

    def run_from(self, block: Any, end: Any) -> None:
        """Blocks from `block` on, up to `end`."""
        while block is not None and block is not end:
            for op in block.ops:
                if op.name in ("llvm.br", "llvm.cond_br"):
                    block = self.branch(op)
                    break
                if op.name == "llvm.return":
                    return
                results = HANDLERS[op.name](self, op, *(self.env[v] for v in op.operands))
                if len(op.results) == 1:
                    self.env[op.results[0]] = results
                else:
                    self.env.update(zip(op.results, results or (), strict=True))

    def branch(self, op: Any) -> Any:
        if op.name == "llvm.br":
            target, values = op.successors[0], op.operands
        else:
            condition = self.env[op.operands[0]]
            count = len(op.successors[0].args)
            taken = bool(condition.any())
            if "rocdl.kernel" in self.function.attributes and taken and not condition.all():
                return self.some_go(op, condition, op.operands[1 + count :])
            # A thread may be taken along where the target only computes (the long way of `sin`).
            assert condition.all() or not taken or not op.successors[0].args, "threads would go different ways"
            target = op.successors[0 if taken else 1]
            values = op.operands[1 : 1 + count] if taken else op.operands[1 + count :]
        found = [self.env[v] for v in values]
        for argument, value in zip(target.args, found, strict=True):
            self.env[argument] = value
        return target

    def some_go(self, op: Any, condition: np.ndarray, others: Any) -> Any:
        """Some threads go into a branch, whose end is where the others go on."""
        inside, after = op.successors
        before, others = self.active, [self.env[v] for v in others]
        self.active = before & condition
        self.run_from(inside, after)
        self.active = before
        for argument, other in zip(after.args, others, strict=True):
            made = self.env[argument]
            went = condition.reshape(-1, *[1] * (made.ndim - 1))
            self.env[argument] = np.where(went, made, other)
        return after


Handler = Callable[..., Any]
HANDLERS: dict[str, Handler] = {}


def _handles(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
        return handler

    return register


def _unsigned(a: np.ndarray) -> np.ndarray:
    return a if a.dtype == np.bool_ else a.view(f"u{a.dtype.itemsize}")


_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "lshr": lambda a, b: (_unsigned(a) >> _unsigned(b)).view(a.dtype),
    "ashr": lambda a, b: a >> b,
    "sdiv": lambda a, b: np.trunc(a / b).astype(a.dtype),
    "srem": lambda a, b: np.fmod(a, b),
    "udiv": lambda a, b: (_unsigned(a) // _unsigned(b)).view(a.dtype),
    "urem": lambda a, b: (_unsigned(a) % _unsigned(b)).view(a.dtype),
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": lambda a, b: a / b,
}
for _name, _function in _BINARY.items():
    HANDLERS[f"llvm.{_name}"] = lambda m, op, a, b, _f=_function: _f(a, b)

_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "ult": lambda a, b: _unsigned(a) < _unsigned(b),
    "ule": lambda a, b: _unsigned(a) <= _unsigned(b),
    "ugt": lambda a, b: _unsigned(a) > _unsigned(b),
    "uge": lambda a, b: _unsigned(a) >= _unsigned(b),
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "une": lambda a, b: a != b,
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
}


@_handles("llvm.icmp", "llvm.fcmp")
def _compare(m: _Machine, op: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    table = tuple(L.ICmpPredicateFlag) if op.name == "llvm.icmp" else tuple(L.FCmpPredicateFlag)
    return _COMPARE[str(table[op.properties["predicate"].value.data])](a, b)


@_handles("llvm.mlir.constant")
def _constant(m: _Machine, op: Any) -> np.ndarray:
    type_ = op.results[0].type
    value = op.properties["value"]
    if isinstance(type_, VectorType):
        numbers = list(value.get_values())
        row = np.array(numbers if len(numbers) > 1 else numbers * _lanes(type_)).astype(_dtype(_element(type_)))
        return np.tile(row, (m.threads, 1))
    return m.full(type_, value.value.data)


@_handles("llvm.mlir.poison")
def _poison(m: _Machine, op: Any) -> np.ndarray:
    return m.full(op.results[0].type, 77)


@_handles("llvm.mlir.addressof")
def _address(m: _Machine, op: Any) -> np.ndarray:
    return m.full(op.results[0].type, 0)


@_handles("llvm.trunc", "llvm.sext", "llvm.sitofp", "llvm.fptosi", "llvm.fpext", "llvm.fptrunc", "llvm.inttoptr")
def _convert(m: _Machine, op: Any, a: np.ndarray) -> np.ndarray:
    type_ = op.results[0].type
    element = _element(type_)
    if isinstance(element, BFloat16Type):
        return _from_bits(_to_bits(a, type_).view(np.uint16), type_).reshape(a.shape)
    if isinstance(element, IntegerType) and element.width.data == 1:
        return (a & 1).astype(np.bool_)
    if a.dtype == np.bool_ and op.name == "llvm.sext":
        return -a.astype(_dtype(element))
    return a.astype(_dtype(element))


@_handles("llvm.zext", "llvm.uitofp", "llvm.ptrtoint")
def _convert_unsigned(m: _Machine, op: Any, a: np.ndarray) -> np.ndarray:
    return _unsigned(a).astype(_dtype(_element(op.results[0].type)))


@_handles("llvm.fneg")
def _fneg(m: _Machine, op: Any, a: np.ndarray) -> np.ndarray:
    return -a


@_handles("llvm.bitcast")
def _bitcast(m: _Machine, op: Any, a: np.ndarray) -> np.ndarray:
    type_ = op.results[0].type
    raw = np.ascontiguousarray(_to_bits(a, op.operands[0].type).reshape(m.threads, -1)).view(np.uint8)
    values = _from_bits(raw, type_).reshape(m.threads, -1)
    return values if isinstance(type_, VectorType) else values[:, 0]


@_handles("llvm.select")
def _select(m: _Machine, op: Any, c: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(c[:, None] if c.ndim < a.ndim else c, a, b)


@_handles("llvm.extractelement")
def _extract(m: _Machine, op: Any, vector: np.ndarray, index: np.ndarray) -> np.ndarray:
    return vector[np.arange(m.threads), index].copy()


@_handles("llvm.insertelement")
def _insert(m: _Machine, op: Any, vector: np.ndarray, value: np.ndarray, index: np.ndarray) -> np.ndarray:
    result = vector.copy()
    result[np.arange(m.threads), index] = value
    return result


@_handles("llvm.pack")
def _pack(m: _Machine, op: Any, *values: np.ndarray) -> np.ndarray:
    return np.stack(values, axis=1)


@_handles("llvm.shufflevector")
def _shuffle(m: _Machine, op: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([a, b], axis=1)[:, list(op.properties["mask"].get_values())]


@_handles("llvm.getelementptr")
def _gep(m: _Machine, op: Any, pointer: np.ndarray, *dynamic: np.ndarray) -> np.ndarray:
    (index,) = op.properties["rawConstantIndices"].get_values()
    element = op.properties["elem_type"]
    step = dynamic[0].astype(np.int64) if index == ours.DYNAMIC_INDEX else index
    if isinstance(step, np.ndarray) and step.ndim > pointer.ndim:
        pointer = pointer[:, None]
    if isinstance(step, np.ndarray) and step.ndim < pointer.ndim:
        step = step[:, None]
    return pointer + step * _item_bytes(element)


@_handles("llvm.load")
def _load(m: _Machine, op: Any, pointer: np.ndarray) -> np.ndarray:
    type_ = op.results[0].type
    nothing = np.zeros(_lanes(type_), _dtype(_element(type_)))
    rows = [
        m.load(p, op.operands[0].type, _lanes(type_), type_) if active else nothing
        for p, active in zip(pointer, m.active, strict=True)
    ]
    values = np.stack(rows)
    return values if isinstance(type_, VectorType) else values[:, 0]


@_handles("llvm.store")
def _store(m: _Machine, op: Any, value: np.ndarray, pointer: np.ndarray) -> None:
    for v, p, active in zip(value, pointer, m.active, strict=True):
        if active:
            m.store(p, op.operands[1].type, v, op.operands[0].type)


@_handles("llvm.call_intrinsic")
def _intrinsic(m: _Machine, op: Any, *v: np.ndarray) -> np.ndarray:
    name = op.properties["intrin"].data.removeprefix("llvm.").split(".")[0]
    return {
        "fma": lambda: (v[0].astype(np.float64) * v[1] + v[2]).astype(v[0].dtype),
        "maxnum": lambda: np.fmax(v[0], v[1]),
        "minnum": lambda: np.fmin(v[0], v[1]),
        "maximum": lambda: np.maximum(v[0], v[1]),
        "minimum": lambda: np.minimum(v[0], v[1]),
        "smax": lambda: np.maximum(v[0], v[1]),
        "smin": lambda: np.minimum(v[0], v[1]),
        "umax": lambda: np.maximum(_unsigned(v[0]), _unsigned(v[1])).view(v[0].dtype),
        "umin": lambda: np.minimum(_unsigned(v[0]), _unsigned(v[1])).view(v[0].dtype),
        "fabs": lambda: np.abs(v[0]),
        "rint": lambda: np.rint(v[0]),
        "copysign": lambda: np.copysign(v[0], v[1]),
        "exp2": lambda: np.exp2(v[0]),
        "ssub": lambda: np.clip(v[0].astype(np.int64) - v[1], -(2**31), 2**31 - 1).astype(np.int32),
        "vector": lambda: v[0].any(axis=1),
    }[name]()


@_handles("llvm.each_lane")
def _each_lane(m: _Machine, op: Any, *v: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return {
            "llvm.nvvm.ex2.approx.f": lambda: np.exp2(v[0]),
            "llvm.nvvm.ex2.approx.ftz.f": lambda: np.exp2(v[0]),
            "llvm.nvvm.div.full": lambda: v[0] / v[1],
            "llvm.amdgcn.rsq.f32": lambda: 1 / np.sqrt(v[0]),
            "toy_exp": lambda: np.exp(v[0]),
        }[op.properties["callee"].data]()


@_handles("nvvm.read.ptx.sreg.tid.x", "rocdl.workitem.id.x")
def _tid(m: _Machine, op: Any) -> np.ndarray:
    return np.arange(m.threads, dtype=np.int32)


@_handles("nvvm.read.ptx.sreg.ctaid.x", "rocdl.workgroup.id.x")
def _block(m: _Machine, op: Any) -> np.ndarray:
    return m.full(op.results[0].type, m.program[0])


@_handles(
    "nvvm.barrier", "nvvm.bar.warp.sync", "nvvm.cp.async.commit.group", "nvvm.cp.async.wait.group", "rocdl.barrier", "rocdl.wave.barrier",
)  # fmt: skip
def _barrier(m: _Machine, op: Any) -> None:
    """Threads run in lockstep, and copies are done at once."""


@_handles("nvvm.shfl.sync")
def _shfl(m: _Machine, op: Any, value: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return _of_lane(m, op.properties["kind"].data, value, offset)


def _of_lane(m: _Machine, kind: str, value: np.ndarray, offset: np.ndarray) -> np.ndarray:
    lanes, lane = m.lanes, np.arange(m.threads) % m.lanes
    source = {"bfly": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": offset & (lanes - 1)}[kind]
    source = np.where((source < 0) | (source >= lanes), lane, source)
    return value[np.arange(m.threads) // lanes * lanes + source]


@_handles("rocdl.make.buffer.rsrc")
def _buffer(m: _Machine, op: Any, base: np.ndarray) -> np.ndarray:
    return base


@_handles("rocdl.raw.ptr.buffer.load")
def _buffer_load(m: _Machine, op: Any, base: np.ndarray, offset: np.ndarray) -> np.ndarray:
    type_, inside = op.results[0].type, offset >= 0
    found = m.full(type_, 0)
    for thread in np.flatnonzero(inside & m.active):
        row = m.load(base[thread] + offset[thread], op.operands[0].type, _lanes(type_), type_)
        found[thread] = row if isinstance(type_, VectorType) else row[0]
    return found


@_handles("rocdl.raw.ptr.buffer.store")
def _buffer_store(m: _Machine, op: Any, value: np.ndarray, base: np.ndarray, offset: np.ndarray) -> None:
    for thread in np.flatnonzero((offset >= 0) & m.active):
        m.store(base[thread] + offset[thread], op.operands[1].type, value[thread], op.operands[0].type)


@_handles("rocdl.ds_bpermute")
def _bpermute(m: _Machine, op: Any, index: np.ndarray, value: np.ndarray) -> np.ndarray:
    return _of_lane(m, "idx", value, index >> 2)


@_handles("rocdl.ds_swizzle")
def _swizzle(m: _Machine, op: Any, value: np.ndarray) -> np.ndarray:
    """Within 32 lanes (MI300 ISA, "LDS Instruction Details", bit mode)."""
    offset, lane = op.offset.value.data, np.arange(m.threads)
    source = (lane & offset & 31 | offset >> 5 & 31) ^ offset >> 10 & 31
    return value[lane // 32 * 32 + source]


@_handles("rocdl.readlane")
def _readlane(m: _Machine, op: Any, value: np.ndarray, lane: np.ndarray) -> np.ndarray:
    return value[np.arange(m.threads) // m.lanes * m.lanes + lane]


@_handles("rocdl.update.dpp")
def _dpp(m: _Machine, op: Any, old: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Within rows of 16 lanes (MI300 ISA, "DPP_CTRL Enumerations"); every lane is there."""
    control, thread = op.dpp_ctrl.value.data, np.arange(m.threads)
    lane, by = thread % 16, control & 15
    source = {
        0: lane & ~3 | control >> 2 * (lane & 3) & 3,
        0x100: lane + by, 0x110: lane - by, 0x120: (lane - by) % 16,
    }.get(0 if control < 0x100 else control & 0x1F0)  # fmt: skip
    if control in (0x142, 0x143):  # the last lane of the row before; lane 31
        row = thread // 16 % 4
        there = row > 0 if control == 0x142 else row > 1
        given = value[np.maximum(thread - lane - 1, 0) if control == 0x142 else thread // 64 * 64 + 31]
        return np.where(there & (op.row_mask.value.data >> row & 1).astype(bool), given, old)
    if source is None:
        source = {0x140: 15 - lane, 0x141: lane & 8 | 7 - (lane & 7)}[control]
    banks, rows = op.bank_mask.value.data >> lane // 4 & 1, op.row_mask.value.data >> thread // 16 % 4 & 1
    written = (banks & rows).astype(bool) & (source >= 0) & (source < 16)
    return np.where(written, value[thread - lane + np.clip(source, 0, 15)], old)


@_handles("toy.op")
def _toy(m: _Machine, op: Any, *v: np.ndarray) -> Any:
    """The one op of `tests/plugins/toy_target`."""
    what, types = op.properties["what"].data, [operand.type for operand in op.operands]
    if what == "thread":
        return _tid(m, op)
    if what == "program0":
        return _block(m, op)
    if what.startswith("shuffle_"):
        return _of_lane(m, what.removeprefix("shuffle_"), *v)
    if what == "load":
        pointer, *mask_and_other = v
        result = mask_and_other[1].copy() if len(mask_and_other) == 2 else m.full(op.results[0].type, 0)
        for thread in range(m.threads):
            if not mask_and_other or mask_and_other[0][thread]:
                result[thread] = m.load(pointer[thread], types[0], 1, op.results[0].type)[0]
        return result
    if what in ("store", "store_shared"):
        pointer, value, *mask = v if what == "store" else (v[1], v[0], *v[2:])
        pointer_type, value_type = types[:2] if what == "store" else types[1::-1]
        for thread in range(m.threads):
            if not mask or mask[0][thread]:
                m.store(pointer[thread], pointer_type, value[thread], value_type)
    return None


@_handles("nvvm.redux.sync")
def _redux(m: _Machine, op: Any, value: np.ndarray) -> np.ndarray:
    warps = value.reshape(-1, 32)
    kind = op.properties["kind"].data
    reduced = {"add": np.add, "xor": np.bitwise_xor, "and": np.bitwise_and, "or": np.bitwise_or, "max": np.maximum}
    return np.repeat(reduced[kind].reduce(warps, axis=1), 32).astype(value.dtype)


def _segments(op: Any, values: Sequence[np.ndarray]) -> list[Sequence[np.ndarray]]:
    parts, at = [], 0
    for size in op.properties["operandSegmentSizes"].get_values():
        parts.append(values[at : at + size])
        at += size
    return parts


@_handles("nvvm.ld.global")
def _ld_global(m: _Machine, op: Any, *v: np.ndarray) -> np.ndarray:
    pointers, masks, others, _ = _segments(op, v)
    type_ = op.results[0].type
    width = op.properties["vector_width"].value.data
    result = np.zeros((m.threads, _lanes(type_)), _dtype(_element(type_)))
    if others:
        result[:] = others[0] if others[0].ndim == 2 else others[0][:, None]
    for number, pointer in enumerate(pointers):
        for thread in range(m.threads):
            if not masks or masks[number][thread]:
                row = m.load(pointer[thread], op.operands[0].type, width, type_)
                result[thread, number * width : (number + 1) * width] = row
    return result if isinstance(type_, VectorType) else result[:, 0]


@_handles("nvvm.st.global")
def _st_global(m: _Machine, op: Any, *v: np.ndarray) -> None:
    (value,), pointers, masks, _ = _segments(op, v)
    width = op.properties["vector_width"].value.data
    value = value.reshape(m.threads, -1)
    for number, pointer in enumerate(pointers):
        for thread in range(m.threads):
            if not masks or masks[number][thread]:
                piece = value[thread, number * width : (number + 1) * width]
                m.store(pointer[thread], op.operands[1].type, piece, op.operands[0].type)


@_handles("nvvm.st.shared")
def _st_shared(m: _Machine, op: Any, value: np.ndarray, pointer: np.ndarray, mask: np.ndarray) -> None:
    for thread in np.flatnonzero(mask):
        m.store(pointer[thread], op.operands[1].type, value[thread], op.operands[0].type)


@_handles("nvvm.cp.async.shared.global")
def _cp_async(m: _Machine, op: Any, *v: np.ndarray) -> None:
    (dst,), (src,), sizes, masks = _segments(op, v)
    size = op.properties["size"].value.data
    for thread in range(m.threads):
        if masks and not masks[0][thread]:
            continue
        read = int(sizes[0][thread]) if sizes else size
        data = np.zeros(size, np.uint8)
        if read:
            array, offset = m.memory(src[thread], op.operands[1].type)
            assert offset % size == 0
            data[:read] = array[offset : offset + read]
        m.shared[dst[thread] : dst[thread] + size] = data


@_handles("nvvm.atom")
def _atom(m: _Machine, op: Any, *v: np.ndarray) -> np.ndarray:
    (pointer,), values, masks = _segments(op, v)
    return _atomic(m, op, op.results[0].type, pointer, values, masks)


@_handles("nvvm.red")
def _red(m: _Machine, op: Any, pointer: np.ndarray, value: np.ndarray, *masks: np.ndarray) -> None:
    _atomic(m, op, op.operands[1].type, pointer, [value], masks)


@_handles("nvvm.fence")
def _fence(m: _Machine, op: Any) -> None:
    """Threads run one after another here."""


def _atomic(
    m: _Machine, op: Any, type_: Any, pointer: np.ndarray, values: Sequence[np.ndarray], masks: Sequence[np.ndarray]
) -> np.ndarray:
    kind = op.properties["operation"].data.split(".")[0]
    result = m.full(type_, 0)
    for thread in range(m.threads):
        if masks and not masks[0][thread]:
            continue
        old = m.load(pointer[thread], op.operands[0].type, _lanes(type_), type_)
        given = np.atleast_1d(values[-1][thread])
        if kind == "cas":
            new = np.where(old == values[0][thread], given, old)
        else:
            new = {"add": old + given, "max": np.maximum(old, given), "exch": given}[kind]
        m.store(pointer[thread], op.operands[0].type, new, type_)
        result[thread] = old if isinstance(type_, VectorType) else old[0]
    return result


def _matrix_rows(m: _Machine, pointer: np.ndarray, count: int) -> np.ndarray:
    """The addresses of the rows: by warp, matrix and row."""
    return pointer.reshape(-1, 32)[:, : 8 * count].reshape(-1, count, 8)


@_handles("nvvm.ldmatrix")
def _ldmatrix(m: _Machine, op: Any, pointer: np.ndarray) -> np.ndarray:
    type_ = op.results[0].type
    count = _lanes(type_)
    rows = _matrix_rows(m, pointer, count)
    assert not (rows % 16).any(), "rows of a matrix must be aligned to 16 bytes"
    data = np.array([[[m.shared[p : p + 16].view(np.uint16) for p in mat] for mat in warp] for warp in rows])
    if "transposed" in op.properties:
        data = data.swapaxes(2, 3)
    words = np.ascontiguousarray(data).view(np.int32).reshape(len(rows), count, 32)
    result = words.transpose(0, 2, 1).reshape(m.threads, count)
    return result if isinstance(type_, VectorType) else result[:, 0]


@_handles("nvvm.stmatrix")
def _stmatrix(m: _Machine, op: Any, value: np.ndarray, pointer: np.ndarray) -> None:
    count = _lanes(op.operands[0].type)
    rows = _matrix_rows(m, pointer, count)
    assert not (rows % 16).any(), "rows of a matrix must be aligned to 16 bytes"
    words = value.reshape(len(rows), 32, count).transpose(0, 2, 1)
    data = np.ascontiguousarray(words).view(np.uint16).reshape(len(rows), count, 8, 8)
    if "transposed" in op.properties:
        data = data.swapaxes(2, 3)
    for warp, matrices in zip(rows, data, strict=True):
        for addresses, matrix in zip(warp, matrices, strict=True):
            for address, row in zip(addresses, matrix, strict=True):
                m.shared[address : address + 16] = np.ascontiguousarray(row).view(np.uint8)


def _halves(words: np.ndarray) -> np.ndarray:
    """Words as pairs of 16-bit floats: one more dimension at the end."""
    return np.ascontiguousarray(words).view(np.float16).reshape(*words.shape, 2).astype(np.float32)


@_handles("nvvm.mma.sync")
def _mma_sync(m: _Machine, op: Any, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    assert op.properties["types"].data == "f32.f16.f16.f32"
    group, inside = np.arange(32) // 4, np.arange(32) % 4
    result = c.copy()
    for warp in range(m.threads // 32):
        own = slice(32 * warp, 32 * warp + 32)
        left, right = np.zeros((16, 16), np.float32), np.zeros((16, 8), np.float32)
        words_a, words_b = _halves(a[own]), _halves(b[own])
        for i in range(4):
            for half in range(2):
                left[group + 8 * (i & 1), 2 * (inside + 4 * (i >> 1)) + half] = words_a[:, i, half]
                if i < 2:
                    right[2 * (inside + 4 * i) + half, group] = words_b[:, i, half]
        product = left @ right
        for i in range(4):
            result[own, i] += product[group + 8 * (i >> 1), 2 * inside + (i & 1)]
    return result


def _described(m: _Machine, descriptor: int, rows: int, depth: int, *, along_k: bool) -> np.ndarray:
    """The f16 matrix of `rows` by `depth` elements that a descriptor of shared memory describes."""
    start, leading, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    swizzle = {1: 128, 2: 64, 3: 32}[descriptor >> 62 & 3]
    row, k = np.meshgrid(np.arange(rows), np.arange(depth), indexing="ij")
    if along_k:
        address = start + row // 8 * stride + row % 8 * swizzle + 2 * k
    else:
        address = start + 2 * row // swizzle * leading + k // 8 * stride + k % 8 * swizzle + 2 * row % swizzle
    address ^= (address >> 7 & (swizzle // 16 - 1)) << 4
    return m.shared.view(np.float16)[address // 2].astype(np.float32)


@_handles("nvvm.wgmma.mma_async")
def _wgmma(m: _Machine, op: Any, *v: np.ndarray) -> list[np.ndarray] | np.ndarray:
    lefts, (b,), sums, conditions = _segments(op, v)
    columns = int(op.properties["shape"].data.split("n")[1].split("k")[0])
    a_offsets, b_offsets = (list(op.properties[n].get_values()) for n in ("a_offsets", "b_offsets"))
    group, inside = np.arange(128) // 4 % 8 + np.arange(128) // 32 * 16, np.arange(128) % 4
    results = [c.copy() if not conditions or conditions[0].all() else np.zeros_like(c) for c in sums]
    steps = len(b_offsets) // len(sums)
    for first in range(0, m.threads, 128):
        own = slice(first, first + 128)
        for product, b_offset in enumerate(b_offsets):
            tile, step = divmod(product, steps)
            at_b = int(b[first]) + b_offset
            right = _described(m, at_b, columns, 16, along_k="trans_b" not in op.properties)
            if a_offsets:
                at_a = int(lefts[0][first]) + a_offsets[product]
                left = _described(m, at_a, 64, 16, along_k="trans_a" not in op.properties)
            else:
                left = np.zeros((64, 16), np.float32)
                words = _halves(lefts[tile][own, 4 * step : 4 * step + 4])
                for i in range(4):
                    for half in range(2):
                        left[group + 8 * (i & 1), 2 * (inside + 4 * (i >> 1)) + half] = words[:, i, half]
            sum_ = left @ right.T
            for i in range(sums[0].shape[1]):
                results[tile][own, i] += sum_[group + 8 * (i >> 1 & 1), 8 * (i >> 2) + 2 * inside + (i & 1)]
    return results if len(results) > 1 else results[0]


@_handles("nvvm.wgmma.commit_group", "nvvm.fence.proxy.async.shared")
def _wgmma_order(m: _Machine, op: Any) -> None:
    """Products are done at once."""


@_handles("nvvm.wgmma.wait_group")
def _wgmma_wait(m: _Machine, op: Any, value: np.ndarray) -> np.ndarray:
    return value


@pytest.fixture
def kernel() -> Callable[[str], Kernel]:
    """Lowers TTGIR text to a kernel that can be called with arrays and numbers."""
    return lambda text: Kernel(lower(text))


@pytest.fixture
def run_module() -> Callable[..., None]:
    """Runs the kernel of a module of the `llvm` dialect: `run_module(module, *arguments)`."""
    return lambda module, *arguments: Kernel(module)(*arguments)


@pytest.fixture
def llvm_ir() -> Callable[[str], str]:
    """LLVM IR text of TTGIR text, without line numbers."""
    return lambda text: write_module(lower(text), line_info=False)
