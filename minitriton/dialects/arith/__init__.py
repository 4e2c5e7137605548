"""The `arith` dialect, on scalars and on tensors.

xDSL's own refuses tensors in comparisons, selections and casts; this one replaces it, with the same names. Constructors infer the
result type and are cheap: they do not go through IRDL.

This module is the dialect's front door: what its modules define can be had from here.
"""

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Dialect, Operation

from minitriton.dialects.arith.base import *
from minitriton.dialects.arith.base import ConstantOp
from minitriton.dialects.arith.casts import *
from minitriton.dialects.arith.compare import *
from minitriton.dialects.arith.float import *
from minitriton.dialects.arith.integer import *
from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.narrowing import instance_of


class _MaterializeConstant(ConstantMaterializationInterface):
    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation:
        assert instance_of(value, (IntegerAttr, FloatAttr, DenseIntOrFPElementsAttr))
        return ConstantOp(value)


ARITH = Dialect("arith", *declared("arith", globals()), [_MaterializeConstant()])
