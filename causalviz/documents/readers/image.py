"""Pictures of text (PNG, JPEG, TIFF), through text recognition (ocr.py)."""

import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.ocr import INSTALL, recognise_text
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "TIFF")  # Pillow knows fifty, some of which start other programs
_MAX_PIXELS = 100_000_000
_LONGEST = 5_000  # pixels of a side that engines get


def read_image(data: bytes, limits: Limits) -> ReadText:
    """Recognise the text of a picture, or of each page of a TIFF; refused where no engine is installed."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=_FORMATS)
        with image:
            count = getattr(image, "n_frames", 1)
            if count > limits.pages:
                raise UnreadableFileError(
                    f"the picture has {count:,} pages, but at most {limits.pages:,} are read; split it into parts."
                )
            found = recognise_text(_pages(image, count), limits)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnreadableFileError(
            f"the picture has more than {_MAX_PIXELS / 1e6:,.0f} megapixels, which is the limit; make it smaller."
        ) from error
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise UnreadableFileError(
            "a damaged or cut-off picture was found; copy or download the file again, or save it as PNG."
        ) from error
    if found.engine is None:
        raise UnreadableFileError(
            f"a picture was found, and no text recognition (OCR) is installed here; {INSTALL}."
        )
    texts = {number: text for number, text in enumerate(found.texts, 1) if text}
    why_missed = found.why_missed(count, limits)
    if not texts:
        raise UnreadableFileError(f"no readable text was found in the picture; {why_missed}.")
    return ReadText(
        parts=tuple(Part(text, f"page {number}" if count > 1 else "") for number, text in texts.items()),
        pages=count if count > 1 else None,
        recognised_by=found.engine,
        warnings=(
            found.how,
            *(
                [f"pages from {len(found.texts) + 1} on left out; {why_missed}"]
                if len(found.texts) < count
                else []
            ),
        ),
    )


def _pages(image: "Image", count: int) -> Iterator["Image"]:
    from PIL import Image, ImageOps

    for number in range(count):
        image.seek(number)
        if image.width * image.height > _MAX_PIXELS:
            raise Image.DecompressionBombError
        page = ImageOps.exif_transpose(image).convert("RGBA")
        page = Image.alpha_composite(Image.new("RGBA", page.size, "white"), page).convert("L")
        page.thumbnail((_LONGEST, _LONGEST))
        yield page
