from dataclasses import fields

import pytest

from causalviz.documents.limits import DEFAULT_LIMITS, Limits, limits_of
from causalviz.errors import ParameterError
from causalviz.settings import Settings


def test_each_limit_can_be_set_from_the_environment() -> None:
    variables = [
        "FILE_MB", "UPLOAD_MB", "UNPACKED_MB", "ARCHIVE_RATIO", "ARCHIVE_MEMBERS", "ARCHIVE_DEPTH", "PAGES",
        "CHARACTERS", "SECONDS", "MEMORY_MB", "OCR_PAGES", "OCR_SECONDS",
    ]  # fmt: skip
    settings = Settings.of({f"CAUSALVIZ_MAX_{name}": "7" for name in variables})
    assert limits_of(settings.limits) == Limits(
        file_bytes=7_000_000, upload_bytes=7_000_000, unpacked_bytes=7_000_000, archive_ratio=7.0, archive_members=7,
        archive_depth=7, pages=7, characters=7, seconds=7.0, memory_bytes=7_000_000, ocr_pages=7, ocr_seconds=7.0,
    )  # fmt: skip
    assert set(settings.limits) == {field.name for field in fields(Limits)}


def test_what_is_not_set_keeps_its_default() -> None:
    assert limits_of(Settings.of({}).limits) == DEFAULT_LIMITS
    changed = limits_of(Settings.of({"CAUSALVIZ_MAX_FILE_MB": "0.5"}).limits)
    assert (changed.file_bytes, changed.pages) == (500_000, DEFAULT_LIMITS.pages)


@pytest.mark.parametrize("value", ["", "0", "-1", "many", "nan", "inf"])
def test_a_limit_is_a_number_above_0(value: str) -> None:
    with pytest.raises(ParameterError, match=r"CAUSALVIZ_MAX_PAGES is '.*', but a limit is a number above 0"):
        Settings.of({"CAUSALVIZ_MAX_PAGES": value})
