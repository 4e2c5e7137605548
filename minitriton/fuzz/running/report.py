"""The account of a run: on the screen, and as JSON for the record."""

from __future__ import annotations

from minitriton.fuzz.running.campaign import Summary


def as_json(summary: Summary) -> dict[str, object]:
    """Plain values."""
    return {
        "seed": summary.seed,
        "count": summary.count,
        "oracles": list(summary.oracles),
        "seconds": round(summary.seconds, 1),
        "cpu_seconds_a_kernel": round(summary.cpu_seconds / max(summary.count, 1), 4),
        "pairs": {
            f"{a} = {b}": {"compared": n, "agreeing": summary.agreeing[(a, b)]}
            for (a, b), n in summary.compared.items()
        },
        "known_differences": {name: sorted(numbers) for name, numbers in summary.known.items()},
        "findings": [
            {"kind": f.kind, "signature": f.signature, "kernels": sorted(numbers), "text": f.text}
            for f, numbers in summary.findings.items()
        ],
        "features": dict(sorted(summary.features.items())),
    }


def as_text(summary: Summary) -> str:
    """Tables."""
    each = 1000 * summary.cpu_seconds / max(summary.count, 1)
    lines = [
        f"{summary.count} kernels of seed {summary.seed} by {', '.join(summary.oracles)}: {summary.seconds:.0f} s, {each:.0f} ms of CPU a kernel",
        "",
        f"{'pair':32} {'compared':>9} {'agreeing':>9}",
    ]
    lines += [f"{f'{a} = {b}':32} {n:9} {summary.agreeing[(a, b)]:9}" for (a, b), n in summary.compared.items()]
    lines += ["", "kernels with:"]
    counts = sorted(summary.features.items(), key=lambda item: (-item[1], item[0]))
    columns = [f"{name} {n}" for name, n in counts]
    for start in range(0, len(columns), 6):
        lines.append("  " + " · ".join(columns[start : start + 6]))
    if summary.known:
        lines += ["", "known differences from Triton (docs/differences-from-triton.md):"]
        lines += [f"  {len(n):6}  {name}: kernels {_some(n)}" for name, n in sorted(summary.known.items())]
    lines += ["", f"findings: {len(summary.findings)}"]
    for finding, numbers in sorted(summary.findings.items(), key=lambda item: -len(item[1])):
        lines += [f"  {len(numbers):6}  {finding.kind}: {finding.signature}: kernels {_some(numbers)}"]
        lines += [f"            {line}" for line in finding.text.splitlines()[:8]]
    return "\n".join(lines)


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:8]))
    return f"{shown}, ..." if len(numbers) > 8 else shown
