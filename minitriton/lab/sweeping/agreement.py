"""What order of passes the best configurations of many kernels agree on.

    agreed = agreed_order(table, "cycles")
    print(agreed.text())

Of each kernel the best configurations by a metric vote: for every two passes of a level, whether the one stands before the other. The order is by
Copeland's rule, the number of passes that one stands before in most configurations less that of those it stands after; `share` is how many of the
votes it follows. Passes that the best configurations lack more often than not are named apart.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field

from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.metrics import METRICS
from minitriton.lab.sweeping.space import is_fixed, segments
from minitriton.lab.sweeping.table import Table

BEST = 10
"""Configurations of each kernel that vote."""


@dataclass
class Agreement:
    """The order, level by level; by pass, the share of voting configurations that have it; and how many votes the order follows."""

    metric: str
    levels: list[list[str]] = field(default_factory=list[list[str]])
    presence: dict[str, float] = field(default_factory=dict[str, float])
    share: float = 1.0
    voters: int = 0

    def text(self) -> str:
        """A level a line, then what is left out more often than not."""
        lines = [
            f"by {self.metric}, {self.voters} configurations vote, {100 * self.share:.0f} % of their votes are followed"
        ]
        lines += ["  " + ", ".join(level) for level in self.levels if level]
        absent = [f"{name} ({100 * share:.0f} %)" for name, share in self.presence.items() if share < 0.5]
        return "\n".join([*lines, *(["left out more often than not: " + ", ".join(absent)] if absent else [])])


def agreed_order(table: Table, metric: str, best: int = BEST) -> Agreement:
    """The order that the `best` right configurations of each kernel by `metric` agree on. Raises `MinitritonError` if it was not measured."""
    table.best(metric)
    voters = [Configuration.parse(r.pipeline) for kernel in table.kernels() for r in _best(table, kernel, metric, best)]
    before: Counter[tuple[str, str]] = Counter()
    present: Counter[str] = Counter()
    level_of: dict[str, int] = {}
    for configuration in voters:
        for number, segment in enumerate(segments(configuration.pipeline.steps)):
            if any(map(is_fixed, segment)):
                continue
            names = list(dict.fromkeys(step.name for step in segment))
            for name in names:
                level_of.setdefault(name, number)
            present.update(names)
            before.update(itertools.combinations(names, 2))
    found = Agreement(metric, voters=len(voters))
    for number in sorted(set(level_of.values())):
        names = [name for name, level in level_of.items() if level == number]
        wins = {a: sum(_sign(before[a, b] - before[b, a]) for b in names) for a in names}
        found.levels.append(sorted(names, key=lambda name: -wins[name]))
    position = {name: i for i, name in enumerate(name for level in found.levels for name in level)}
    followed = sum(count for (a, b), count in before.items() if position[a] < position[b])
    found.share = followed / max(sum(before.values()), 1)
    found.presence = {name: present[name] / max(len(voters), 1) for name in position}
    return found


def _best(table: Table, kernel: str, metric: str, best: int) -> list[Evaluation]:
    sign = -1 if metric in METRICS and METRICS[metric].more_is_better else 1
    right = [r for r in table.records if r.kernel == kernel and r.result is Class.RIGHT and metric in r.all_metrics]
    return sorted(right, key=lambda r: (sign * r.all_metrics[metric], len(r.pipeline)))[:best]


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
