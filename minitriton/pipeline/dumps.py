"""What the environment asks to be shown of a compile: the IR before each pass, the time of each, all stages in a folder, or what replays a stage.

MLIR_ENABLE_DUMP=1 (or =kernel_name)   the IR before each pass, on standard error or in the file MLIR_DUMP_PATH
MLIR_ENABLE_TIMING=1                   the time of each pass, on standard error, a table for each stage
TRITON_KERNEL_DUMP=1                   every stage, below TRITON_DUMP_DIR (default ~/.triton/dump)
TRITON_REPRODUCER_PATH=PREFIX          PREFIX.make_ttgir.repro.mlir: the IR before the stage and its passes; of a pass that
                                       fails, the IR before that pass
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import stem_of, write_whole
from minitriton.pipeline.pass_manager import Hook, Timings, representation_text
from minitriton.pipeline.pass_registry import Step


class _DumpBefore(Hook):
    """Prints the IR before each pass to standard error, or to the file `MLIR_DUMP_PATH`."""

    def before(self, step: Step, value: object) -> None:
        text = f"// -----// IR Dump Before {step.name} //----- //\n{representation_text(value)}\n"
        path = knobs.compilation.dump_passes_path
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
        else:
            print(text, file=sys.stderr)


class _PrintedTimings(Timings):
    """Prints how long the passes of a stage took, once it is done."""

    def at_end(self) -> None:
        print(f"// -----// Execution time of passes //----- //\n{self.table()}", file=sys.stderr)
        self.seconds.clear()


def environment_hooks(name: str) -> list[Hook]:
    """What prints the IR before each pass, or the time of each; a cached kernel is then compiled again."""
    wanted = knobs.compilation.dump_passes
    dumps: list[Hook] = [_DumpBefore()] if wanted == "1" or wanted == name else []
    return [*dumps, _PrintedTimings()] if knobs.compilation.time_passes else dumps


def reproducer_path(stage: str) -> Path | None:
    """Where the reproducer of a stage of modules is wanted, or None."""
    prefix = knobs.compilation.reproducer_path
    return Path(f"{prefix}.make_{stage}.repro.mlir") if prefix and stage != "ptx" else None


def dump_stages(name: str, source_hash: str, asm: dict[str, str | bytes]) -> None:
    """`TRITON_KERNEL_DUMP=1`: writes every stage below `TRITON_DUMP_DIR` (default `~/.triton/dump`), in a folder that stays
    the same for the same source; the disassembly too where there is a cubin and a disassembler."""
    folder = Path(knobs.cache.dump_dir) / source_hash
    folder.mkdir(parents=True, exist_ok=True)
    if "cubin" in asm:
        with contextlib.suppress(MinitritonError):
            asm["sass"]
    for stage, content in asm.items():
        write_whole(folder / f"{stem_of(name)}.{stage}", content)
