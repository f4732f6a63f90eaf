"""What a line of a themes file must look like; pydantic names the place that does not."""

import re
import unicodedata
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

from causalviz.evaluation.themes import Role

_HALF_PAIR = re.compile(r"[\ud800-\udfff]")
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}


def _whole(value: object) -> object:
    """Replace halves of surrogate pairs, which no file in UTF-8 can hold."""
    return _HALF_PAIR.sub("\ufffd", value) if isinstance(value, str) else value


def _seen(value: str) -> str:
    if all(unicodedata.category(c) in _UNSEEN or c == "\ufffd" for c in value):
        raise ValueError("it is blank, but something must be written there")
    return value


Text = Annotated[str, BeforeValidator(_whole)]
Words = Annotated[Text, AfterValidator(_seen)]


class _Strict(BaseModel):
    # A field of another name is somebody's own note.
    model_config = ConfigDict(strict=True, extra="ignore")


class DocumentLine(_Strict):
    """One document of the candidate set."""

    id: Words
    role: Role
    title: Text
    text: Words


class ThemeLine(_Strict):
    """The whole line."""

    id: Words
    lang: Text
    query: Words
    documents: list[DocumentLine]

    @model_validator(mode="after")
    def _one_answers(self) -> Self:
        targets = sum(document.role == "target" for document in self.documents)
        if targets != 1:
            raise ValueError(f"{targets} targets")
        return self
