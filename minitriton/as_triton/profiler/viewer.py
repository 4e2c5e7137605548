"""The tree of scopes and kernels with what was counted for each: its file (`.hatchet`, the JSON of LLNL's Hatchet), and its text.

tree, metrics = parse(["time/ms", "tflop16/s"], "matmul.hatchet")
print_tree(tree, metrics)        →    41.2  610.3  ROOT
                                      20.1  640.1  ├─ cublas [M=8192, N=8192, K=512]
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import SupportsFloat, TypedDict

from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import damage_of, parse_json, read_regular
from minitriton.host.whole_file import write_whole


@dataclass
class Node:
    """A scope or a kernel. `metrics` are its own, without those of its children: `time (ns)`, `count`, `flops16`, `bytes`, ..."""

    name: str
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    children: dict[str, Node] = field(default_factory=lambda: dict[str, Node]())

    def child(self, name: str) -> Node:
        """The child of that name; a new one if there is none."""
        return self.children.setdefault(name, Node(name))

    def add(self, metrics: Mapping[str, SupportsFloat]) -> None:
        """Adds numbers to the node's own."""
        for name, value in metrics.items():
            self.metrics[name] = self.metrics.get(name, 0.0) + float(value)

    def total(self, metric: str) -> float | None:
        """The metric of the node and of everything below it; None if nothing there has it."""
        parts = [self.metrics.get(metric), *(child.total(metric) for child in self.children.values())]
        known = [part for part in parts if part is not None]
        return sum(known) if known else None


def write(root: Node, path: Path, device: Mapping[str, object]) -> None:
    """The tree, then what it was measured on."""
    write_whole(path, json.dumps([_as_json(root), dict(device)], indent=1))


def read(path: Path) -> tuple[Node, dict[str, object]]:
    """What `write` wrote. Raises `MinitritonError` for a file that holds something else."""
    with damage_of(path, "proton.finalize() writes a profile"):
        root, device = parse_json(read_regular(path))
        return _from_json(root), device


class _Name(TypedDict):
    name: str
    type: str


class _Frame(TypedDict):
    """A node as Hatchet writes it."""

    frame: _Name
    metrics: dict[str, float]
    children: list[_Frame]


def _as_json(node: Node) -> _Frame:
    children = [_as_json(child) for child in node.children.values()]
    return {"frame": {"name": node.name, "type": "function"}, "metrics": node.metrics, "children": children}


def _from_json(data: _Frame) -> Node:
    children = {child["frame"]["name"]: _from_json(child) for child in data["children"]}
    return Node(data["frame"]["name"], dict(data["metrics"]), children)


_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SCALES = {"": 1.0, "g": 1e9, "t": 1e12}
_TIME = re.compile(r"(avg_)?(cpu_)?time/(s|ms|us|ns)")
_RATE = re.compile(r"([gt]?)(flop(?:8|16|32|64)?|byte)/s")


def parse(
    metrics: Sequence[str],
    filename: str,
    include: str | None = None,
    exclude: str | None = None,
    threshold: float | None = None,
) -> tuple[Node, list[str]]:
    """The tree of a file and the metrics to show, which it has all.

    Metrics are `time/ms` (s, ms, us, ns; `avg_time`, `cpu_time`), `tflop16/s` (g, t or nothing; 8, 16, 32, 64 or nothing), `gbyte/s`, `time/%`,
    and the names of what was counted (`count`, `bytes`, ...). Nodes are kept whose name matches `include` and not `exclude` (regular
    expressions), whose first metric is at least `threshold`, and what leads to them. Raises `MinitritonError` for a metric that is unknown
    or was not counted.
    """
    root, _ = read(Path(filename))
    for metric in metrics:
        if value_of(root, metric, root) is None:
            raise MinitritonError(f"{filename} lacks {metric}", help=f"it has {', '.join(sorted(_counted(root)))}")

    def keeps(node: Node) -> bool:
        value = value_of(node, metrics[0], root) or 0.0
        named = (not include or re.fullmatch(include, node.name)) and not (exclude and re.fullmatch(exclude, node.name))
        return bool(named) and (threshold is None or value >= threshold)

    if include or exclude or threshold is not None:
        root = Node(
            root.name, root.metrics, {c.name: c for child in root.children.values() for c in _kept(child, keeps)}
        )
    return root, list(metrics)


def value_of(node: Node, metric: str, root: Node) -> float | None:
    """A metric of a node and all below it, in its unit; None if nothing was counted. Raises `MinitritonError` for one that is unknown."""
    if found := _TIME.fullmatch(metric):
        average, cpu, unit = found.groups()
        time = node.total(f"{cpu or ''}time (ns)")
        runs = node.total("count") if average else 1.0
        return None if time is None or not runs else time * 1e-9 / _SECONDS[unit] / runs
    if found := _RATE.fullmatch(metric):
        scale, counted = found.groups()
        time, amount = node.total("time (ns)"), node.total(counted.replace("flop", "flops").replace("byte", "bytes"))
        return None if not time or amount is None else amount / (time * 1e-9) / _SCALES[scale]
    if metric.endswith("/%"):
        name = {"time": "time (ns)"}.get(metric[:-2], metric[:-2])
        part, whole = node.total(name), root.total(name)
        return None if part is None or not whole else 100.0 * part / whole
    if "/" in metric:
        raise MinitritonError(f"no metric is called {metric!r}", help="time/ms, tflop16/s, gbyte/s, time/%, count, ...")
    return node.total(metric)


def print_tree(
    tree: Node, metrics: Sequence[str], depth: int = 100, format: str | None = None, print_sorted: bool = False
) -> None:
    """Prints the tree, its metrics in front; with `print_sorted` also all nodes by the first metric. `format` changes nothing: names
    are those of scopes and kernels."""
    print("  ".join(f"{metric:>10}" for metric in metrics))
    for node, prefix in _lines(tree, "", "", depth):
        print("  ".join(_number(value_of(node, metric, tree)) for metric in metrics) + f"  {prefix}{node.name}")
    if print_sorted:
        nodes = [node for node, _ in _lines(tree, "", "", depth)][1:]
        print(f"Sorted kernels by metric {metrics[0]}")
        for node in sorted(nodes, key=lambda node: -(value_of(node, metrics[0], tree) or 0.0)):
            print(f"{node.name[:100]:105} {_number(value_of(node, metrics[0], tree)).strip()}")


def _number(value: float | None) -> str:
    return f"{'' if value is None else format(value, '.3f'):>10}"


def _counted(node: Node) -> set[str]:
    return set(node.metrics).union(*(_counted(child) for child in node.children.values()))


def _kept(node: Node, keeps: Callable[[Node], bool]) -> list[Node]:
    below = {c.name: c for child in node.children.values() for c in _kept(child, keeps)}
    return [Node(node.name, node.metrics, below)] if keeps(node) or below else []


def _lines(node: Node, prefix: str, below: str, depth: int) -> Iterator[tuple[Node, str]]:
    yield node, prefix
    children = list(node.children.values()) if depth else []
    for child in children:
        last = child is children[-1]
        yield from _lines(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), depth - 1)
