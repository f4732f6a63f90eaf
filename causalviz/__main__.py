"""Run the command line."""

import sys

from causalviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
