"""What a chat model wrote, as people read it."""

import regex


def without_thoughts(reply: str) -> str:
    """Leave out what a reasoning model thinks before it answers; nothing is left while it still thinks."""
    return regex.sub(r"^\s*<think>.*?(?:</think>\s*|$)", "", reply, flags=regex.DOTALL)
