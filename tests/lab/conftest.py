"""The fixture of the plugin, loaded here too where minitriton is installed without its entry points."""

import sys
from pathlib import Path

from minitriton.lab.pytest_plugin import minitriton_check

sys.path.insert(0, str(Path(__file__).parent))

__all__ = ["minitriton_check"]
