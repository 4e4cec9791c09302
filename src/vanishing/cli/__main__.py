"""``python -m vanishing.cli``."""

import sys

from .main import main

sys.exit(main())
