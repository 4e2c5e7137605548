"""`python -m minitriton`: the command line."""

import sys

from minitriton.cli import main

sys.exit(main())
