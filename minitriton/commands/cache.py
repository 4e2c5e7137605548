"""`minitriton cache`: where compiled kernels are kept, how much they take, and taking them away.

minitriton cache path       /home/me/.cache/minitriton
minitriton cache size       412 kernels, 103.4 MiB of 2.0 GiB
minitriton cache clear
"""

from __future__ import annotations

import argparse

from minitriton import knobs
from minitriton.commands.shared_options import add_json, print_json
from minitriton.host.subcommands import Subcommands


def add_cache_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    cache = commands.add_parser(
        "cache", help="the compiled kernels on disk: their folder, their size, taking them away"
    )
    cache.add_argument("action", choices=("path", "size", "clear"), help="print the folder, print the size, remove all")
    add_json(cache)
    cache.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Does it. 0; 1 where entries remain that cannot be removed."""
    from minitriton.runtime.cache import cache_directory
    from minitriton.runtime.caches.eviction import clear, entries_of

    root = cache_directory()
    if given.action == "path":
        print_json({"path": root}) if given.json else print(root)
        return 0
    if given.action == "size":
        entries = entries_of(root)
        if given.json:
            size = sum(entry.size for entry in entries)
            print_json({"path": root, "kernels": len(entries), "bytes": size, "limit": knobs.cache.size or None})
            return 0
        limit = _bytes(knobs.cache.size) if knobs.cache.size else "no limit"
        print(f"{len(entries)} kernels, {_bytes(sum(entry.size for entry in entries))} of {limit}")
        return 0
    removed = clear(root)
    print_json({"path": root, "removed": removed}) if given.json else print(f"{removed} kernels removed from {root}")
    return 1 if entries_of(root) else 0


def _bytes(number: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
