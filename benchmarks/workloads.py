"""Everything that is judged: at sizes far beyond the L2 cache for a GPU, and the same kernels and tiles at sizes for an emulator."""

from __future__ import annotations

import workloads_elements as elements
import workloads_indices as indices
import workloads_rows as rows
from workload import Workload


def workloads() -> list[Workload]:
    """Sizes for a GPU."""
    found = [
        rows.vector_add(1 << 27),
        rows.softmax(16384, 4096),
        rows.softmax(65536, 1024),
        rows.layer_norm(16384, 8192),
        rows.layer_norm(65536, 1024),
        rows.rms_norm(16384, 8192),
        rows.column_sums(16384, 16384),
        rows.transpose(16384, 16384),
    ]
    shapes = {"tall": (262144, 1024), "square": (16384, 16384), "wide": (1024, 262144)}
    for kind in ("sum", "max"):
        for length, width in shapes.values():
            tile, warps = ((1, 4096), 8) if width > 4096 else ((4, 1024), 4)
            found.append(rows.reduction(kind, 1, length, width, tile, warps))
            found.append(rows.reduction(kind, 0, length, width, (128, 64) if width <= 16384 else (64, 128)))
    return [
        *found,
        elements.layer_norm_backward(16384, 4096),
        elements.layer_norm_backward(65536, 1024),
        elements.cumulative_sum(65536, 2048),
        elements.cumulative_sum(4096, 32768),
        elements.sort_rows(262144, 256),
        elements.top_k(262144, 256, 8),
        elements.histogram(1 << 27, 256),
        elements.embedding(65536, 2048),
        elements.gather_columns(65536, 1024),
        elements.seeded_dropout(1 << 28),
        elements.cross_entropy(16384, 32768),
        elements.rotary("halves", 16384, 32, 128),
        elements.rotary("pairs", 16384, 32, 128),
        elements.permute_cab(512, 512, 512),
        elements.permute_bac(1024, 2048, 64),
        elements.quantize_rows(32768, 4096),
        elements.dequantize_rows(32768, 4096),
        elements.cast("f16", "e4m3", 1 << 28),
        elements.cast("e4m3", "f16", 1 << 28),
        elements.cast("f32", "e5m2", 1 << 28),
        elements.untile(16384, 16384),
        rows.vector_add((1 << 27) - 3),
        elements.cast("f16", "e4m3", (1 << 28) - 3),
        indices.take_flat(1 << 26, 8192, 6000),
        indices.copy_by_groups(16384, 16384),
        indices.repeat_rows(1 << 16, 16, 60),
    ]


def small_workloads() -> list[Workload]:
    """Sizes for an emulator: few programs, the same tiles."""
    return [
        rows.vector_add(4096),
        rows.softmax(4, 1024),
        rows.layer_norm(4, 1024),
        rows.rms_norm(2, 8192),
        rows.column_sums(1024, 256),
        rows.transpose(128, 64),
        rows.reduction("sum", 1, 8, 4096, (4, 1024)),
        rows.reduction("max", 0, 512, 128, (128, 64)),
        elements.layer_norm_backward(8, 1024, 4),
        elements.cumulative_sum(2, 4096),
        elements.sort_rows(8, 256),
        elements.top_k(8, 256, 8),
        elements.histogram(16384, 256),
        elements.embedding(8, 2048),
        elements.gather_columns(4, 1024),
        elements.seeded_dropout(4096),
        elements.cross_entropy(2, 8192),
        elements.rotary("halves", 2, 32, 128),
        elements.rotary("pairs", 2, 32, 128),
        elements.permute_cab(4, 64, 64),
        elements.permute_bac(4, 32, 64),
        elements.quantize_rows(2, 4096),
        elements.dequantize_rows(2, 4096),
        elements.cast("f16", "e4m3", 8192),
        elements.cast("e4m3", "f16", 8192),
        elements.cast("f32", "e5m2", 8192),
        elements.untile(16, 2048),
        rows.vector_add(4093),
        elements.cast("f16", "e4m3", 8189),
        indices.take_flat(4096, 32, 60),
        indices.copy_by_groups(128, 512),
        indices.repeat_rows(64, 16, 3),
    ]
