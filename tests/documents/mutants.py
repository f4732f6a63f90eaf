"""Damaged files of every format: bits flipped, ends cut off, blocks swapped, runs put in, two files spliced.

In zipped formats also inside the parts, with the zip rebuilt around them; in XML also the text, so that what comes out
is often still XML.
"""

import io
import random
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence

CHANGES = 4
"""At most so many of them in one file."""
_USUAL = 40_000
"""Bytes; larger files, which mostly take longer to read, are chosen less often."""
_RUN = 300
"""Bytes."""
_NUMBERS = (b"0", b"-1", b"1e400", b"4294967296", b"99999999999999999999", b"0.0000001", b"NaN")
_PIECES = (
    b"<", b">", b"&", b"&#0;", b"&#xD800;", b"&unknown;", b"]]>", b"<!--", b"<a b='", b"\xff\xfe", b"\0",
    b"<!DOCTYPE a [<!ENTITY e 'eeeeeeee'>]>", b"%s%n{}", "数\ud7ff\u202e\U0001f600".encode(), b"\r\n\r\n", b"{\\rtf1",
    b"\xef\xbb\xbf",
)  # fmt: skip

Change = Callable[[bytearray, bytes, random.Random], bytearray]


def mutant(files: Mapping[str, bytes], seed: str) -> tuple[str, bytes]:
    """Damage one of some files.

    Args:
        files: By name.
        seed: The same seed gives the same damage.

    Returns:
        Name and bytes.
    """
    chance = random.Random(seed)  # noqa: S311 - a reproducible one is wanted
    names = sorted(files)
    weights = [min(1, _USUAL / max(1, len(files[name]))) for name in names]
    name, other = chance.choices(names, weights, k=2)
    data = files[name]
    # Old Office files, whose parts lie at fixed places, may hold a zip.
    is_ole = data.startswith(b"\xd0\xcf\x11\xe0")
    if not is_ole and zipfile.is_zipfile(io.BytesIO(data)) and chance.random() < 0.7:
        return name, _in_a_part(data, files[other], chance)
    return name, _damaged(data, files[other], chance, _IN_PLACE if is_ole else _ON_BYTES)


def _in_a_part(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Rebuild a zip with one part, or more, damaged, left out or doubled."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        names = [info.filename for info in source.infolist()]
        hit = set(chance.sample(names, min(len(names), chance.choice((1, 1, 1, 2, 5)))))
        for name in names:
            content = source.read(name)
            if name in hit:
                if chance.random() < 0.1:
                    continue
                is_text = content.lstrip()[:1] in {b"<", b"\xef"}
                content = _damaged(content, other, chance, _ON_TEXT if is_text else _ON_BYTES)
            target.writestr(name, content, chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)))
    return out.getvalue()


def _damaged(data: bytes, other: bytes, chance: random.Random, changes: Sequence[Change]) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, CHANGES)):
        if found:
            found = chance.choice(changes)(found, other, chance)
    return bytes(found)


def _flip(data: bytearray, _: bytes, chance: random.Random) -> bytearray:
    for _number in range(chance.choice((1, 4, 16, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return data


def _overwrite(data: bytearray, other: bytes, chance: random.Random) -> bytearray:
    start, size = chance.randrange(len(data)), chance.randint(1, _RUN)
    run = chance.choice((data, other, bytes(_RUN), b"\xff" * _RUN))
    source = chance.randrange(len(run) + 1)
    return (data[:start] + run[source : source + size] + data[start + size :])[: len(data)]


def _cut_off(data: bytearray, _: bytes, chance: random.Random) -> bytearray:
    return data[: chance.randrange(len(data))]


def _swap(data: bytearray, _: bytes, chance: random.Random) -> bytearray:
    a, b, c = sorted(chance.randrange(len(data) + 1) for _number in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _leave_out(data: bytearray, _: bytes, chance: random.Random) -> bytearray:
    start = chance.randrange(len(data))
    return data[:start] + data[start + chance.randint(1, _RUN) :]


def _insert(data: bytearray, _: bytes, chance: random.Random) -> bytearray:
    start = chance.randrange(len(data) + 1)
    run = chance.choice((chance.randbytes(8), bytes([chance.randrange(256)]), *_PIECES)) * chance.choice(
        (1, 1, 20)
    )
    return data[:start] + run[:_RUN] + data[start:]


def _splice(data: bytearray, other: bytes, chance: random.Random) -> bytearray:
    return data[: chance.randrange(len(data))] + other[chance.randrange(len(other) + 1) :]


def _number(data: bytearray, _: bytes, chance: random.Random) -> bytearray:
    """Replace one of the numbers that are written in digits, as sizes and places are."""
    found = list(re.finditer(rb"\d+", data))
    if not found:
        return data
    place = chance.choice(found)
    return data[: place.start()] + chance.choice(_NUMBERS) + data[place.end() :]


def _tag(data: bytearray, _: bytes, chance: random.Random) -> bytearray:
    """Leave out, double, nest or rename one tag."""
    found = list(re.finditer(rb"<[^<>]{0,300}>", data))
    if not found:
        return data
    place, another = chance.choice(found), chance.choice(found)
    tag = place[0]
    return (
        data[: place.start()]
        + chance.choice((b"", tag * 2, tag * 200, another[0], tag.lower(), tag.replace(b'"', b"", 1)))
        + data[place.end() :]
    )


_IN_PLACE: tuple[Change, ...] = (_flip, _flip, _flip, _overwrite, _overwrite, _overwrite, _cut_off, _swap)
_ON_BYTES: tuple[Change, ...] = (_flip, _cut_off, _swap, _leave_out, _insert, _splice, _number)
_ON_TEXT: tuple[Change, ...] = (*_ON_BYTES, _tag, _tag, _tag, _number)
