"""What a module's and function's attributes say about the launch: warps, threads, CTAs, target.

    module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90",
                       "ttg.threads-per-warp" = 32 : i32}

Every helper takes any op and looks outwards from it.
"""

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from minitriton.errors import IRError, MinitritonError
from minitriton.target.architectures import WARP_SIZE, Architecture, architecture_named
from minitriton.target.backends import BACKENDS

NUM_WARPS = "ttg.num-warps"
NUM_CTAS = "ttg.num-ctas"
THREADS_PER_WARP = "ttg.threads-per-warp"
TARGET = "ttg.target"
SHARED_BYTES = "ttg.shared"
MAXNREG = "ttg.maxnreg"
ALLOCATION_SIZE = "allocation.size"
"""Attribute of an op with scratch whose lowering needs other than Triton's: bytes."""

ALLOCATION_OFFSET = "allocation.offset"


def enclosing_module(op: Operation) -> ModuleOp | None:
    """The outermost module around `op`, None for an op that is not yet in one."""
    found: ModuleOp | None = None
    current: Operation | None = op
    while current is not None:
        if isinstance(current, ModuleOp):
            found = current
        current = current.parent_op()
    return found


def module_of(op: Operation) -> ModuleOp:
    """The outermost module around `op`. Raises `IRError` if there is none."""
    found = enclosing_module(op)
    if found is None:
        raise IRError(f"{op.name} is not inside a module")
    return found


def _integer(op: Operation, name: str, default: int) -> int:
    attr = module_of(op).attributes.get(name)
    return attr.value.data if isinstance(attr, IntegerAttr) else default


def maybe_num_warps(op: Operation) -> int | None:
    """Warps that run `op`: those of its partition of a `ttg.warp_specialize`, else the function's, else the module's."""
    region = None
    current: Operation | None = op
    while current is not None:
        if current.name == "ttg.warp_specialize.partitions" and region is not None:
            counts = current.parent_op()
            warps = counts.properties.get("partitionNumWarps") if counts is not None else None
            if isinstance(warps, DenseArrayBase):
                return int(warps.get_values()[current.get_region_index(region)])
        attr = current.attributes.get(NUM_WARPS)
        if isinstance(attr, IntegerAttr):
            return attr.value.data
        region = current.parent_region()
        current = current.parent_op()
    return None


def num_warps(op: Operation) -> int:
    """Warps that run `op`. Raises `IRError` if no attribute says so."""
    found = maybe_num_warps(op)
    if found is None:
        raise IRError(
            f"{op.name} is not inside a module that says how many warps run it",
            help='add the module attribute "ttg.num-warps" = 4 : i32',
        )
    return found


def threads_per_warp(op: Operation) -> int:
    """Threads of one warp, 32 unless the module says otherwise."""
    return _integer(op, THREADS_PER_WARP, WARP_SIZE)


def num_threads(op: Operation) -> int:
    """Threads that run `op`."""
    return num_warps(op) * threads_per_warp(op)


def shared_bytes(op: Operation) -> int:
    """Bytes of dynamic shared memory of a CTA, 0 before it is placed."""
    return _integer(op, SHARED_BYTES, 0)


def num_ctas(op: Operation) -> int:
    """CTAs of one cluster, 1 unless the module says otherwise."""
    return _integer(op, NUM_CTAS, 1)


def target_text(op: Operation) -> str | None:
    """The module attribute `ttg.target`, such as `cuda:90`."""
    attr = module_of(op).attributes.get(TARGET)
    return attr.data if isinstance(attr, StringAttr) else None


def backend_name(op: Operation) -> str:
    """The back end that the module is compiled for: what stands before the colon of `ttg.target`; `cuda` if the module says none.

    Raises `IRError` for an unknown one.
    """
    name = (target_text(op) or "cuda").partition(":")[0]
    if name not in BACKENDS:
        raise IRError(f"ttg.target names the unknown back end {name!r}", help=_ADD_TARGET)
    return name


def features_of(op: Operation) -> Architecture:
    """What the target of the module can do. Raises `IRError` if the module names no known target."""
    text = target_text(op)
    if text is None:
        raise IRError("the module lacks a target", help=_ADD_TARGET)
    backend_name(op)
    try:
        return architecture_named(text)
    except MinitritonError as error:
        raise IRError(f"ttg.target: {error.message}", help=f"{error.help}; {_ADD_TARGET}") from None


_ADD_TARGET = 'add the module attribute ttg.target = "cuda:90"'


def target_arch(op: Operation) -> int:
    """The compute capability times ten that the module is compiled for. Raises `IRError` if it says none."""
    text = target_text(op)
    number = (text or "").removeprefix("cuda:")
    if text is None or not text.startswith("cuda:") or not (number.isascii() and number.isdigit() and len(number) < 4):
        raise IRError("the module lacks a CUDA target", help=_ADD_TARGET)
    return int(number)
