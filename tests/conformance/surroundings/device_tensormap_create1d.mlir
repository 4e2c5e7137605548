// The map, and where the tensor lies that it must name.
tt.func public @kernel(%base: !tt.ptr<i16>, %map: !tt.ptr<i8>, %size: i32, %where: !tt.ptr<i64>) {
  tt.call @device_tensormap_create1d(%base, %map, %size) : (!tt.ptr<i16>, !tt.ptr<i8>, i32) -> ()
  %address = tt.ptr_to_int %base : !tt.ptr<i16> -> i64
  tt.store %where, %address : !tt.ptr<i64>
  tt.return
}
