"""Small files made on the spot: PDFs written by hand, Word files with python-docx, zip archives part by part."""

import hashlib
import io
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import docx
import pytest
from docx.document import Document as WordDocument

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not on this machine")


def office(name: str) -> bytes:
    """A real file that breaks parsers; what it is stands in the manifest beside it."""
    return (SHARED / "office" / name).read_bytes()


@dataclass(frozen=True)
class Page:
    """Lines of text from top to bottom, over one image that covers the page, or over several strips of it."""

    lines: Sequence[str | bytes] = ()
    image_strips: int = 0


HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def cid_font(encoding: str, *, ordering: str = "Identity", to_unicode: bool = False) -> bytes:
    """A font of two-byte characters that is not embedded; object 5 is its ToUnicode map."""
    map_entry = "/ToUnicode 5 0 R" if to_unicode else ""
    return (
        f"<< /Type /Font /Subtype /Type0 /BaseFont /SimSun /Encoding /{encoding} {map_entry} /DescendantFonts [<<"
        f" /Type /Font /Subtype /CIDFontType0 /BaseFont /SimSun /DW 1000"
        f" /CIDSystemInfo << /Registry (Adobe) /Ordering ({ordering}) /Supplement 2 >> /FontDescriptor <<"
        f" /Type /FontDescriptor /FontName /SimSun /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0"
        f" /Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>"
    ).encode()


def to_unicode_map(codes: Mapping[int, str]) -> bytes:
    lines = "\n".join(f"<{code:04X}> <{char.encode('utf-16-be').hex()}>" for code, char in codes.items())
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        "1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        f"{len(codes)} beginbfchar\n{lines}\nendbfchar endcmap end end"
    ).encode()


