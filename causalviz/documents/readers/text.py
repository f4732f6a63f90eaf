"""Plain text (.txt)."""

from causalviz.documents.encodings import decode
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText


def read_text(data: bytes, _limits: Limits) -> ReadText:
    """Decode plain text; nothing in it is markup, so that tags and templates stay what they are: text."""
    decoded = decode(data)
    return ReadText(parts=(Part(decoded.text),), encoding=decoded.encoding, warnings=decoded.warnings)
