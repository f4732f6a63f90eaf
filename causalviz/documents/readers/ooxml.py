"""What Word, PowerPoint and Excel files have in common: a zip of XML parts that refer to one another."""

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalviz.documents.archives import Archive, Budget
from causalviz.documents.limits import Limits
from causalviz.documents.readers.xml_parts import attribute, events
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from causalviz.documents.readers.xml_parts import Event


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference from one part to another inside the package."""

    kind: str
    """Last part of its type: "slide", "sharedStrings"."""
    part: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """An opened file of one of the three programs."""

    archive: Archive
    suffix: str
    program: str

    def main(self, usual: str) -> str:
        """Name the part that everything else hangs on.

        Raises:
            UnreadableFileError: There is none: another kind of zip archive.
        """
        named = of_kind(self.relations(""), "officeDocument") or usual
        if named not in self.archive:
            raise UnreadableFileError(
                f"a zip archive without {self.program}'s parts in it was found where a {self.suffix} was expected; "
                f"save the file as {self.suffix} in {self.program}."
            )
        return named

    def relations(self, part: str) -> dict[str, Relation]:
        """Give what a part refers to inside the archive, by relation id; external targets are not followed."""
        folder, name = posixpath.split(part)
        listing = posixpath.join(folder, "_rels", f"{name}.rels")
        if listing not in self.archive:
            return {}
        found: dict[str, Relation] = {}
        for event, element, tag in self.events(listing):
            if event == "end" and tag == "Relationship" and element.get("TargetMode") != "External":
                joined = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
                target = joined.lstrip("/")
                if target in self.archive:
                    kind = element.get("Type", "").rpartition("/")[2]
                    found[element.get("Id", f"unnamed {len(found)}")] = Relation(kind, target)
        return found

    def events(self, part: str | None) -> "Iterator[Event]":
        """Parse a part (xml_parts.py); nothing comes of None."""
        if part is not None:
            yield from events(self.archive, part, what=self.suffix, program=self.program)


def open_package(data: bytes, limits: Limits, suffix: str, program: str) -> Package:
    """Open a file; use ``archive`` of what is returned in a ``with`` block.

    Raises:
        UnreadableFileError: No sound zip archive.
    """
    budget = Budget(bytes_left=limits.unpacked_bytes, members_left=limits.archive_members)
    archive = Archive(data, limits, budget, what=f"the {suffix}")
    return Package(archive=archive, suffix=suffix, program=program)


def of_kind(relations: dict[str, Relation], kind: str) -> str | None:
    """Name the part a relation of this kind leads to; None where there is none."""
    return next((relation.part for relation in relations.values() if relation.kind == kind), None)


def value(element: "_Element") -> str:
    """The attribute "val"."""
    return attribute(element, "val")


def is_on(text: str) -> bool:
    """Whether a switch is on: absent means on."""
    return text not in {"0", "false", "off", "none"}
