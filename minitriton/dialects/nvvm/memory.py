"""The `nvvm` ops on global and shared memory, and on tensor cores."""

from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.llvm import GLOBAL, SHARED, lanes
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.nvvm.base import IntrinsicOp, PtxOp, vector, words_of

# Global memory --------------------------------------------------------------------------------------------------------


def _check_vectors(op: Operation, registers: int, width: int, pointers: int, masks: int) -> None:
    if width < 1 or width & (width - 1):
        raise VerifyException(f"{op.name}: vector_width must be a power of 2, got {width}")
    if pointers * width != registers:
        raise VerifyException(f"{op.name}: {pointers} pointers of {width} elements do not make {registers} registers")
    if masks not in (0, pointers):
        raise VerifyException(f"{op.name}: needs no mask or one for each pointer, got {masks}")


_SCOPES = ("cta", "gpu", "sys", "cluster")


class GlobalAccessOp(PtxOp):
    """An access of `vector_width` consecutive elements at each pointer. `cache` is `ca`, `cg`, `cs`, `cv` or empty, `evict` is `evict_first`,
    `evict_last`, `no_allocate` or empty."""

    vector_width = prop_def(IntegerAttr)
    cache = opt_prop_def(StringAttr)
    evict = opt_prop_def(StringAttr)
    policy = opt_operand_def(IntegerType(64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def cache_modifiers(self, prefetch_bytes: IntegerAttr | None = None) -> tuple[str, str]:
        """How the access treats the caches: what stands in the instruction's name, and after its operands."""
        text = f".{self.cache.data}" if self.cache is not None and self.cache.data else ""
        if self.evict is not None and self.evict.data:
            text += f".L1::{self.evict.data}"
        prefetch = f".L2::{prefetch_bytes.value.data}B" if prefetch_bytes is not None else ""
        return (text + prefetch, "") if self.policy is None else (f"{text}.L2::cache_hint{prefetch}", ", $policy")


class LoadGlobalOp(GlobalAccessOp):
    """Loads `vector_width` consecutive elements from each pointer; where a mask is false the registers hold `other`.

    `other` is a vector, or a scalar for all. Without it a masked-off element is 0. `prefetch` is how many bytes L2 fetches at
    once: 64, 128, 256 or none (PTX `ld.global`). `order` makes each load an atomic one: semantics and scope, as in `acquire.gpu`.
    """

    name = "nvvm.ld.global"
    CLOBBERS: ClassVar = ()

    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)
    other = opt_operand_def(AnyAttr())
    res = result_def(AnyAttr())
    prefetch = opt_prop_def(IntegerAttr)
    is_volatile = opt_prop_def(UnitAttr)
    order = opt_prop_def(StringAttr)

    def verify_(self) -> None:
        count = lanes(self.res.type)
        _check_vectors(self, count, self.vector_width.value.data, len(self.pointers), len(self.masks))
        if self.other is not None:
            element = self.res.type.element_type if instance_of(self.res.type, VectorType) else self.res.type
            if self.other.type not in (self.res.type, element):
                raise VerifyException("nvvm.ld.global: `other` must have the type of the result or of its elements")

    ORDER: ClassVar = ("pointers", "masks", "policy", "other")

    def ptx(self) -> str:
        """Of one access: its pointer, its mask, and what its registers hold where that is false."""
        words = words_of(self.res.type, self.vector_width.value.data)
        order = ".volatile" if self.is_volatile else f".{self.order.data}" if self.order is not None else ""
        modifiers, hint = self.cache_modifiers(self.prefetch)
        load = (
            f"ld{order}.global{modifiers}{words.vector}.b{words.bits} {words.listed('res')}, [ $pointers + 0 ]{hint};"
        )
        if not self.masks:
            return load
        move = f"mov.b{max(16, words.bits)}"
        fill = (f"{move} $res.{i}, $other.{i};\n\t" for i in range(words.count))
        return f"{''.join(fill)}@$masks {load}"


class StoreGlobalOp(GlobalAccessOp):
    """Stores `vector_width` consecutive elements of `value` to each pointer whose mask is true (PTX `st.global`). `order`: as of a load."""

    name = "nvvm.st.global"

    value = operand_def(AnyAttr())
    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)
    order = opt_prop_def(StringAttr)

    def verify_(self) -> None:
        count = lanes(self.value.type)
        _check_vectors(self, count, self.vector_width.value.data, len(self.pointers), len(self.masks))

    def ptx(self) -> str:
        """Of one access."""
        words = words_of(self.value.type, self.vector_width.value.data)
        modifiers, hint = self.cache_modifiers()
        when = "@$masks " if self.masks else ""
        order = f".{self.order.data}" if self.order is not None else ""
        return f"{when}st{order}.global{modifiers}{words.vector}.b{words.bits} [ $pointers + 0 ], {words.listed('value')}{hint};"


