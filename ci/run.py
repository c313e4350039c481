"""`python3 run.py report|approved …`: see docs/ci.md. A script, so that no folder but its own is searched for modules."""

import sys

from sindplan_ci.main import main

sys.exit(main(sys.argv[1:]))
