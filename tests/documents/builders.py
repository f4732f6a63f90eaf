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
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
