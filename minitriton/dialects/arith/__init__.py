"""The `arith` dialect, on scalars and on tensors.

xDSL's own refuses tensors in comparisons, selections and casts; this one replaces it, with the same names. Constructors infer the
result type and are cheap: they do not go through IRDL.

This module is the dialect's front door: every op, attribute and helper of it can be had from here.
"""

from __future__ import annotations

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Dialect, Operation

from minitriton.dialects.arith.base import FLOAT as FLOAT
from minitriton.dialects.arith.base import INTEGER as INTEGER
from minitriton.dialects.arith.base import NO_FASTMATH as NO_FASTMATH
from minitriton.dialects.arith.base import ConstantOp
from minitriton.dialects.arith.base import FastMathFlagsAttr as FastMathFlagsAttr
from minitriton.dialects.arith.base import IntegerOverflowAttr as IntegerOverflowAttr
from minitriton.dialects.arith.base import splat_attr as splat_attr
from minitriton.dialects.arith.casts import BitcastOp as BitcastOp
from minitriton.dialects.arith.casts import ExtFOp as ExtFOp
from minitriton.dialects.arith.casts import ExtSIOp as ExtSIOp
from minitriton.dialects.arith.casts import ExtUIOp as ExtUIOp
from minitriton.dialects.arith.casts import FPToSIOp as FPToSIOp
from minitriton.dialects.arith.casts import FPToUIOp as FPToUIOp
from minitriton.dialects.arith.casts import IndexCastOp as IndexCastOp
from minitriton.dialects.arith.casts import IndexCastUIOp as IndexCastUIOp
from minitriton.dialects.arith.casts import SIToFPOp as SIToFPOp
from minitriton.dialects.arith.casts import TruncFOp as TruncFOp
from minitriton.dialects.arith.casts import TruncIOp as TruncIOp
from minitriton.dialects.arith.casts import UIToFPOp as UIToFPOp
from minitriton.dialects.arith.compare import CmpfOp as CmpfOp
from minitriton.dialects.arith.compare import CmpiOp as CmpiOp
from minitriton.dialects.arith.compare import SelectOp as SelectOp
from minitriton.dialects.arith.float import AddfOp as AddfOp
from minitriton.dialects.arith.float import DivfOp as DivfOp
from minitriton.dialects.arith.float import MaximumfOp as MaximumfOp
from minitriton.dialects.arith.float import MaxnumfOp as MaxnumfOp
from minitriton.dialects.arith.float import MinimumfOp as MinimumfOp
from minitriton.dialects.arith.float import MinnumfOp as MinnumfOp
from minitriton.dialects.arith.float import MulfOp as MulfOp
from minitriton.dialects.arith.float import NegfOp as NegfOp
from minitriton.dialects.arith.float import RemfOp as RemfOp
from minitriton.dialects.arith.float import SubfOp as SubfOp
from minitriton.dialects.arith.integer import AddiOp as AddiOp
from minitriton.dialects.arith.integer import AddUIExtendedOp as AddUIExtendedOp
from minitriton.dialects.arith.integer import AndIOp as AndIOp
from minitriton.dialects.arith.integer import CeilDivSIOp as CeilDivSIOp
from minitriton.dialects.arith.integer import CeilDivUIOp as CeilDivUIOp
from minitriton.dialects.arith.integer import DivSIOp as DivSIOp
from minitriton.dialects.arith.integer import DivUIOp as DivUIOp
from minitriton.dialects.arith.integer import FloorDivSIOp as FloorDivSIOp
from minitriton.dialects.arith.integer import MaxSIOp as MaxSIOp
from minitriton.dialects.arith.integer import MaxUIOp as MaxUIOp
from minitriton.dialects.arith.integer import MinSIOp as MinSIOp
from minitriton.dialects.arith.integer import MinUIOp as MinUIOp
from minitriton.dialects.arith.integer import MuliOp as MuliOp
from minitriton.dialects.arith.integer import MulSIExtendedOp as MulSIExtendedOp
from minitriton.dialects.arith.integer import MulUIExtendedOp as MulUIExtendedOp
from minitriton.dialects.arith.integer import OrIOp as OrIOp
from minitriton.dialects.arith.integer import RemSIOp as RemSIOp
from minitriton.dialects.arith.integer import RemUIOp as RemUIOp
from minitriton.dialects.arith.integer import ShLIOp as ShLIOp
from minitriton.dialects.arith.integer import ShRSIOp as ShRSIOp
from minitriton.dialects.arith.integer import ShRUIOp as ShRUIOp
from minitriton.dialects.arith.integer import SubiOp as SubiOp
from minitriton.dialects.arith.integer import XOrIOp as XOrIOp
from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.narrowing import instance_of


class _MaterializeConstant(ConstantMaterializationInterface):
    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation:
        assert instance_of(value, (IntegerAttr, FloatAttr, DenseIntOrFPElementsAttr))
        return ConstantOp(value)


ARITH = Dialect("arith", *declared("arith", globals()), [_MaterializeConstant()])
