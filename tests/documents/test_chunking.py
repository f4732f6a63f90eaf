from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import chunk
from causalviz.errors import ParameterError
from causalviz.records import Chunk


def spans(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    return [(c.start, c.end) for c in chunk("x" * length, size, overlap)]


@pytest.mark.parametrize(
    ("length", "size", "overlap", "expected"),
    [
        (0, 10, 2, []),
        (1, 10, 2, [(0, 1)]),
        (10, 10, 2, [(0, 10)]),  # not longer than the size: one chunk
        (11, 10, 2, [(0, 10), (8, 11)]),
        (
            18,
            10,
            2,
            [(0, 10), (8, 18)],
        ),  # the second window just reaches the end: (16, 18) would lie within it
        (19, 10, 2, [(0, 10), (8, 18), (16, 19)]),
        (6, 2, 0, [(0, 2), (2, 4), (4, 6)]),
        (3, 1, 0, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_windows_start_every_size_less_overlap(
    length: int, size: int, overlap: int, expected: list[tuple[int, int]]
) -> None:
    assert spans(length, size, overlap) == expected


def test_the_paper_s_sizes_are_the_default() -> None:
    # 4096 characters, 512 overlap: a step of 3584
    assert chunk("x" * 8000) == (
        Chunk(start=0, end=4096),
        Chunk(start=3584, end=7680),
        Chunk(start=7168, end=8000),
    )


@given(st.integers(0, 300), st.integers(1, 60), st.data())
def test_chunks_cover_the_text_overlap_as_asked_and_none_lies_within_another(
    length: int, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    chunks = spans(length, size, overlap)
    assert bool(chunks) == bool(length)
    if chunks:
        assert chunks[0][0] == 0
        assert chunks[-1][1] == length
    for (start, end), (next_start, next_end) in pairwise(chunks):
        assert next_start == start + size - overlap
        assert end - start == size
        assert end < next_end


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (10, 10), (10, 11), (10, -1)])
def test_sizes_that_make_no_windows_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ParameterError, match=str(size)):
        chunk("text", size, overlap)
