"""The models a person chose on the Models page: one small file in the home folder, which never holds a secret."""

import json
import os
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from causalviz.errors import ParameterError

FILE = "models.json"
DAMAGED = "models.damaged.json"
_VERSION = 1
_MOST = 1 << 16
"""Characters; a file of choices has a few hundred."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """Each field is that of Settings; "" leaves it at its default."""

    encoder: str = ""
    openai_url: str = ""
    query_instruction: str = ""
    passage_instruction: str = ""
    reranker: str = ""
    chat_model: str = ""
    chat_url: str = ""


def read_choices(home: Path) -> tuple[Choices, str]:
    """Read the choices kept in a home folder.

    Returns:
        The choices, and a remark: "", or one sentence on a file that cannot be read. Such a file is put aside, so that
        nothing of it is lost when the next choice is written.
    """
    path = home / FILE
    try:
        with path.open(encoding="utf-8") as file:
            content = json.loads(file.read(_MOST))
        return _checked(content), ""
    except (FileNotFoundError, NotADirectoryError):
        return Choices(), ""
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ParameterError) else "it is no JSON"
    return Choices(), (
        f"the file of chosen models, {FILE} in the home folder, cannot be read ({why}), so the defaults are used; "
        f"{_put_aside(path)}choose the models again on the Models page."
    )


def write_choices(home: Path, choices: Choices) -> None:
    """Keep choices; the file appears complete or stays as it was.

    Raises:
        ParameterError: the home folder cannot be written.
    """
    text = json.dumps({"version": _VERSION, **asdict(choices)}, ensure_ascii=False, indent=2) + "\n"
    try:
        home.mkdir(parents=True, exist_ok=True)
        handle, building = tempfile.mkstemp(prefix=FILE, dir=home)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(building).replace(home / FILE)
        finally:
            Path(building).unlink(missing_ok=True)
    except OSError as error:
        raise ParameterError(
            f"the choice holds until the app ends, but cannot be kept ({error.strerror}); make room, or set "
            "CAUSALVIZ_HOME to a place that can be written."
        ) from error


def _checked(content: object) -> Choices:
    if not isinstance(content, dict) or content.pop("version", None) != _VERSION:
        raise ParameterError(f"it is not of version {_VERSION}")
    known = {field.name for field in fields(Choices)}
    if strange := sorted(content.keys() - known):
        raise ParameterError(f"it holds '{strange[0][:40]}', which this release does not know")
    if wrong := sorted(name for name, value in content.items() if not isinstance(value, str)):
        raise ParameterError(f"its '{wrong[0]}' is no text")
    return Choices(**content)


def _put_aside(path: Path) -> str:
    try:
        path.replace(path.with_name(DAMAGED))
    except OSError:
        return ""
    return f"it is kept beside as {DAMAGED}; "
