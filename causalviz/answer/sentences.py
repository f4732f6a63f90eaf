"""Where the sentences of an answer or a document end, in Chinese, English and mixed text."""

import regex

# A full stop ends a sentence where a space follows and what stands before it is no usual abbreviation, initial or
# item number. Closing quotes and brackets belong to the sentence, and so do citations that follow it: "It works. [1]".
_END = regex.compile(
    r"""(?V1)
    (?:
        [。！？]+
      | [!?…]+ (?=[\s\p{Ps}\p{Pi}\p{Pf}\p{Pe}"']|$)
      | \.+ (?=[\s\p{Pf}\p{Pe}"']|\[\d|$)
        (?<! (?<!\p{L})
             (?: \p{Lu} | e\.g | i\.e | [Cc]f | [Vv]s | al | [Ff]ig | [Ee]q | [Dd]r | Mrs? | Prof | St ) \. )
        (?<! ^ \s* \d{1,3} \. ) (?<! \n \s* \d{1,3} \. )
    )
    [\p{Pe}\p{Pf}"']* (?: \s* (?:\[\d+(?:\s*[,，、]\s*\d+)*\]|【\d+】) )*
    | \n\s*
    """,
    regex.VERBOSE,
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Find the sentences of a text; a line break ends one, too.

    Returns:
        Half-open ranges in order, without the space around them. Whatever is not space lies in exactly one.
    """
    starts = [0, *(match.end() for match in _END.finditer(text))]
    found = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        if piece.strip():
            found.append((start + lead, start + len(piece.rstrip())))
    return found
