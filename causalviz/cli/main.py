"""Arguments in, exit code out: 0 done, 1 a named error, 2 wrong usage."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import get_args

from causalviz.errors import CausalvizError
from causalviz.records import EmptyB, Method, Mode, Unit


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every named error is one line on stderr."""
    options = parser().parse_args(arguments)
    # A command's module is imported only when it is asked for: `--help` needs no encoder and no web framework.
    command = import_module(f"causalviz.cli.{options.command}")
    try:
        command.run(options)
    except CausalvizError as error:
        sys.stderr.write(f"causalviz: {' '.join(str(error).split())}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("causalviz: stopped; what was finished is kept, run the same command to go on.\n")
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Build the parser; its names and defaults are a stable interface."""
    root = argparse.ArgumentParser(
        prog="causalviz", description="See, question and tune why a retriever ranks what it ranks."
    )
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")

    index = commands.add_parser("index", help="read a folder of documents into a knowledge base")
    index.add_argument("folder", type=Path, metavar="FOLDER")
    index.add_argument(
        "--kb", type=Path, required=True, metavar="OUT", help="the knowledge base file to make or update"
    )
    _common(index)

    rank = commands.add_parser("rank", help="rank documents for a question, by similarity and re-ranked")
    rank.add_argument("query", metavar="QUERY")
    rank.add_argument(
        "--kb",
        type=Path,
        required=True,
        metavar="FOLDER_OR_KB",
        help="a folder of documents or a knowledge base",
    )
    rank.add_argument(
        "--top-k", type=int, default=20, help="candidates kept by similarity (default %(default)s)"
    )
    rank.add_argument(
        "--theta", type=float, default=0.0, help="least similarity of a candidate (default %(default)s)"
    )
    rank.add_argument(
        "--unit", choices=get_args(Unit), default="document", help="what is ranked (default %(default)s)"
    )
    rank.add_argument(
        "--method",
        choices=get_args(Method),
        default="hybrid",
        help="what orders the result (default %(default)s)",
    )
    rank.add_argument(
        "--mode",
        choices=get_args(Mode),
        default="semantic",
        help="how keywords are absorbed (default %(default)s)",
    )
    rank.add_argument("--trace", type=Path, metavar="FILE", help="also write the full trace as JSON")
    _ranking(rank)
    _common(rank)

    diagnose = commands.add_parser("diagnose", help="the paper's Table 2 on a themes file")
    diagnose.add_argument(
        "themes", type=Path, nargs="?", metavar="THEMES.jsonl", help="default: the sample's themes"
    )
    _ranking(diagnose)
    _common(diagnose)

    serve = commands.add_parser("serve", help="start the web app")
    serve.add_argument(
        "--kb", type=Path, action="append", default=[], metavar="KB", help="offer this knowledge base too"
    )
    serve.add_argument("--host", help="address to bind (default 127.0.0.1)")
    serve.add_argument("--port", type=int, help="port (default 7860)")
    _common(serve)
    return root


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--encoder", help="encoder to use (default e5-small, bundled)")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _ranking(command: argparse.ArgumentParser) -> None:
    command.add_argument("--tau", type=float, help="absorption threshold, a cosine (default: the encoder's)")
    command.add_argument(
        "--alpha", type=float, default=0.5, help="weight of similarity in the hybrid (default %(default)s)"
    )
    command.add_argument(
        "--empty-b", choices=get_args(EmptyB), default="last", help="documents of query keywords only"
    )
    command.add_argument(
        "--centred",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="subtract the mean keyword vector before comparing keywords (default %(default)s)",
    )
