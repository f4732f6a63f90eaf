"""What a cell shows: worked out from ECMA-376, 18.8.31."""

import math
import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents.readers.numbers import shown

ACCOUNTING = '_ * #,##0.00_ ;_ * \\-#,##0.00_ ;_ * "-"??_ ;_ @_ '


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (3.0, "", "3"),
        (3.14159, "General", "3.14159"),
        (0.1 + 0.2, "General", "0.3"),
        (1e20, "", "1E+20"),
        (0.125, "0.0%", "12.5%"),
        (0.125, "0%", "13%"),  # half goes away from 0
        (0.3, "?0%", "30%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1.005, "0.00", "1.01"),  # 1.00499999999999989 as a double: Excel has 15 digits
        (-5, "0.00", "-5.00"),
        (-0.001, "0.0", "0.0"),
        (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (-3, "0;[Red]0", "3"),
        (0, '#,##0;-#,##0;"none"', "none"),
        (12.0, ACCOUNTING, "12.00"),
        (-12.0, ACCOUNTING, "-12.00"),
        (0, ACCOUNTING, "-"),
        (12, "0000", "0012"),
        (2.5, "0.##", "2.5"),
        (2, "0.##", "2"),
        (0.5, "#.0", ".5"),
        (1234567, '0.0,,"M"', "1.2M"),
        (1234567, "#,##0,", "1,235"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1234.5, '"¥"#,##0.00', "¥1,234.50"),
        (-5, "$0", "-$5"),
        (5, '0" Stück"', "5 Stück"),
        (123456, "0.00E+00", "1.23E+05"),
        (1.5, "# ?/?", "1.5"),  # fractions are not followed
        (5551234, "000-0000", "5551234"),
        (42, "@", "42"),
        (45356, "yyyy-mm-dd", "2024-03-05"),
        (45356, "yyyymmdd", "20240305"),
        (45356.5, "m/d/yyyy h:mm AM/PM", "3/5/2024 12:00 PM"),
        (45356.75, 'yyyy"年"m"月"d"日"', "2024年3月5日"),
        (45356.75, "yyyy年m月d日 上午/下午h时", "2024年3月5日 下午6时"),
        (45356, "[$-409]mmmm d, yyyy;@", "March 5, 2024"),
        (45356, "[$-F800]dddd\\,\\ mmm\\ dd", "Tuesday, Mar 05"),
        (45356, "mmm-yy", "Mar-24"),
        (59, "yyyy-mm-dd", "1900-02-28"),
        (61, "yyyy-mm-dd", "1900-03-01"),  # 60 is the 29 February that never was
        (1.5, "[h]:mm", "36:00"),
        (0.5, "h:mm:ss", "12:00:00"),
        (1.25 / 86_400, "mm:ss.0", "00:01.2"),
        (-1, "yyyy-mm-dd", "-1"),
        (1e9, "yyyy-mm-dd", "1000000000"),
    ],
)
def test_a_cell_shows(value: float, code: str, text: str) -> None:
    assert shown(value, code) == text


def test_days_may_be_counted_from_1904() -> None:
    assert shown(0, "yyyy-mm-dd", date1904=True) == "1904-01-01"


@given(st.integers(61, 2_958_465))
def test_days_are_those_of_the_calendar(days: int) -> None:
    assert shown(days, "yyyy-mm-dd") == (date(1899, 12, 30) + timedelta(days)).isoformat()


@given(st.integers(-(10**14), 10**14))
def test_whole_numbers_keep_their_digits(number: int) -> None:
    assert shown(number, "") == str(number)
    assert shown(number, "#,##0") == f"{number:,}"


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.sampled_from(list('0#?.,%;ymdhsE+-@"\\[]$/_* AP年')), max_size=30),
)
def test_any_number_in_any_format(value: float, code: str) -> None:
    assert isinstance(shown(value, code), str)


@given(st.floats(-1e15, 1e15), st.integers(0, 8))
def test_decimals_are_close_to_the_value(value: float, places: int) -> None:
    text = shown(value, "0." + "0" * places if places else "0")
    assert re.fullmatch(r"-?\d+" + (rf"\.\d{{{places}}}" if places else ""), text)
    assert math.isclose(float(text), value, rel_tol=1e-14, abs_tol=0.5000001 * 10.0**-places)
