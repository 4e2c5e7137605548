"""`minitriton record [--out DIR] SCRIPT.py [ARGS...]`: runs a Triton program, and writes down what it passes to its kernels.

minitriton record --out recorded --cpu train.py --steps 1
minitriton explore --launch recorded/003-softmax           and so `run`, `check`, `explain`, `diff`
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton.commands.shared_options import count_from
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import Subcommands

if TYPE_CHECKING:
    from minitriton.lab.launches.recorder import Recorder

_MOST, _BYTES = 64, "64M"


def add_record_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    record = commands.add_parser("record", help="run a Triton program and write down the launches of its kernels")
    record.add_argument("--out", type=Path, default=Path("recorded"), metavar="DIR", help="(default: %(default)s)")
    record.add_argument("--kernel", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    record.add_argument(
        "--each",
        type=count_from(1),
        default=1,
        metavar="N",
        help="of launches that differ in the contents of arrays only (default: 1)",
    )
    record.add_argument(
        "--most", type=count_from(1), default=_MOST, metavar="N", help="launches in all (default: %(default)s)"
    )
    record.add_argument(
        "--bytes", default=_BYTES, metavar="SIZE",
        help="of the arrays of a launch; the contents of larger ones are left out and made up later (default: %(default)s)",
    )  # fmt: skip
    record.add_argument("--cpu", action="store_true", help="the program's CUDA devices are the CPU, without a GPU")
    record.add_argument("--json", action="store_true", help="machine-readable, after what the program prints")
    record.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as of `python -m`")
    record.add_argument("program", help="a Python program, for which `import triton` means minitriton")
    record.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own")
    record.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs the program. Its own exit code; 1 where it launched no kernel that could be written."""
    from minitriton import knobs
    from minitriton.as_triton import run_as_triton
    from minitriton.lab.launches.recorder import Recorder

    if not given.module and not Path(given.program).exists():
        raise MinitritonError(f"no such program: {given.program}", help="name a Python file, or a module after -m")
    most_bytes = knobs.env_size("--bytes").transform(given.bytes)
    recorder = Recorder(given.out, frozenset(given.kernel), given.each, given.most, most_bytes)
    code = 0
    command = [*(["--cpu"] if given.cpu else []), *(["-m"] if given.module else []), given.program, *given.arguments]
    try:
        with recorder:
            code = run_as_triton.main(command)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        _report(recorder, given)
    return code or int(not any(one.folder for one in recorder.recorded))


def _report(recorder: Recorder, given: argparse.Namespace) -> None:
    if given.json:
        launches = [{**asdict(one), "folder": one.folder and str(one.folder)} for one in recorder.recorded]
        print(json.dumps({"launches": recorder.launches, "recorded": launches}))
        return
    written = [one for one in recorder.recorded if one.folder is not None]
    print(f"{recorder.launches} launches, {len(written)} recorded in {given.out}", file=sys.stderr)
    for one in recorder.recorded:
        grid = "x".join(map(str, one.grid))
        if one.folder is None:
            print(f"  {one.kernel}, grid {grid}: not recorded: {one.why}", file=sys.stderr)
            continue
        left_out = f", without the contents of {', '.join(one.left_out)}" if one.left_out else ""
        print(f"  {one.folder}  grid {grid}, {one.bytes} bytes of arrays{left_out}", file=sys.stderr)
    if not written:
        from minitriton.lab.launches.recorder import NOTHING_RECORDED

        named = f" of {', '.join(given.kernel)}" if given.kernel else ""
        print(f"{NOTHING_RECORDED}: the program launched no kernel{named} that could be written", file=sys.stderr)
    if written:
        print(f"minitriton explore --launch {written[0].folder}", file=sys.stderr)
