"""The `arith` dialect, on scalars and on tensors.

xDSL's own refuses tensors in comparisons, selections and casts; this one replaces it, with the same names. Constructors infer the
result type and are cheap: they do not go through IRDL.

This module is the dialect's front door: every op, attribute and helper of it can be had from here.
"""

from __future__ import annotations

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowFlag
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Dialect, Operation

from minitriton.dialects import arith_casts, arith_compare, arith_float, arith_integer
from minitriton.dialects.arith_base import (
    ANY,
    BOOL,
    CMPF_PREDICATES,
    CMPI_PREDICATES,
    FLOAT,
    INTEGER,
    NO_FASTMATH,
    NO_OVERFLOW_FLAGS,
    NSW,
    NUW,
    ConstantOp,
    IntegerOverflowAttr,
    bool_like,
    splat_attr,
)
from minitriton.dialects.arith_casts import (
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
from minitriton.dialects.arith_compare import CmpfOp, CmpiOp, SelectOp
from minitriton.dialects.arith_float import (
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
from minitriton.dialects.arith_integer import (
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

__all__ = [
    "ANY",
    "ARITH",
    "BOOL",
    "CMPF_PREDICATES",
    "CMPI_PREDICATES",
    "FLOAT",
    "INTEGER",
    "NO_FASTMATH",
    "NO_OVERFLOW_FLAGS",
    "NSW",
    "NUW",
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
    "IntegerOverflowFlag",
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
    "bool_like",
    "splat_attr",
]


class _MaterializeConstant(ConstantMaterializationInterface):
    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation:
        assert isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr)
        return ConstantOp(value)


FAMILIES = (arith_integer, arith_float, arith_compare, arith_casts)

ARITH = Dialect(
    "arith",
    [ConstantOp, *(op for family in FAMILIES for op in family.OPS)],
    [FastMathFlagsAttr, IntegerOverflowAttr],
    [_MaterializeConstant()],
)
