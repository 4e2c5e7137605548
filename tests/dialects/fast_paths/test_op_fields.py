"""The fields of ops as `op_definition` reads them are those that xDSL's own accessors give."""

from xdsl.irdl import IRDLOperation
from xdsl.irdl.operations import get_accessors_from_op_def

from minitriton.dialects import tt
from minitriton.dialects.text import parse_module

TEXT = """
tt.func @f(%p: !tt.ptr<f32>, %n: i32) {
  %range = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %ptrs = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %at = tt.addptr %ptrs, %range : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %bound = tt.splat %n : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %range, %bound : tensor<8xi32>
  %a = tt.load %at : tensor<8x!tt.ptr<f32>>
  %b = tt.load %at, %mask : tensor<8x!tt.ptr<f32>>
  %c = tt.load %at, %mask, %b cacheModifier = ca : tensor<8x!tt.ptr<f32>>
  tt.store %at, %c : tensor<8x!tt.ptr<f32>>
  tt.store %at, %c, %mask : tensor<8x!tt.ptr<f32>>
  %sum:2 = "tt.reduce"(%a, %b) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32):
    tt.reduce.return %x, %y : f32, f32
  }) : (tensor<8xf32>, tensor<8xf32>) -> (f32, f32)
  tt.return
}
"""


def test_every_field_is_what_xdsl_says_it_is():
    seen = 0
    for op in parse_module(TEXT).walk():
        if not isinstance(op, IRDLOperation) or not op.name.startswith(("tt.", "arith.")):
            continue
        definition = type(op).get_irdl_definition()
        for name, accessor in get_accessors_from_op_def(definition, None).items():
            if type(accessor).__name__.endswith("Accessor"):
                assert getattr(op, name) == accessor.__get__(op), (op.name, name)
                seen += 1
    assert seen > 60


def test_properties_are_written_through_their_fields():
    (load,) = [op for op in parse_module(TEXT).walk() if isinstance(op, tt.LoadOp) and op.other is not None]
    assert str(load.cache.data) == "ca"
    load.cache = tt.CacheModifierAttr.of("cg")
    assert str(load.cache.data) == "cg"
    reduce = next(op for op in parse_module(TEXT).walk() if isinstance(op, tt.ReduceOp))
    assert reduce.axis.value.data == 0
