"""`make bench`: all timings in one run, as a table. Ratios come from one run, since machines are noisy."""

from benchmarks import encoders, evaluating, indexing, page, queries, rerankers, responsive, starting
from causalviz.cli.terminal import print_table


def main() -> None:
    """Measure everything, the cheapest first."""
    rows = [
        row
        for part in (queries, evaluating, page, starting, responsive, encoders, rerankers, indexing)
        for row in part.main()
    ]
    print_table("Timings (medians)", {"what": "left", "measured": "left", "bar": "left"}, rows, [])


if __name__ == "__main__":
    main()