class CreatePolicyOp(PtxOp):
    """An L2 eviction policy for `ld.global`/`st.global` (PTX `createpolicy.fractional`)."""

    name = "nvvm.createpolicy"
    TEXT: ClassVar = "createpolicy.fractional.L2::{kind}.b64 $res, 1.0;"
    CLOBBERS: ClassVar = ()
    WORDS: ClassVar = {"kind": ("evict_first", "evict_last")}

    res = result_def(IntegerType(64))
    kind = prop_def(StringAttr)


class AtomicOp(PtxOp):
    """`atom` on global memory: `operation` as PTX spells it (`add.f32`, `cas.b32`, ...), with semantics and scope.

    `values` are the operands after the address (one, or two for `cas`); where `mask` is false nothing happens and the
    result is 0. The words of the opcode stand in the orders that programs look for: Triton's own, and where `is_retried`
    LLVM's, which spells the exchange of a loop `atom.acq_rel.gpu.global.cas`.
    """

    name = "nvvm.atom"
    WORDS: ClassVar = {"sem": ("relaxed", "acquire", "release", "acq_rel"), "scope": _SCOPES}

    ptr = operand_def(GLOBAL)
    values = var_operand_def(AnyAttr())
    mask = opt_operand_def(i1)
    res = result_def(AnyAttr())
    operation = prop_def(StringAttr)
    sem = prop_def(StringAttr)
    scope = prop_def(StringAttr)
    is_retried = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def writes_early(self) -> bool:
        return self.mask is not None

    def ptx(self) -> str:
        words = words_of(self.res.type)
        operation, sem, scope = self.operation.data, self.sem.data, self.scope.data
        order = f"global.{sem}.{scope}" if operation.startswith("cas") else f"global.{scope}.{sem}"
        if self.is_retried is not None:
            order = f"{sem}.{scope}.global"
        count = words.count
        registers = [f"$values.{i}" for i in range(len(self.values) * count)]
        sources = ", ".join(vector(registers[i : i + count]) for i in range(0, len(registers), count))
        atom = f"atom.{order}.{operation} {words.listed('res')}, [ $ptr + 0 ], {sources};"
        if self.mask is None:
            return atom
        zeros = (f"mov.b{max(16, words.bits)} $res.{i}, 0x0;\n\t" for i in range(words.count))
        return f"{''.join(zeros)}@$mask {atom}"


class RedOp(PtxOp):
    """`red` on global memory: an atomic whose old value nobody wants, which the thread does not wait for."""

    name = "nvvm.red"
    WORDS: ClassVar = {"sem": ("relaxed", "release"), "scope": _SCOPES}

    ptr = operand_def(GLOBAL)
    value = operand_def(AnyAttr())
    mask = opt_operand_def(i1)
    operation = prop_def(StringAttr)
    sem = prop_def(StringAttr)
    scope = prop_def(StringAttr)

    def ptx(self) -> str:
        when = "@$mask " if self.mask is not None else ""
        source = words_of(self.value.type).listed("value")
        return f"{when}red.{self.sem.data}.{self.scope.data}.global.{self.operation.data} [ $ptr + 0 ], {source};"


class FenceOp(PtxOp):
    """`fence.acq_rel`: what the thread did before comes before what it does after, for the threads of `scope`."""

    name = "nvvm.fence"
    WORDS: ClassVar = {"scope": _SCOPES}
    TEXT: ClassVar = "fence.acq_rel.{scope};"

    scope = prop_def(StringAttr)


# Shared memory --------------------------------------------------------------------------------------------------------


class StoreSharedOp(PtxOp):
    """Stores a value or a short vector (at most 128 bits) to shared memory where `mask` is true."""

    name = "nvvm.st.shared"

    value = operand_def(AnyAttr())
    ptr = operand_def(SHARED)
    mask = operand_def(i1)

    def ptx(self) -> str:
        words = words_of(self.value.type)
        return f"@$mask st.shared{words.vector}.b{words.bits} [ $ptr + 0 ], {words.listed('value')};"


class LoadSharedOp(PtxOp):
    """Loads a value or a short vector (at most 128 bits) from shared memory where `mask` is true, else anything."""

    name = "nvvm.ld.shared"
    CLOBBERS: ClassVar = ()

    ptr = operand_def(SHARED)
    mask = operand_def(i1)
    res = result_def(AnyAttr())

    def ptx(self) -> str:
        words = words_of(self.res.type)
        return f"@$mask ld.shared{words.vector}.b{words.bits} {words.listed('res')}, [ $ptr + 0 ];"


