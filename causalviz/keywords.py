"""kw(.): text to weighted keywords, for Chinese, English and mixed text alike.

A document's keywords are its words of highest TF-IDF; tf is the word's share of the text's content words, idf is
fitted on the knowledge base. Identifiers, numbers and hyphenated words stay whole.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from causalviz.protocols import Segment

DOCUMENT_KEYWORDS = 15
QUERY_KEYWORDS = 10

_PIECE = 1000
"""Segmentation and normalisation see a longer run in pieces: their time grows with the square of its length."""

# Every branch gives up after a bounded look ahead, or uses up what it looked at: time grows with the text's length.
_TOKEN = regex.compile(
    r"""(?V1)
      (?P<skip> (?:https?://|www\.)[!-~]+ | (?<![\w.+-])[\w.+-]{1,64}+@[\w-]++(?:\.[\w-]++)+ )
    | (?P<han> \p{Han}+ )
    | (?P<word>
        [[\p{L}\p{M}\p{N}_]--\p{Han}]+
        (?: (?: [-‐‑－'’_]+ | [.,:](?=\p{N}) | \.(?=\p{Ll}) ) [[\p{L}\p{M}\p{N}_]--\p{Han}]+ )*
        (?: (?<=\b\p{L}) (?:\+\+|\#) (?!\w) )?
      )
    """,
    regex.VERBOSE,
)
# The last character of a text that is no part of any token, nor what _TOKEN looks behind for.
_BOUNDARY = regex.compile(r"(?V1)(?r)[^\w\p{L}\p{M}\p{N}!-~‐‑－’]")
_POSSESSIVE = regex.compile(r"['’]s$")
_ABBREVIATION = regex.compile(r"\p{L}(?:\.\p{L})+")


@dataclass(frozen=True, slots=True)
class Token:
    """A content word: its normal form and where it stands in the text."""

    term: str
    start: int
    end: int


class Tokenizer:
    """Splits text into content words; stop words, URLs and lone characters are left out."""

    def __init__(self, segment: Segment, stop_words: frozenset[str]) -> None:
        self._segment = segment
        self._stop_words = stop_words

    def tokens(self, text: str) -> list[Token]:
        """Content words in reading order, lower-cased and NFKC-normalised.

        A single Han character is a word only where the text has no longer one, so that 猫 still asks for something.
        """
        return list(self.stream((text,)))

    def stream(self, pieces: Iterable[str]) -> Iterator[Token]:
        """Give the tokens of a long text one by one: exactly those of all its pieces joined, without joining them.

        Args:
            pieces: The text in order, wherever it is cut.
        """
        lone: list[Token] | None = []
        for token in self._words(pieces):
            if len(token.term) > 1:
                lone = None
                yield token
            elif lone is not None and regex.fullmatch(r"\p{Han}", token.term):
                lone.append(token)
        yield from lone or ()

    def _words(self, pieces: Iterable[str]) -> Iterator[Token]:
        passed = 0
        for part in _cut_between_tokens(pieces):
            for match in _TOKEN.finditer(part):
                if match["skip"]:
                    continue
                start = passed + match.start()
                if match["han"]:
                    for word in (word for piece in _pieces(match["han"]) for word in self._segment(piece)):
                        yield from self._keep(word, start)
                        start += len(word)
                else:
                    yield from self._keep(match["word"], start)
            passed += len(part)

    def _keep(self, surface: str, start: int) -> Iterator[Token]:
        stem = _POSSESSIVE.sub("", surface.rstrip("_"))
        term = "".join(unicodedata.normalize("NFKC", piece) for piece in _pieces(stem)).lower().strip("_")
        if term and term not in self._stop_words and not _ABBREVIATION.fullmatch(term):
            yield Token(term, start, start + len(stem))


def _cut_between_tokens(pieces: Iterable[str]) -> Iterator[str]:
    """Move the cuts between pieces to where no token can cross and none can look behind."""
    rest: list[str] = []
    for piece in pieces:
        last = _BOUNDARY.search(piece)
        if last is None:
            rest.append(piece)
        else:
            yield "".join((*rest, piece[: last.end()]))
            rest = [piece[last.end() :]]
    yield "".join(rest)


def _pieces(run: str) -> Iterator[str]:
    return (run[start : start + _PIECE] for start in range(0, len(run), _PIECE))


def inverse_document_frequency(document_frequency: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Smoothed idf, ln((1 + N) / (1 + df)) + 1: a word in every document weighs 1, an unseen one the most.

    Args:
        document_frequency: How many documents hold each word.
        documents: N.
    """
    idf: NDArray[np.float64] = np.log((1.0 + documents) / (1.0 + document_frequency)) + 1.0
    return idf


def top_weights(
    counts: NDArray[np.integer[Any]], idf: NDArray[np.float64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pick the words of highest weight lambda = tf * idf, tf being the share of all content words.

    Args:
        counts: Occurrences, each > 0, of a text's words in term order.
        idf: Their inverse document frequencies.
        limit: How many at most.

    Returns:
        Positions into ``counts``, by weight descending, then term; and their weights.
    """
    weights = counts / max(int(counts.sum()), 1) * idf
    best = np.argsort(-weights, kind="stable")[:limit]
    return best, weights[best]