def pdf(  # a writer of PDF 1.4: catalogue, pages, one font, one image
    pages: Sequence[Page],
    *,
    font: bytes = HELVETICA,
    cmap: bytes = b"",
    title: str = "",
    user_password: str | None = None,
) -> bytes:
    """Write a PDF; a user password (may be "") encrypts it with RC4-40."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        font,
        b"<< /Title <feff" + title.encode("utf-16-be").hex().encode() + b"> >>",
        _stream(b"", cmap),
        _stream(
            b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8",
            b"\x80",
        ),
    ]
    kids = []
    for page in pages:
        objects.append(_stream(b"", _content(page)))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> /XObject << /I1 6 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return write_pdf(objects, None if user_password is None else user_password.encode())


def endless_pdf() -> bytes:
    """One page of forms nested so that the innermost is drawn ten million times: a reader is busy for minutes."""

    def form(number: int, content: bytes) -> bytes:
        resources = b"/Resources << /Font << /F1 3 0 R >> /XObject << /X %d 0 R >> >>" % (number + 1)
        return _stream(b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] " + resources, content)

    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 6 0 R"
    return write_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
            HELVETICA,
            b"<< >>",
            page + b" /Resources << /XObject << /X 7 0 R >> >> >>",
            _stream(b"", b"/X Do "),
            *(form(number, b"/X Do " * 10) for number in range(7, 13)),
            form(13, b"BT /F1 12 Tf (boom) Tj ET"),
        ]
    )


def _content(page: Page) -> bytes:
    step = 800 / max(1, page.image_strips)
    images = [
        b"q 600 0 0 %.2f 0 %.2f cm /I1 Do Q" % (step, step * strip) for strip in range(page.image_strips)
    ]
    texts = []
    for number, line in enumerate(page.lines):
        shown = b"<" + (line if isinstance(line, bytes) else line.encode("cp1252")).hex().encode() + b">"
        texts.append(b"BT /F1 12 Tf 50 %d Td %s Tj ET" % (770 - 16 * number, shown))
    return b"\n".join([*images, *texts])


def _stream(entries: bytes, body: bytes) -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(body), body)


def write_pdf(objects: Sequence[bytes], user_password: bytes | None = None) -> bytes:
    """Number the objects (first the catalogue, fourth the information) and add the table of offsets."""
    trailer, encrypt = (b"", _leave) if user_password is None else _encryption(user_password)
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, encrypt(number, body))
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R /Info 4 0 R %s>>\n" % (
        len(objects) + 1, table, len(objects) + 1, trailer,
    ) + b"startxref\n%d\n%%%%EOF" % len(out)  # fmt: skip


def _leave(_number: int, body: bytes) -> bytes:
    return body


def _encryption(password: bytes) -> tuple[bytes, Callable[[int, bytes], bytes]]:
    """Security handler of revision 2 (PDF 1.4, 3.5.2): RC4 with a key of 40 bits."""
    padding = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
    padded = (password + padding)[:32]
    identity, permissions = b"0123456789abcdef", -44
    owner = _rc4(hashlib.md5((b"owner" + padding)[:32], usedforsecurity=False).digest()[:5], padded)
    seed = padded + owner + struct.pack("<i", permissions) + identity
    key = hashlib.md5(seed, usedforsecurity=False).digest()[:5]
    trailer = b"/ID [<%s> <%s>] /Encrypt << /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P %d >> " % (
        identity.hex().encode(), identity.hex().encode(), owner.hex().encode(), _rc4(key, padding).hex().encode(),
        permissions,
    )  # fmt: skip

    def encrypt(number: int, body: bytes) -> bytes:
        head, mark, rest = body.partition(b"stream\n")
        if not mark:
            return body
        salted = key + struct.pack("<I", number)[:3] + b"\0\0"
        own = hashlib.md5(salted, usedforsecurity=False).digest()[:10]
        return head + mark + _rc4(own, rest.removesuffix(b"\nendstream")) + b"\nendstream"

    return trailer, encrypt


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def word(fill: Callable[[WordDocument], object]) -> bytes:
    """A Word file that python-docx writes."""
    document = docx.Document()
    fill(document)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def word_of_parts(body: str, *, before: str = "", **parts: str) -> bytes:
    """A Word file of hand-written XML: the inside of <w:body>, what stands before the root, further parts."""
    files = {
        "word/document.xml": f'<?xml version="1.0" encoding="UTF-8"?>{before}'
        f'<w:document xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<w:body>{body}</w:body></w:document>",
        **{f"word/{name}.xml": xml for name, xml in parts.items()},
        "_rels/.rels": _relations({"officeDocument": "word/document.xml"}),
        "word/_rels/document.xml.rels": _relations({name: f"{name}.xml" for name in parts}),
    }
    return zipped(files)


def _relations(targets: Mapping[str, str]) -> str:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
    lines = "".join(
        f'<Relationship Id="r{i}" Type="{kind}{name}" Target="{target}"/>'
        for i, (name, target) in enumerate(targets.items())
    )
    return f'<Relationships xmlns="{RELATIONS}">{lines}</Relationships>'


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():  # without the time, so that the bytes are the same each time
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def ole(streams: Mapping[str, bytes]) -> bytes:
    """An OLE container (of at most 60 kB); streams are padded so that none is a small one."""
    free, end, fat_mark = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    fat, body, entries = [fat_mark, end], b"", [_ole_entry("Root Entry", 5, end, 0, child=1)]
    # A container orders names by length, then by letters.
    ordered = sorted(streams.items(), key=lambda stream: (len(stream[0]), stream[0].upper()))
    for number, (name, content) in enumerate(ordered, 1):
        padded = content.ljust(4096, b"\0")
        padded += b"\0" * (-len(padded) % 512)
        start = len(fat)
        fat += [*range(start + 1, start + len(padded) // 512), end]
        body += padded
        following = number + 1 if number < len(streams) else free
        entries.append(_ole_entry(name, 2, start, max(4096, len(content)), right=following))
    fat += [free] * (128 - len(fat))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0, 0) + struct.pack(
        "<108I", *[free] * 108
    )
    directory = b"".join(entries).ljust(512, b"\0")
    return header + struct.pack("<128I", *fat) + directory + body


def _ole_entry(  # noqa: PLR0913 - the fields of an entry
    name: str, kind: int, start: int, size: int, *, child: int = -1, right: int = -1
) -> bytes:
    encoded = name.encode("utf-16-le") + b"\0\0"
    links = struct.pack("<BBIII", kind, 1, 0xFFFFFFFF, right & 0xFFFFFFFF, child & 0xFFFFFFFF)
    return (
        encoded.ljust(64, b"\0")
        + struct.pack("<H", len(encoded))
        + links
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )


HIDDEN, DELETED = b"\x3c\x08\x01", b"\x00\x08\x01"
IN_CELL, ROW_END = b"\x16\x24\x01", b"\x16\x24\x01\x17\x24\x01"


def old_word(  # noqa: PLR0913 - each is a part of the file
    text: str, *, notes: str = "", header: str = "", flags: int = 0,
    characters: Mapping[str, bytes] | None = None, paragraphs: Mapping[str, bytes] | None = None,
) -> bytes:  # fmt: skip
    """A Word 97 file: the first half in bytes of cp1252 where they can hold it, the rest in UTF-16.

    Args:
        text: The body.
        notes: What stands at the foot; it follows the body in the file.
        header: What stands above each page; it follows the notes.
        flags: Of the file information block.
        characters: Properties of passages, by passage.
        paragraphs: Likewise, of paragraphs.
    """
    whole = text + notes + header
    half = len(whole) // 2
    narrow = whole[:half].isascii()
    first = whole[:half].encode("cp1252" if narrow else "utf-16-le")
    second = whole[half:].encode("utf-16-le")
    start = 1024
    length = len(first) + len(second)

    def offset(position: int) -> int:
        if position < half:
            return start + position * (1 if narrow else 2)
        return start + len(first) + 2 * (position - half)

    pages = start + length + -(start + length) % 512
    runs = [_word_page(whole, properties or {}, offset, is_papx=papx)
            for properties, papx in ((characters, False), (paragraphs, True))]  # fmt: skip
    clx = struct.pack("<3I", 0, half, len(whole)) + b"".join(
        struct.pack("<HIH", 0, place, 0)
        for place in ((start * 2 | 0x40000000) if narrow else start, start + len(first))
    )
    table = b"\x02" + struct.pack("<I", len(clx)) + clx
    main = bytearray(pages + 1024)
    struct.pack_into("<HH", main, 0, 0xA5EC, 0xC1)
    struct.pack_into("<H", main, 10, flags)
    struct.pack_into("<3I", main, 0x4C, len(text), len(notes), len(header))
    struct.pack_into("<2I", main, 0x1A2, 0, len(table))
    for index, (place, run) in enumerate(((0xFA, runs[0]), (0x102, runs[1]))):
        bins = struct.pack("<3I", start, start + length, pages // 512 + index)
        struct.pack_into("<2I", main, place, len(table), len(bins))
        table += bins
        main[pages + 512 * index : pages + 512 * (index + 1)] = run
    main[start : start + length] = first + second
    return ole({"WordDocument": bytes(main), "0Table": table})


def _word_page(
    text: str, properties: Mapping[str, bytes], offset: Callable[[int], int], *, is_papx: bool
) -> bytes:
    found = sorted((text.index(passage), passage, listed) for passage, listed in properties.items())
    borders, kinds = [offset(0)], []
    for place, passage, listed in found:
        if offset(place) > borders[-1]:
            borders.append(offset(place))
            kinds.append(b"")
        borders.append(offset(place + len(passage)))
        kinds.append(listed)
    page, width, free = bytearray(512), 13 if is_papx else 1, 510
    struct.pack_into(f"<{len(borders)}I", page, 0, *borders)
    for index, listed in enumerate(kinds):
        if not listed:
            continue
        body = b"\0\0" + listed if is_papx else listed  # a paragraph's begin with the number of its style
        body += b"\0" * ((len(body) + 1) % 2 if is_papx else 0)
        packed = bytes([(len(body) + 1) // 2 if is_papx else len(body)]) + body
        free = (free - len(packed)) // 2 * 2
        page[free : free + len(packed)] = packed
        page[4 * len(borders) + width * index] = free // 2
    page[511] = len(kinds)
    return bytes(page)
