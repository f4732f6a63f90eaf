"""What the clients of OpenAI-compatible servers share: an address that may be shown, and what a server tells."""

from urllib.parse import urlsplit

from causalviz.errors import ParameterError

TOLD = 200
"""Characters of what a server tells, or of an address, that an error repeats."""


def host_of(url: str, variable: str) -> str:
    """Return host and port of an address.

    Args:
        url: Base address of a server.
        variable: The environment variable that holds it.

    Raises:
        ParameterError: it is none, or holds a secret, since addresses are shown.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"}:
        shown = url.rpartition("@")[2][:TOLD]  # what stands before may be a password
        raise ParameterError(
            f"{variable} is '{shown}', but an address such as http://127.0.0.1:8000/v1 was expected; correct it."
        )
    if parts.username is not None or parts.query:
        raise ParameterError(
            f"{variable} of {host} holds a user, password or query, but addresses are shown; put the key into "
            "OPENAI_API_KEY."
        )
    return f"{host}:{port}" if port else host


def told(body: object, key: str) -> str:
    """Return what a server told, for one sentence: "" or ": ..."; should it quote the key, without it."""
    message = body.get("message") if isinstance(body, dict) else None
    if not isinstance(message, str) or not message.strip():
        return ""
    words = " ".join(message.split()).rstrip(".")
    return f": {words.replace(key, '***') if key else words}"[:TOLD]
