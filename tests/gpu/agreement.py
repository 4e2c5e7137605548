"""How closely a kernel's results on the emulator and on the GPU must agree: bit for bit, unless it uses approximate
instructions. Those kernels are named here, with the instructions and how far these may take a result.

In: a kernel's name, its PTX, both results. Out: nothing, or an `AssertionError`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from approximations import bound_of

ULP = 2.0**-23


@dataclass(frozen=True)
class Tolerance:
    """`instructions` (without `.ftz`) may move a result by `ulps` float32 ulps of its own value, or of the `largest` value of
    its array where differences of the approximated values are stored."""

    instructions: tuple[str, ...]
    ulps: int
    of_largest: bool = False


_DIVIDE, _EXP, _ROOT, _INVERSE_ROOT = "div.full.f32", "ex2.approx.f32", "sqrt.approx.f32", "rsqrt.approx.f32"
TOLERANCES: dict[str, Tolerance] = {
    "softmax": Tolerance((_DIVIDE, _EXP), 8),
    "softmax_of_clusters": Tolerance((_DIVIDE, _EXP), 8),
    "layer_norm": Tolerance((_DIVIDE, _ROOT), 8, of_largest=True),
    "rms_norm": Tolerance((_DIVIDE, _INVERSE_ROOT), 6),
    "dropout": Tolerance((_DIVIDE,), 3),
    "exponentials": Tolerance((_EXP,), 4),
    "square_roots": Tolerance((_ROOT, _INVERSE_ROOT), 3),
    "divisions": Tolerance((_DIVIDE,), 3),
    "sigmoid_and_silu": Tolerance((_DIVIDE, _EXP), 6),
    "cross_entropy": Tolerance((_DIVIDE, _EXP), 8, of_largest=True),
    "layer_norm_backward": Tolerance((_DIVIDE, _ROOT), 16, of_largest=True),
    "swiglu": Tolerance((_DIVIDE, _EXP), 6),
    "adam_step": Tolerance((_DIVIDE, _ROOT), 8, of_largest=True),
    "online_log_sum_exp": Tolerance((_EXP,), 6, of_largest=True),
    "group_norm": Tolerance((_DIVIDE, _INVERSE_ROOT), 8, of_largest=True),
    "exact_attention": Tolerance((_DIVIDE, _EXP), 12, of_largest=True),
    "statistics": Tolerance((_DIVIDE, _ROOT), 6, of_largest=True),
    "seeded_dropout": Tolerance((_DIVIDE,), 3),
    "welford": Tolerance((_DIVIDE,), 8, of_largest=True),
    "log_sum_exp": Tolerance((_EXP,), 6, of_largest=True),
    "distance": Tolerance((_ROOT,), 2),
    "centred_columns": Tolerance((_DIVIDE,), 6, of_largest=True),
    "gated_linear_attention": Tolerance((_EXP,), 6, of_largest=True),
    "retention_by_chunks": Tolerance((_EXP,), 8, of_largest=True),
    "paged_decoding": Tolerance((_DIVIDE, _EXP), 8, of_largest=True),
    "merge_of_splits": Tolerance((_DIVIDE, _EXP), 12, of_largest=True),
    "attention_in_a_window": Tolerance((_DIVIDE, _EXP), 8, of_largest=True),
    "ragged_attention": Tolerance((_DIVIDE, _EXP), 12, of_largest=True),
    "weighted_keys_and_values": Tolerance((_DIVIDE, _EXP), 10, of_largest=True),
    "selective_scan": Tolerance((_EXP,), 8, of_largest=True),
    "kl_divergence": Tolerance((_EXP,), 12, of_largest=True),
    "geglu": Tolerance((_DIVIDE, _EXP), 8, of_largest=True),
    "rms_norm_backward": Tolerance((_DIVIDE, _INVERSE_ROOT), 6, of_largest=True),
    "add_and_norm": Tolerance((_DIVIDE, _INVERSE_ROOT), 2, of_largest=True),
    "smoothed_cross_entropy": Tolerance((_DIVIDE, _EXP), 6, of_largest=True),
    "causal_convolution": Tolerance((_DIVIDE, _EXP), 8, of_largest=True),
    "batch_norm": Tolerance((_DIVIDE, _INVERSE_ROOT), 8, of_largest=True),
    "triplet_loss": Tolerance((_ROOT,), 16, of_largest=True),
    "mean_over_lengths": Tolerance((_DIVIDE,), 6, of_largest=True),
    "gated_group_norm": Tolerance((_DIVIDE, _EXP, _INVERSE_ROOT), 8, of_largest=True),
    "held_softplus": Tolerance((_EXP,), 8, of_largest=True),
    "held_normalise": Tolerance((_DIVIDE, _ROOT), 8, of_largest=True),
    "two_best_experts": Tolerance((_DIVIDE, _EXP), 12, of_largest=True),
    "nucleus_of_samples": Tolerance((_DIVIDE, _EXP), 6),
    "greedy_choice": Tolerance((_DIVIDE,), 6),
    "bench_gelu": Tolerance((_DIVIDE, _EXP), 8, of_largest=True),
    "bench_swiglu": Tolerance((_DIVIDE, _EXP), 6),
    "bench_adam": Tolerance((_DIVIDE, _ROOT), 8, of_largest=True),
    "bench_attention": Tolerance((_DIVIDE, _EXP), 1024, of_largest=True),  # Probabilities are rounded for the product.
    "bench_softmax": Tolerance((_DIVIDE, _EXP), 8),
    "bench_layer_norm": Tolerance((_DIVIDE, _ROOT), 8, of_largest=True),
    "bench_rms_norm": Tolerance((_DIVIDE, _ROOT), 6),
    "bench_online_log_sum_exp": Tolerance((_EXP,), 6, of_largest=True),
    "bench_cross_entropy": Tolerance((_EXP,), 8, of_largest=True),
    "bench_quantize": Tolerance((_DIVIDE,), 3),
}
"""Parity kernels that use approximate instructions."""

ANY_ORDER = {"column_sums", "scatter_add_floats", "embedding_gradient"}
"""Kernels whose float atomics add in an order that the hardware does not fix: compared within the case's tolerance."""


