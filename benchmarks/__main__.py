"""`make bench`: all timings in one run, as a table a part. Ratios come from one run, since machines are noisy."""

from benchmarks import encoders, evaluating, indexing, page, queries, rerankers, responsive, starting
from causalviz.cli.terminal import print_table


def main() -> None:
    """Measure everything, the cheapest first; each part is printed when it is done."""
    for part in (queries, evaluating, page, starting, responsive, encoders, rerankers, indexing):
        columns = {"what": "left", "measured": "left", "bar": "left"}
        print_table(f"Timings (medians): {part.__name__.rpartition('.')[2]}", columns, part.main(), [])


if __name__ == "__main__":
    main()
