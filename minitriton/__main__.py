"""`python -m minitriton`, and where the commands `minitriton` and `minitriton-opt` begin: Ctrl-C while they are imported ends them as later."""

import importlib
import sys


def main() -> int:
    """`minitriton`."""
    return _run("minitriton.commands.cli")


def opt() -> int:
    """`minitriton-opt`."""
    return _run("minitriton.commands.opt")


def _run(module: str) -> int:
    try:
        return importlib.import_module(module).main()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
