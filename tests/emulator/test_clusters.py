"""Clusters: ranks, addresses in each other's shared memory, the cluster barrier, copies between CTAs."""

from collections.abc import Callable

import numpy as np
import pytest

from minitriton import emulator

Run = Callable[..., emulator.Report]


def test_ids_of_clusters_and_of_ctas_within_them(emulate: Run) -> None:
    out = np.zeros((6, 4), np.uint32)
    body = """
    mov.u32 %r1, %clusterid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %nclusterid.x; mov.u32 %r4, %cluster_nctarank;
    mul.wide.u32 %rd1, %r101, 16; add.s64 %rd2, %rd100, %rd1;
    setp.eq.u32 %p1, %r100, 0; @%p1 st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r4};"""
    assert emulate(body, out, grid=(6,), cluster=2).ok
    np.testing.assert_array_equal(out, [[c // 2, c % 2, 3, 2] for c in range(6)])


def test_a_cluster_of_rows_is_grouped_by_its_place_in_the_grid() -> None:
    text = """
    .version 8.7
    .target sm_90a
    .address_size 64
    .visible .entry k(.param .u64 p0)
    .reqntid 32
    .reqnctapercluster 1, 2
    {
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mad.lo.s32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %clusterid.y; mad.lo.s32 %r7, %r6, 10, %r5;
    st.global.b32 [%rd3], %r7;
    ret;
    }"""
    out = np.zeros((4, 3), np.uint32)
    emulator.run(text, "k", (3, 4), [out])
    np.testing.assert_array_equal(out, np.repeat([[0], [1], [10], [11]], 3, axis=1))


def test_a_grid_that_no_clusters_fill_is_refused(emulate: Run) -> None:
    with pytest.raises(emulator.EmulationError, match="not a multiple of the cluster"):
        emulate("", np.zeros(1, np.uint32), grid=(3,), cluster=2)


NEIGHBOUR = """
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
    mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2;
    mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1; mapa.shared::cluster.u32 %r6, %r3, %r5;
    mad.lo.s32 %r7, %r101, 100, %r100;
    st.shared::cluster.b32 [%r6], %r7;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    ld.shared.b32 %r8, [%r3];
    mul.wide.u32 %rd1, %r101, 128; add.s64 %rd2, %rd91, %rd1; st.global.b32 [%rd2], %r8;"""


def run_neighbour(emulate: Run, body: str) -> tuple[np.ndarray, emulator.Report]:
    out = np.zeros((4, 32), np.uint32)
    return out, emulate(body, out, grid=(4,), cluster=2, shared=128)


def test_a_cta_writes_its_neighbour_s_shared_memory(emulate: Run) -> None:
    out, report = run_neighbour(emulate, NEIGHBOUR)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, 100 * (np.arange(4)[:, None] ^ 1) + np.arange(32))


FAULTS = {
    "no cluster barrier": ("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", "", "shared-race"),
    "a barrier of the CTA only": (
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", "bar.sync 0;", "shared-race",
    ),
    "an arrival that publishes nothing": ("arrive.aligned", "arrive.relaxed.aligned", "shared-race"),
    "nobody arrives": ("barrier.cluster.arrive.aligned;", "", "deadlock"),
    "no barrier before": ("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", "", "cta-lifetime"),
    "a CTA that does not wait": (
        "barrier.cluster.arrive.aligned;", "barrier.cluster.arrive.aligned; setp.eq.u32 %p1, %r4, 0; @%p1 ret;", "cta-lifetime",
    ),
    "the memory of a CTA that is not in the cluster": (
        "mapa.shared::cluster.u32 %r6, %r3, %r5;", "mapa.shared::cluster.u32 %r6, %r3, 5;", "out-of-bounds",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_between_ctas_is_found(fault: str, emulate: Run) -> None:
    old, new, kind = FAULTS[fault]
    assert old in NEIGHBOUR
    _, report = run_neighbour(emulate, NEIGHBOUR.replace(old, new))
    assert kind in {f.kind for f in report.findings}


def test_threads_that_have_ended_hold_up_no_cluster_barrier(emulate: Run) -> None:
    body = "setp.lt.u32 %p1, %r100, 32; @%p1 ret; barrier.cluster.arrive; barrier.cluster.wait;"
    assert emulate(body, np.zeros(1, np.uint32), threads=64, grid=(2,), cluster=2).ok


def test_the_rank_in_an_address_can_be_read_back(emulate: Run) -> None:
    out = np.zeros((2, 32), np.uint32)
    body = """
    mov.b32 %r1, buffer; mapa.shared::cluster.u32 %r2, %r1, 1; getctarank.shared::cluster.u32 %r3, %r2;
    getctarank.shared::cluster.u32 %r4, %r1; mad.lo.s32 %r5, %r3, 10, %r4;
    mul.wide.u32 %rd1, %r101, 128; add.s64 %rd2, %rd91, %rd1; st.global.b32 [%rd2], %r5;"""
    assert emulate(body, out, grid=(2,), cluster=2, shared=128).ok
    np.testing.assert_array_equal(out, np.repeat([[10], [11]], 32, axis=1))


MULTICAST = """
    mov.b32 %r1, buffer; add.s32 %r2, %r1, 1024;
    setp.eq.u32 %p1, %r100, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
    barrier.cluster.arrive; barrier.cluster.wait;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 128;
    mov.u32 %r3, %cluster_ctarank; setp.eq.u32 %p2, %r3, 0; and.pred %p3, %p1, %p2;
    mov.b16 %rs1, 3;
    @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd100], 128, [%r2], %rs1;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0; @!%p4 bra WAIT;
    shl.b32 %r4, %r100, 2; add.s32 %r5, %r1, %r4; ld.shared.b32 %r6, [%r5]; add.s32 %r6, %r6, %r3;
    mul.wide.u32 %rd1, %r101, 128; add.s64 %rd2, %rd92, %rd1; st.global.b32 [%rd2], %r6;
    barrier.cluster.arrive; barrier.cluster.wait;"""


def test_a_multicast_copy_arrives_in_every_cta_that_its_mask_names(emulate: Run) -> None:
    source, out = np.arange(32, dtype=np.uint32), np.zeros((2, 32), np.uint32)
    report = emulate(MULTICAST, source, out, grid=(2,), cluster=2, shared=1032)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, [source, source + 1])


def test_a_multicast_copy_that_leaves_a_cta_out_leaves_it_waiting(emulate: Run) -> None:
    source, out = np.arange(32, dtype=np.uint32), np.zeros((2, 32), np.uint32)
    report = emulate(MULTICAST.replace("%rs1, 3", "%rs1, 1"), source, out, grid=(2,), cluster=2, shared=1032)
    assert {f.kind for f in report.findings} == {"deadlock"}
