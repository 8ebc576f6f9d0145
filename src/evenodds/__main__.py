"""`python -m evenodds` is `evenodds`."""

import sys

from evenodds.cli import main

sys.exit(main())