class CpAsyncOp(PtxOp):
    """Starts a copy of `size` (4, 8, 16) bytes from global to shared memory (PTX `cp.async`).

    Where `src_size` is given only that many bytes are read and the rest is zero; where `mask` is false nothing is copied.
    """

    name = "nvvm.cp.async.shared.global"
    WORDS: ClassVar = {"modifier": ("ca", "cg")}

    dst = operand_def(SHARED)
    src = operand_def(GLOBAL)
    src_size = opt_operand_def(i32)
    mask = opt_operand_def(i1)
    size = prop_def(IntegerAttr)
    modifier = prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        if self.size.value.data not in (4, 8, 16):
            raise VerifyException(f"nvvm.cp.async copies 4, 8 or 16 bytes, not {self.size.value.data}")
        if self.modifier.data == "cg" and self.size.value.data != 16:
            raise VerifyException("nvvm.cp.async with cg copies 16 bytes")

    def ptx(self) -> str:
        size = f"0x{self.size.value.data:x}"
        when = "@$mask " if self.mask is not None else ""
        read = "$src_size" if self.src_size is not None else size
        return f"{when}cp.async.{self.modifier.data}.shared.global [ $dst + 0 ], [ $src + 0 ], {size}, {read};"


class CpAsyncCommitGroupOp(IntrinsicOp):
    """Makes a group of the thread's copies started since the last one."""

    name = "nvvm.cp.async.commit.group"
    TEXT: ClassVar = "llvm.nvvm.cp.async.commit.group()"
    assembly_format = "attr-dict"


class CpAsyncWaitGroupOp(IntrinsicOp):
    """Waits until at most `n` of the thread's groups of copies are unfinished."""

    name = "nvvm.cp.async.wait.group"
    TEXT: ClassVar = "llvm.nvvm.cp.async.wait.group({n})"
    n = prop_def(IntegerAttr)


def _check_matrices(op: Operation, type_: Attribute) -> None:
    element = type_.element_type if instance_of(type_, VectorType) else type_
    if element != i32 or lanes(type_) not in (1, 2, 4):
        raise VerifyException(f"{op.name} moves 1, 2 or 4 matrices, an i32 each, not {type_}")


class LdMatrixOp(IntrinsicOp):
    """Loads 1, 2 or 4 matrices of 8x8 16-bit elements, one i32 each (PTX `ldmatrix`)."""

    name = "nvvm.ldmatrix"

    ptr = operand_def(SHARED)
    res = result_def(AnyAttr())
    transposed = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        _check_matrices(self, self.res.type)

    def calls(self) -> str:
        trans = ".trans" if self.transposed else ""
        return f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{lanes(self.res.type)}{trans}.b16.p3($ptr)"


class StMatrixOp(IntrinsicOp):
    """Stores 1, 2 or 4 matrices of 8x8 16-bit elements, one i32 each (PTX `stmatrix`, sm_90)."""

    name = "nvvm.stmatrix"

    value = operand_def(AnyAttr())
    ptr = operand_def(SHARED)
    transposed = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        _check_matrices(self, self.value.type)

    def calls(self) -> str:
        trans = ".trans" if self.transposed else ""
        return f"llvm.nvvm.stmatrix.sync.aligned.m8n8.x{lanes(self.value.type)}{trans}.b16.p3($ptr, $value)"


# Tensor cores ---------------------------------------------------------------------------------------------------------


class MmaSyncOp(PtxOp):
    """`a b + c` of a warp on tensor cores (PTX `mma.sync`): 4, 2 words of a and b, as many registers of d as of c.

    Of f64, a and b are as many numbers as the shape has for a thread.
    `shape` and `types` are spelled as in PTX: `m16n8k16`, `f32.f16.f16.f32` (d, a, b, c).
    """

    name = "nvvm.mma.sync"
    CLOBBERS: ClassVar = ()

    a = operand_def(AnyAttr())
    b = operand_def(AnyAttr())
    c = operand_def(AnyAttr())
    d = result_def(AnyAttr())
    shape = prop_def(StringAttr)
    types = prop_def(StringAttr)

    def verify_(self) -> None:
        sizes = (lanes(self.a.type), lanes(self.b.type))
        if sizes != (4, 2) and "f64" not in self.types.data:
            raise VerifyException("nvvm.mma.sync takes 4 words of a and 2 of b")
        if self.c.type != self.d.type:
            raise VerifyException("nvvm.mma.sync returns the type of c")

    def ptx(self) -> str:
        types = self.types.data
        saturated = ".satfinite" if types.startswith("s32") else ""
        opcode = f"mma.sync.aligned.{self.shape.data}.row.col{saturated}.{types}"
        return f"{opcode} {{ $d }}, {{ $a }}, {{ $b }}, {{ $c }};"


def _listed(name: str, first: int, count: int) -> str:
    """Registers of `name` as the operand of an instruction."""
    return "{" + ", ".join(f"${name}.{i}" for i in range(first, first + count)) + "}"


