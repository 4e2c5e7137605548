// Nobody arrives.
#barrier = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func public @kernel(%pred: i1, %arrived: !tt.ptr<i32>) {
  %never = arith.constant false
  %c0 = arith.constant 0 : i32
  %c77 = arith.constant 77 : i32
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  ttng.init_barrier %bar, 2 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  %seen = ttg.memdesc_reinterpret %bar : !ttg.memdesc<1xi64, #barrier, #smem, mutable> -> !ttg.memdesc<1xi64, #barrier, #smem>
  tt.call @arrive_barrier_pred(%seen, %never) : (!ttg.memdesc<1xi64, #barrier, #smem>, i1) -> ()
  ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  tt.store %arrived, %c77 : !tt.ptr<i32>
  tt.return
}