def approximate_instructions(ptx: str) -> set[str]:
    """The approximate instructions of a PTX text, without `.ftz`."""
    opcodes = set(re.findall(r"\b(?:div|rcp|sqrt|rsqrt|sin|cos|lg2|ex2|tanh)\.[\w.]+", ptx))
    return {o.replace(".ftz", "") for o in opcodes if bound_of(o) is not None}


def assert_agree(name: str, ptx: str, emulated: np.ndarray, device: np.ndarray, tolerance: float) -> None:
    """Raises `AssertionError` where the emulator's result is not the GPU's. `tolerance` is for kernels of `ANY_ORDER`."""
    used = approximate_instructions(ptx)
    allowed = TOLERANCES.get(name)
    assert used <= set(allowed.instructions if allowed else ()), f"{name} uses {sorted(used)}, which no tolerance names"
    if name in ANY_ORDER:
        np.testing.assert_allclose(emulated, device, rtol=tolerance, atol=tolerance)
    elif not used or emulated.dtype.kind != "f" or allowed is None:
        words = f"u{emulated.dtype.itemsize}"
        np.testing.assert_array_equal(emulated.view(words), device.view(words))
    else:
        wide = device.astype(np.float64)
        finite = np.isfinite(wide)
        np.testing.assert_array_equal(emulated[~finite], device[~finite])
        scale = np.abs(wide[finite]).max(initial=0.0) if allowed.of_largest else np.abs(wide[finite])
        error = np.abs(emulated.astype(np.float64)[finite] - wide[finite])
        step = max(ULP, float(np.finfo(emulated.dtype).eps))
        limit = allowed.ulps * step * scale + 2.0**-149
        worst = float((error / limit).max(initial=0.0))
        assert worst <= 1, f"{name}: {worst * allowed.ulps:.1f} ulps, {allowed.ulps} are allowed"