class WgmmaOp(PtxOp):
    """Starts `a b + c` of a warp group on tensor cores (PTX `wgmma.mma_async`, sm_90): tiles of 64 rows, each one step along k after the other.

    `c` and `d` have a vector for each tile. `b` is the descriptor of a matrix in shared memory, `b_offsets` what is added to it for each step of
    each tile (in 16 bytes); `a` likewise, or words in registers, a vector for each tile with 4 words for each step. Where `use_c` is false the
    first step starts from 0. `trans_a` and `trans_b` tell that the matrix is not contiguous along k. The results may be read after a
    `nvvm.wgmma.wait_group`.
    """

    name = "nvvm.wgmma.mma_async"
    CLOBBERS: ClassVar = ()

    a = var_operand_def(AnyAttr())
    b = operand_def(IntegerType(64))
    c = var_operand_def(AnyAttr())
    use_c = opt_operand_def(i1)
    d = var_result_def(AnyAttr())
    shape = prop_def(StringAttr)
    types = prop_def(StringAttr)
    a_offsets = prop_def(DenseArrayBase.constr(i32))
    b_offsets = prop_def(DenseArrayBase.constr(i32))
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        if [each.type for each in self.c] != [each.type for each in self.d]:
            raise VerifyException("nvvm.wgmma.mma_async returns the types of c")
        tiles, mmas = len(self.c), len(self.b_offsets)
        if not tiles or mmas % tiles:
            raise VerifyException("nvvm.wgmma.mma_async needs as many offsets of b for each tile of c")
        words = [] if len(self.a_offsets) else [4 * mmas // tiles] * tiles
        if [lanes(each.type) for each in self.a] != (words or [1]) or len(self.a_offsets) not in (0, mmas):
            raise VerifyException(
                "nvvm.wgmma.mma_async needs a descriptor of a and an offset for each step, or 4 words"
            )

    ORDER: ClassVar = ("c", "b", "a", "use_c")
    TIED: ClassVar = True

    def ptx(self) -> str:
        """All tiles and steps in one inline-asm statement: LLVM then sees one call instead of one for each, with as many operands as there are accumulators.

        It begins with `wgmma.fence`: what LLVM writes to its registers (a zero, a copy) it writes before the text, and so before the fence.
        """
        opcode = f"wgmma.mma_async.sync.aligned.{self.shape.data}.{self.types.data}"
        a_offsets, b_offsets = self.a_offsets.get_values(), self.b_offsets.get_values()
        steps, words = len(b_offsets) // len(self.c), words_of(self.c[0].type).count
        text = "{\n.reg .b64 a, b;\nwgmma.fence.sync.aligned;\n"
        for mma, b_offset in enumerate(b_offsets):
            tile, step = divmod(mma, steps)
            left = "a"
            if a_offsets:
                text += f"add.s64 a, $a, {a_offsets[mma]};\n"
            else:
                left = _listed("a", 4 * mma, 4)
            text += f"add.s64 b, $b, {b_offset};\n"
            scale = "1" if step or self.use_c is None else "$use_c"
            text += f"{opcode} {_listed('d', tile * words, words)}, {left}, b, {scale}{self._signs()};\n"
        return text + "}"

    def _signs(self) -> str:
        """The signs of a and b, and whether they are transposed, where the type has these operands."""
        types = self.types.data
        if types.startswith("s32"):
            return ""
        if not types.endswith("16"):
            return ", 1, 1"
        trans_b = int(self.trans_b is not None)
        return f", 1, 1, {int(self.trans_a is not None)}, {trans_b}" if len(self.a_offsets) else f", 1, 1, {trans_b}"


class WgmmaCommitGroupOp(PtxOp):
    """Makes a group of the dots started since the last one."""

    name = "nvvm.wgmma.commit_group"
    TEXT: ClassVar = "wgmma.commit_group.sync.aligned;"
    assembly_format = "attr-dict"


class WgmmaWaitGroupOp(PtxOp):
    """Waits until at most `n` groups are unfinished; the results are the operands, ready to be read."""

    name = "nvvm.wgmma.wait_group"

    inputs = var_operand_def(AnyAttr())
    outputs = var_result_def(AnyAttr())
    n = prop_def(IntegerAttr)

    TIED: ClassVar = True

    def ptx(self) -> str:
        """The operands pass through it, so that no use of a result can move before it."""
        return f"wgmma.wait_group.sync.aligned {self.n.value.data};"


class FenceProxyAsyncOp(PtxOp):
    """Makes shared memory that threads wrote visible to wgmma and TMA (`fence.proxy.async.shared`)."""

    name = "nvvm.fence.proxy.async.shared"

    cluster = opt_prop_def(UnitAttr)

    def ptx(self) -> str:
        return f"fence.proxy.async.shared::{'cluster' if self.cluster else 'cta'};"
