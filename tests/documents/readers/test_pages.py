from causalviz.documents.readers.pages import drop_running_lines


def body(page: int) -> str:
    return f"Text {'abcdefghij'[page]} begins\nand goes on\nand on\nand on again\n{'abcdefghij'[page]} ends"


def bodies(count: int) -> list[str]:
    return [body(page) for page in range(count)]


def test_a_header_and_a_page_number_on_every_page_go() -> None:
    pages = [f"RETHINKING  THE NETWORK\n{body(page)}\n{page + 2}" for page in range(4)]
    assert drop_running_lines(pages) == bodies(4)


def test_page_numbers_within_words_count_with_the_pages() -> None:
    pages = [
        f"Report 2021 · Page {page + 1} of 5\n\n{body(page)}\n — {page + 1} —\n第 {page + 8} 页"
        for page in range(5)
    ]
    assert drop_running_lines(pages) == bodies(5)


def test_odd_and_even_pages_may_have_their_own_header() -> None:
    pages = [f"{'Chapter one' if page % 2 else 'A book'}\n{body(page)}" for page in range(6)]
    assert drop_running_lines(pages) == bodies(6)


def test_a_first_page_without_header_changes_nothing() -> None:
    pages = [body(0), *(f"Header\n{body(page)}\n{page + 1}" for page in range(1, 5))]
    assert drop_running_lines(pages) == bodies(5)


def test_numbers_that_do_not_count_with_the_pages_are_text() -> None:
    pages = [f"Total {total}\n{body(page)}" for page, total in enumerate([10, 35, 20, 7])]
    assert drop_running_lines(pages) == pages


def test_what_recurs_within_a_page_is_text() -> None:
    pages = [body(page).replace("and on again", "1\n2\n3\n4\nSignature\n5\n6\n7\n8") for page in range(4)]
    assert all("Signature" in page for page in drop_running_lines(pages))


def test_two_pages_are_too_few_to_tell() -> None:
    pages = [f"Same line\n{body(page)}" for page in range(2)]
    assert drop_running_lines(pages) == pages


def test_a_line_on_few_pages_stays() -> None:
    pages = [f"Appendix\n{body(page)}" if page in {1, 4, 6} else body(page) for page in range(10)]
    assert drop_running_lines(pages) == pages


def test_no_pages_and_empty_pages() -> None:
    assert drop_running_lines([]) == []
    assert drop_running_lines(["", " \n ", ""]) == ["", "", ""]
