"""The command line: `python -m causalviz COMMAND`."""

from causalviz.cli.main import main

__all__ = ["main"]
