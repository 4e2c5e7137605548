"""The tree of scopes and kernels with what was counted for each, and its text (`.hatchet`, the JSON of LLNL's Hatchet)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import SupportsFloat, TypedDict

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
