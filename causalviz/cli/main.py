"""Arguments in, exit code out: 0 done, 1 a named error, 2 wrong usage."""

import argparse
import codecs
import io
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import get_args

from causalviz.errors import CausalvizError
from causalviz.evaluation import paper
from causalviz.evaluation.evaluate import CROSS_ENCODER, METHODS
from causalviz.evaluation.gate import PROBES
from causalviz.evaluation.measures import RESAMPLES
from causalviz.evaluation.stress import GROUPS
from causalviz.evaluation.stuffing import DEVELOPMENT, HELD_OUT
from causalviz.records import DEFAULT_METHOD, EmptyB, Method, Mode, Unit


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every named error is one line on stderr."""
    _accept_every_character()
    options = parser().parse_args(arguments)
    # A command's module is imported only when it is asked for: `--help` needs no encoder and no web framework.
    command = import_module(f"causalviz.cli.{options.command}")
    try:
        command.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output wants no more (`| head`). What Python flushes at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except CausalvizError as error:
        sys.stderr.write(f"causalviz: {' '.join(str(error).split())}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("causalviz: stopped; what was finished is kept, run the same command to go on.\n")
        return 1
    return 0


def _accept_every_character() -> None:
    """Let stdout show what its encoding lacks, or a lone surrogate, as JSON's own escape: JSON stays JSON."""

    def escape(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return json.dumps(error.object[error.start : error.end])[1:-1], error.end

    codecs.register_error("causalviz.escape", escape)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="causalviz.escape")


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
        "--keep-copies",
        action="store_true",
        help="let copies of a text keep their places; otherwise they come in only where other texts leave room",
    )
    rank.add_argument(
        "--method",
        choices=get_args(Method),
        help=f"what orders the result (default: what a calibration of the knowledge base chose, else {DEFAULT_METHOD})",
    )
    rank.add_argument(
        "--mode",
        choices=get_args(Mode),
        default="semantic",
        help="how keywords are absorbed (default %(default)s)",
    )
    rank.add_argument("--trace", type=Path, metavar="FILE", help="also write the full trace as JSON")
    rank.add_argument("--csv", type=Path, metavar="FILE", help="also write the ranking as a table (CSV)")
    rank.add_argument("--trec", type=Path, metavar="FILE", help="also write the ranking as a TREC run")
    rank.add_argument(
        "--query-id",
        default="1",
        metavar="ID",
        help="the question's id in the TREC run (default %(default)s)",
    )
    _ranking(rank)
    _reranker(rank)
    _common(rank)

    diagnose = commands.add_parser("diagnose", help="the paper's Table 2 on a themes file")
    diagnose.add_argument(
        "themes", type=Path, nargs="?", metavar="THEMES.jsonl", help="default: the sample's themes"
    )
    _ranking(diagnose)
    _reranker(diagnose)
    _common(diagnose)

    _evaluate(commands.add_parser("evaluate", help="the paper's Table 3 on a test collection (BEIR layout)"))
    _stress(commands.add_parser("stress", help="what keyword-stuffed documents do to each method's ranking"))

    _calibrate(commands.add_parser("calibrate", help="decide by labelled questions which method may rank"))
    _reproduce(commands.add_parser("reproduce", help="the paper's Tables 2 to 4, its figures beside yours"))

    explain = commands.add_parser("explain", help="why a ranking is what it is, and what would change it")
    explain.add_argument("trace", type=Path, metavar="TRACE.json", help="written by rank --trace")
    explain.add_argument("--document", metavar="ID", help="explain this document down to its keywords")
    explain.add_argument("--json", action="store_true", help="print JSON instead of tables")

    report = commands.add_parser("report", help="one HTML file that shows and explains rankings anywhere")
    report.add_argument(
        "traces", type=Path, nargs="+", metavar="TRACE.json", help="written by rank --trace; one tab each"
    )
    report.add_argument("--out", type=Path, required=True, metavar="FILE.html", help="the report to write")
    texts = report.add_mutually_exclusive_group()
    texts.add_argument(
        "--texts", type=Path, metavar="KB_OR_FOLDER", help="put the candidates' texts in, taken from here"
    )
    texts.add_argument("--no-text", action="store_true", help="leave all document text out (the default)")
    report.add_argument("--document", metavar="ID", help="explain this document first")
    _common(report)

    serve = commands.add_parser("serve", help="start the web app")
    serve.add_argument(
        "--kb", type=Path, action="append", default=[], metavar="KB", help="offer this knowledge base too"
    )
    serve.add_argument("--host", help="address to bind (default 127.0.0.1)")
    serve.add_argument("--port", type=int, help="port (default 7860)")
    serve.add_argument(
        "--make-login",
        metavar="NAME",
        help="ask for a password, print NAME's line for the file CAUSALVIZ_AUTH_FILE, and end",
    )
    _common(serve)
    return root


