"""Functions of lit tests whose work is seen only in the right surroundings, each inlined into a kernel that has them.

surroundings/arrive_barrier.mlir          a kernel that initialises a barrier, calls @arrive_barrier, and waits
surroundings/arrive_barrier.wrong.mlir    the same with one arrival too few: both oracles must report it

In: a chunk's module and the name of a function. Out: a `RunnableFunction` for every kernel kept for it. `with_defined_assembly`
gives inline assembly that leaves its results undefined a text that defines them, and `without_assembly` its meaning in other ops.
"""

from __future__ import annotations

from pathlib import Path

from lit_kernels import CannotRun, RunnableFunction, runnable
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, StringAttr, TensorType, bf16, i8, i16
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.passes.inline import Inline

FOLDER = Path(__file__).parent / "surroundings"
WRONG = ".wrong"


def cases_of(module: ModuleOp, name: str) -> list[RunnableFunction]:
    """What is run for the function `name`: by itself, or in each of its surroundings. Raises `CannotRun`."""
    kept = sorted(FOLDER.glob(f"{name}.*mlir"))
    return [_surrounded(module, name, path) for path in kept] or [runnable(with_defined_assembly(module), name)]


def _surrounded(module: ModuleOp, name: str, path: Path) -> RunnableFunction:
    """The function `name` inlined into the kernel of `path`, with what that takes."""
    whole = module.clone()
    for function in [op for op in whole.ops if isinstance(op, tt.FuncOp)]:
        if function.sym_name.data == name:
            function.properties["sym_visibility"] = StringAttr("private")
        else:
            whole.body.block.erase_op(function)
    around = parse_module(path.read_text(), path.name, check=False)
    kernel = next(op for op in around.ops if isinstance(op, tt.FuncOp))
    kernel.detach()
    whole.body.block.add_op(kernel)
    found = runnable(whole, kernel.sym_name.data)
    Inline().apply(make_context(), found.module)
    if any(op.name == "tt.call" for op in found.module.walk()):
        raise CannotRun(f"{name} was not inlined")
    found.is_wrong = path.stem.endswith(WRONG)
    return found


_WIDEN = (
    "prmt.b32 $0, $4, 0, 0x4140; prmt.b32 $1, $4, 0, 0x4342; prmt.b32 $2, $4, 0, 0x1404; prmt.b32 $3, $4, 0, 0x3424;"
)
"""Four bytes as the low halves of 16 bits ($0, $1) and as the high halves ($2, $3)."""

_DEFINED = {"shl.b32 $0, $0, 3;": "shl.b32 $0, $1, 3;", "shl.b16 $0, $0, 3;": "shl.b16 $0, $1, 3;", "": _WIDEN}
"""Assembly of the tests that reads its own result, or writes none, and what is run in its place: the operands' registers are the same."""


def with_defined_assembly(module: ModuleOp) -> ModuleOp:
    """A copy of `module` whose inline assembly writes its results from its operands."""
    module = module.clone()
    for op in module.walk():
        if op.name == "tt.elementwise_inline_asm":
            text = op.properties["asm_string"]
            assert isinstance(text, StringAttr)
            op.properties["asm_string"] = StringAttr(_DEFINED.get(text.data, text.data))
    return module


def without_assembly(module: ModuleOp) -> ModuleOp:
    """A copy of `module` for the interpreter. Bytes shifted together do not reach into each other while they are less than 32."""
    module = module.clone()
    for op in list(module.walk()):
        if op.name == "tt.elementwise_inline_asm":
            text = op.properties["asm_string"]
            assert isinstance(text, StringAttr)
            for result, value in zip(op.results, _meaning(op, text.data), strict=True):
                result.replace_all_uses_with(value)
            block = op.parent
            assert block is not None
            block.erase_op(op)
    return module


def _meaning(op: Operation, text: str) -> list[SSAValue]:
    """The values of the op's results, by ops put before it. Raises `CannotRun` for assembly of unknown meaning."""
    block = op.parent
    assert block is not None

    def emit(new: Operation) -> SSAValue:
        block.insert_op_before(new, op)
        return new.results[0]

    source = op.operands[0]
    type_ = source.type
    assert isinstance(type_, TensorType)
    shape, encoding = type_.get_shape(), type_.encoding
    if text.startswith("shl."):
        three = DenseIntOrFPElementsAttr.from_list(TensorType(i8, shape, encoding), [3])
        return [emit(arith.ShLIOp(source, emit(arith.ConstantOp(three))))]
    if text == _WIDEN:
        wide = TensorType(i16, shape, encoding)
        low = emit(arith.ExtUIOp(source, wide))
        high = emit(arith.ShLIOp(low, emit(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(wide, [8])))))
        return [emit(arith.BitcastOp(value, TensorType(bf16, shape, encoding))) for value in (low, high)]
    raise CannotRun(f"inline assembly {text!r}")
