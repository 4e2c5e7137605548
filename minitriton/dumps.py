"""What the environment asks to be shown of a compile: the IR before each pass, or all stages in a folder.

MLIR_ENABLE_DUMP=1 (or =kernel_name)   the IR before each pass, on standard error or in the file MLIR_DUMP_PATH
TRITON_KERNEL_DUMP=1                   every stage, below TRITON_DUMP_DIR (default ~/.triton/dump)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from minitriton import knobs
from minitriton.pass_manager import Hook, representation_text
from minitriton.pass_registry import Step


def is_set(variable: str) -> bool:
    """Whether an environment variable is set to something other than 0."""
    return os.environ.get(variable, "0") not in ("", "0")


class _DumpBefore(Hook):
    """Prints the IR before each pass to standard error, or to the file `MLIR_DUMP_PATH`."""

    def before(self, step: Step, value: Any) -> None:
        text = f"// -----// IR Dump Before {step.name} //----- //\n{representation_text(value)}\n"
        path = os.environ.get("MLIR_DUMP_PATH")
        if path:
            with open(path, "a") as file:
                file.write(text)
        else:
            print(text, file=sys.stderr)


def environment_hooks(name: str) -> list[Hook]:
    """`MLIR_ENABLE_DUMP=1` (or `=kernel_name`) dumps the IR before each pass; a cached kernel is then compiled again."""
    wanted = os.environ.get("MLIR_ENABLE_DUMP", "0")
    return [_DumpBefore()] if wanted == "1" or wanted == name else []


def dump_stages(name: str, key: str, asm: dict[str, Any]) -> None:
    """`TRITON_KERNEL_DUMP=1`: writes every stage below `TRITON_DUMP_DIR` (default `~/.triton/dump`)."""
    root = Path(knobs.cache.dump_dir)
    folder = root / key
    folder.mkdir(parents=True, exist_ok=True)
    for stage, content in asm.items():
        (folder / f"{name}.{stage}").write_bytes(content if isinstance(content, bytes) else content.encode())
