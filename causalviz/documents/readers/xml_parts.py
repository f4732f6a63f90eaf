"""XML inside zipped documents, parsed as a stream; no entity, document type or address outside is followed."""

from typing import TYPE_CHECKING

from causalviz.documents.archives import Archive, reason
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    Event = tuple[str, _Element, str]


def events(
    archive: Archive, part: str, *, what: str, program: str, allow_doctype: bool = False
) -> "Iterator[Event]":
    """Parse a part event by event: (start or end, element, name without namespace).

    Args:
        archive: The document.
        part: Name of the part in it.
        what: The suffix of such documents, for refusals.
        program: What writes them.
        allow_doctype: Whether a document type may be declared: it is not loaded then, and its entities stay out.

    Raises:
        UnreadableFileError: Damaged XML, or one with a document type (where entities are declared that multiply or
            read other files); and what ``Archive.open`` raises.
    """
    from lxml import etree

    try:
        walk = etree.iterparse(
            archive.open(part), events=("start", "end"), resolve_entities=False, load_dtd=False, no_network=True,
            remove_comments=True, remove_pis=True, huge_tree=False,
        )  # fmt: skip
        for event, element in walk:
            if not allow_doctype and element.getparent() is None and element.getroottree().docinfo.doctype:
                raise UnreadableFileError(
                    f"'{part}' inside the {what} declares a document type, as {program} never does (entities that "
                    f"multiply or read other files?); save it anew in {program}."
                )
            yield event, element, str(element.tag).rpartition("}")[2]
    except etree.LxmlError as error:
        raise UnreadableFileError(
            f"'{part}' inside the {what} is damaged ({reason(error)}); open the file in {program} and save it anew."
        ) from error


def texts_around(event: str, element: "_Element") -> str:
    """Give the text that stands right before the tag of an event, in the element around it."""
    if event == "start":
        before, around = element.getprevious(), element.getparent()
    else:
        before, around = (element[-1] if len(element) else None), element
    text = before.tail if before is not None else around.text if around is not None else None
    return text or ""


def attribute(element: "_Element", name: str) -> str:
    """An attribute of any namespace, "" when absent: strict and transitional documents differ in theirs."""
    return next(
        (str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), ""
    )
