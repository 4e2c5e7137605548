"""The `arith` dialect, on scalars and on tensors.

xDSL's own refuses tensors in comparisons, selections and casts; this one replaces it, with the same names. Constructors infer the
result type and are cheap: they do not go through IRDL.

This module is the dialect's front door: every op, attribute and helper of it can be had from here.
"""

from __future__ import annotations

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Dialect, Operation

from minitriton.dialects.arith.base import (
    FLOAT,
    INTEGER,
    NO_FASTMATH,
    ConstantOp,
    FastMathFlagsAttr,
    IntegerOverflowAttr,
    splat_attr,
)
from minitriton.dialects.arith.casts import (
    BitcastOp,
    ExtFOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    IndexCastOp,
    IndexCastUIOp,
    SIToFPOp,
    TruncFOp,
    TruncIOp,
    UIToFPOp,
)
from minitriton.dialects.arith.compare import CmpfOp, CmpiOp, SelectOp
from minitriton.dialects.arith.float import (
    AddfOp,
    DivfOp,
    MaximumfOp,
    MaxnumfOp,
    MinimumfOp,
    MinnumfOp,
    MulfOp,
    NegfOp,
    RemfOp,
    SubfOp,
)
from minitriton.dialects.arith.integer import (
    AddiOp,
    AddUIExtendedOp,
    AndIOp,
    CeilDivSIOp,
    CeilDivUIOp,
    DivSIOp,
    DivUIOp,
    FloorDivSIOp,
    MaxSIOp,
    MaxUIOp,
    MinSIOp,
    MinUIOp,
    MuliOp,
    MulSIExtendedOp,
    MulUIExtendedOp,
    OrIOp,
    RemSIOp,
    RemUIOp,
    ShLIOp,
    ShRSIOp,
    ShRUIOp,
    SubiOp,
    XOrIOp,
)
from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.narrowing import instance_of

__all__ = [
    "ARITH",
    "FLOAT",
    "INTEGER",
    "NO_FASTMATH",
    "AddUIExtendedOp",
    "AddfOp",
    "AddiOp",
    "AndIOp",
    "BitcastOp",
    "CeilDivSIOp",
    "CeilDivUIOp",
    "CmpfOp",
    "CmpiOp",
    "ConstantOp",
    "DivSIOp",
    "DivUIOp",
    "DivfOp",
    "ExtFOp",
    "ExtSIOp",
    "ExtUIOp",
    "FPToSIOp",
    "FPToUIOp",
    "FastMathFlagsAttr",
    "FloorDivSIOp",
    "IndexCastOp",
    "IndexCastUIOp",
    "IntegerOverflowAttr",
    "MaxSIOp",
    "MaxUIOp",
    "MaximumfOp",
    "MaxnumfOp",
    "MinSIOp",
    "MinUIOp",
    "MinimumfOp",
    "MinnumfOp",
    "MulSIExtendedOp",
    "MulUIExtendedOp",
    "MulfOp",
    "MuliOp",
    "NegfOp",
    "OrIOp",
    "RemSIOp",
    "RemUIOp",
    "RemfOp",
    "SIToFPOp",
    "SelectOp",
    "ShLIOp",
    "ShRSIOp",
    "ShRUIOp",
    "SubfOp",
    "SubiOp",
    "TruncFOp",
    "TruncIOp",
    "UIToFPOp",
    "XOrIOp",
    "splat_attr",
]


class _MaterializeConstant(ConstantMaterializationInterface):
    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation:
        assert instance_of(value, (IntegerAttr, FloatAttr, DenseIntOrFPElementsAttr))
        return ConstantOp(value)


ARITH = Dialect("arith", *declared("arith", globals()), [_MaterializeConstant()])
