"""What the Models page says."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from causalviz.bootstrap import Role
from causalviz.ui.models import Choice, Models, Needs, Tried

KINDS: Mapping[Role, Sequence[tuple[str, str]]] = {
    "encoder": (
        ("multilingual-E5-small (bundled)", "e5-small"),
        ("BGE-M3 (the paper’s)", "bge-m3"),
        ("a sentence-transformers model", "st"),
        ("a FlagEmbedding model", "flag"),
        ("a server", "openai"),
    ),
    "reranker": (
        ("off", ""),
        ("bge-reranker-v2-m3 (the paper’s)", "bge-reranker-v2-m3"),
        ("a FlagEmbedding reranker", "flag-reranker"),
        ("a sentence-transformers CrossEncoder", "cross"),
    ),
    "chat": (("off", ""), ("a server", "server"), ("a model on this machine", "local")),
}
TITLES: Mapping[Role, str] = {
    "encoder": "Encoder",
    "reranker": "Reranker (cross-encoder)",
    "chat": "Chat model",
}
ABOUT: Mapping[Role, str] = {
    "encoder": "Turns questions, documents and keywords into vectors; everything is ranked by them. Another encoder "
    "means indexing every knowledge base anew, and a tau of its own.",
    "reranker": "Reads the question together with each document found: a third ranking beside the others on Explore. "
    "Optional, and slow: on a CPU a question takes seconds to minutes longer.",
    "chat": "Writes the answers on the Answer page, and translates foreign sources. Optional: without one that page "
    "shows the finished prompts to copy.",
}
HINTS: Mapping[str, str] = {
    "": "",
    "e5-small": "Quick on any machine, Chinese and English among a hundred languages, nothing to download.",
    "bge-m3": "More exact than the bundled one, reads up to 8,192 tokens at once; slow without a GPU.",
    "st": "Models saved with sentence-transformers, with the prompts they declare.",
    "flag": "Models that FlagEmbedding knows by their name, such as the BGE family.",
    "openai": "OpenAI-compatible: vLLM, Ollama, llama.cpp, or a hosted one. Questions and documents are sent there.",
    "bge-reranker-v2-m3": "Multilingual; the rival the paper compares with.",
    "flag-reranker": "Encoder-only rerankers that FlagEmbedding can load.",
    "cross": "Any model saved as a CrossEncoder that gives one score.",
    "server": "OpenAI-compatible: Ollama, vLLM, llama.cpp, or a hosted one. Questions and sources are sent there.",
    "local": "A transformers model with a chat template. Without a GPU an answer takes minutes.",
}

_OWN = {"local": "Qwen/Qwen3-4B"}


def place_label(kind: str) -> str:
    """Name the field in which a model is named."""
    return (
        "The server’s name of the model"
        if kind in {"openai", "server"}
        else "Hub id, or a folder on this machine"
    )


def gigabytes(size: int) -> str:
    """Bytes for people: "2.3 GB", "480 MB"."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6))} MB"  # noqa: PLR2004 - one GB


def needs_words(needs: Needs) -> str:
    """Say what loading takes, and what is free."""
    memory, disk = gigabytes(needs.free_memory), gigabytes(needs.free_disk)
    match needs.where:
        case "none":
            return ""
        case "loaded":
            return f"It is in memory already. {memory} of memory are still free."
        case "bundled":
            return "It came with the software: nothing to download, little memory."
        case "server":
            return "It runs on the server: nothing is downloaded, and no memory is taken here."
        case "unknown":
            return (
                "It is not on this disk: its size is unknown until it is downloaded. "
                f"Free here: {memory} of memory, {disk} of disk."
            )
    takes = f"about {gigabytes(needs.memory or 0)} of memory"
    have = f"{memory} of memory"
    if needs.where == "here":
        words = f"It is on this disk. It takes {takes}; free here: {have}."
    else:
        fetched = gigabytes(needs.download or 0)
        words = f"It is downloaded once: {fetched}. It takes {takes}; free here: {have}, {disk} of disk."
    if needs.short_of:
        words += (
            f" There is not enough {' and '.join(needs.short_of)} for it: unload another model, close programs or "
            "make room, or choose a smaller one."
        )
    return words


def tried_words(tried: Tried) -> str:
    """Say what a trial found."""
    took = f"a short text takes {_time(tried.seconds)}"
    numbers = f"{tried.dim:,} numbers a text, " if tried.dim else ""
    loading = f", loading took {_time(tried.loading)}" if tried.loading >= 0.1 else ""  # noqa: PLR2004 - noticeable
    return f"{tried.name} works: {numbers}{took}{loading}."


def state_words(models: Models, role: Role) -> str:
    """Say which model is in use, and whether it is in memory."""
    name = model_name(models.chosen(role))
    if not name:
        return "off"
    if models.chosen(role).kind in {"openai", "server"}:
        key = ", with a key" if models.has_key(role) else ""
        return f"{name}{key}"
    return f"{name}, {'in memory' if models.loaded(role) else 'loaded when it is first needed'}"


def model_name(choice: Choice) -> str:
    """Name a choice shortly; "" where it is off."""
    if choice.kind in {"openai", "server"}:
        return f"{choice.place or '(no model)'} on a server"
    # Where a folder lies is nobody's business but its owner's.
    folder = Path(choice.place)
    return (folder.name if folder.is_dir() else choice.place) or _OWN.get(choice.kind, choice.kind)


def settled_words(by: str) -> str:
    """Say that something outside decides."""
    return f"Set by {by}: leave that out at the next start to choose here." if by else ""


def rebuild_words(others: Mapping[str, str], encoder: str) -> str:
    """Name the knowledge bases that another encoder made.

    Args:
        others: Their names, each with its encoder.
        encoder: The one in use.
    """
    if not others:
        return ""
    names = ", ".join(f"{name} ({made})" for name, made in others.items())
    return (
        f"Made with another encoder, and not to be asked with {encoder}: {names}. Index their documents again, or "
        "choose their encoder here."
    )


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
