"""Makes the helpers of this folder importable, here and in the processes of a run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
