"""The frozen benchmark: kernels to learn from, and kernels to be judged by what was learnt.

Drawn once (2026-11-22) from the families `benchmark_*`, every second kernel of each family in alphabetical order; neither half changes
when the corpus grows. `minitriton sweep @train` and `@test` take them.
"""

from __future__ import annotations

TRAIN = (
    "bench_add", "bench_bias_relu", "bench_gelu", "bench_pairs", "bench_swiglu",
    "bench_attention", "bench_matmul", "bench_small_products",
    "bench_argmax", "bench_cross_entropy", "bench_layer_norm", "bench_quantize", "bench_row_sums",
)  # fmt: skip

TEST = (
    "bench_adam", "bench_embedding", "bench_hash", "bench_rotary", "bench_transpose",
    "bench_linear_relu", "bench_matrix_vector",
    "bench_column_sums", "bench_cumulative_sums", "bench_online_log_sum_exp", "bench_rms_norm", "bench_softmax", "bench_sort",
)  # fmt: skip

HALVES = {"train": TRAIN, "test": TEST, "benchmark": (*TRAIN, *TEST)}
