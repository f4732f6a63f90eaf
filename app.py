"""Start the web app: `python app.py` is `python -m causalviz serve`."""

import sys

from causalviz.cli import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