def _evaluate(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument(
        "collection",
        type=Path,
        metavar="COLLECTION",
        help="a folder with corpus.jsonl, queries.jsonl, qrels/test.tsv",
    )
    evaluate.add_argument(
        "--methods",
        nargs="+",
        choices=(*METHODS, CROSS_ENCODER),
        help=f"what to measure (default: all; {CROSS_ENCODER} where there is one)",
    )
    evaluate.add_argument("--sample", type=int, metavar="N", help="draw N queries (default: all of them)")
    evaluate.add_argument(
        "--seed", type=int, default=0, help="of the draw, bootstrap and randomisation (default %(default)s)"
    )
    evaluate.add_argument(
        "--top-k", type=int, default=20, help="candidates that are re-ranked (default %(default)s)"
    )
    evaluate.add_argument("--per-query", action="store_true", help="with --json: every query's measures too")
    evaluate.add_argument(
        "--strata",
        action="store_true",
        help="also by halves of the queries, split at the median of each statistic of a question",
    )
    evaluate.add_argument(
        "--strata-file",
        type=Path,
        metavar="FILE",
        help="also by strata of your own, a line `query-id<TAB>stratum` each",
    )
    _scores(evaluate)
    _reranker(evaluate)
    _common(evaluate)


def _stress(stress: argparse.ArgumentParser) -> None:
    stress.add_argument(
        "collection",
        type=Path,
        metavar="COLLECTION",
        help="a folder with corpus.jsonl, queries.jsonl, qrels/test.tsv",
    )
    stress.add_argument(
        "--per-query", type=int, default=2, help="documents injected for each query (default %(default)s)"
    )
    groups = "; ".join(f"{name}: {', '.join(styles)}" for name, styles in GROUPS.items())
    stress.add_argument(
        "--style",
        nargs="+",
        choices=(*GROUPS, *DEVELOPMENT, *HELD_OUT),
        default=["development"],
        metavar="STYLE",
        help="how they are stuffed, in turn; a group stands for its styles (default development); "
        f"{groups} (on which nothing was fitted)",
    )
    stress.add_argument(
        "--methods", nargs="+", choices=METHODS, default=METHODS, help="what to measure (default: all)"
    )
    stress.add_argument("--sample", type=int, metavar="N", help="draw N queries (default: all of them)")
    stress.add_argument(
        "--seed", type=int, default=0, help="of the draw and of the injected documents (default %(default)s)"
    )
    stress.add_argument(
        "--top-k", type=int, default=20, help="candidates that are re-ranked (default %(default)s)"
    )
    stress.add_argument(
        "--out", type=Path, metavar="FOLDER", help="also write the attacked collection (BEIR layout)"
    )
    _scores(stress)
    _common(stress)


def _calibrate(calibrate: argparse.ArgumentParser) -> None:
    calibrate.add_argument(
        "collection",
        type=Path,
        nargs="?",
        metavar="COLLECTION|THEMES.jsonl",
        help="labelled questions: a test collection (BEIR layout) or a themes file",
    )
    calibrate.add_argument(
        "--kb",
        type=Path,
        metavar="FOLDER_OR_KB",
        help="ask this folder of documents or knowledge base, and keep the verdict there",
    )
    calibrate.add_argument(
        "--queries", type=Path, metavar="FILE", help="with --kb: questions of your own (queries.jsonl)"
    )
    calibrate.add_argument(
        "--qrels",
        type=Path,
        metavar="FILE",
        help="their judgments (TREC qrels, or BEIR's tab-separated file)",
    )
    calibrate.add_argument(
        "--probes",
        type=int,
        default=PROBES,
        metavar="N",
        help="questions in a resample, at most all that are labelled (default %(default)s)",
    )
    calibrate.add_argument(
        "--resamples", type=int, default=RESAMPLES, help="bootstrap resamples (default %(default)s)"
    )
    calibrate.add_argument("--seed", type=int, default=0, help="of the resamples (default %(default)s)")
    calibrate.add_argument(
        "--top-k", type=int, default=20, help="candidates that are re-ranked (default %(default)s)"
    )
    _scores(calibrate)
    _common(calibrate)


def _reproduce(reproduce: argparse.ArgumentParser) -> None:
    reproduce.add_argument(
        "--collections",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="test collections (BEIR layout) for Tables 3 and 4; a folder named scifact, nfcorpus or arguana is "
        "compared with the paper's",
    )
    reproduce.add_argument("--sample", type=int, metavar="N", help="draw N queries of each (default: all)")
    reproduce.add_argument(
        "--seed", type=int, default=0, help="of the draw and of the resamples (default %(default)s)"
    )
    # The paper's models, whatever the environment prefers elsewhere.
    reproduce.add_argument(
        "--encoder",
        default=paper.ENCODER,
        help="any encoder that `rank` takes, such as e5-small (default %(default)s, the paper's)",
    )
    reproduce.add_argument(
        "--reranker",
        default=paper.RERANKER,
        metavar="NAME",
        help="any cross-encoder that `rank` takes, or none (default %(default)s, the paper's)",
    )
    reproduce.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--encoder",
        help="e5-small (bundled, the default), bge-m3, bge-m3:FOLDER, st:ID_OR_FOLDER (sentence-transformers), "
        "flag:ID_OR_FOLDER (FlagEmbedding), or openai:MODEL (a server at CAUSALVIZ_OPENAI_URL)",
    )
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _reranker(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--reranker",
        metavar="NAME",
        help="a cross-encoder that scores the candidates too: bge-reranker-v2-m3, bge-reranker-v2-m3:FOLDER, "
        "flag-reranker:ID_OR_FOLDER (FlagEmbedding), or cross:ID_OR_FOLDER (sentence-transformers) "
        "(default: CAUSALVIZ_RERANKER, else none)",
    )


def _ranking(command: argparse.ArgumentParser) -> None:
    _scores(command)
    command.add_argument(
        "--empty-b", choices=get_args(EmptyB), default="last", help="documents of query keywords only"
    )


def _scores(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tau", type=float, help="absorption threshold, a cosine (default: the encoder's, else proposed)"
    )
    command.add_argument(
        "--alpha", type=float, default=0.5, help="weight of similarity in the hybrid (default %(default)s)"
    )
    command.add_argument(
        "--centred",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="subtract the mean keyword vector before comparing keywords (default %(default)s)",
    )
