"""What browsers are told about the page: where its parts may come from, and who may show it."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from causalviz.settings import Serving
from causalviz.ui.serving.routes import route_of

_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
_HASHED = re.compile(r"/assets/.+-[\w-]{8,9}\.\w+")
"""A file of Gradio's page whose name tells its content: it is asked for once."""
_YEAR = 365 * 24 * 3600
_FORBIDDEN = ("camera", "display-capture", "geolocation", "microphone", "payment", "serial", "usb")


class SecureHeaders:
    """Adds what keeps browsers from doing more than the page needs, and tightens Gradio's cookies.

    It holds the page whole, to know its scripts; so it puts in the first of them, too: Gradio has no place for a script
    that runs before its own.
    """

    def __init__(self, app: ASGIApp, serving: Serving, first_script: str, head_script: str) -> None:
        self._app = app
        self._first = f"<head><script>{first_script}</script>".encode()
        self._embedded = bool(serving.frame_ancestors)
        self._ancestors = serving.frame_ancestors or "'none'"
        self._own = _hash(head_script.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        page: list[bytes] = []
        start: Message = {}
        is_page = route_of(scope) == "/" and scope["method"] == "GET"

        async def answer(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if is_page:
                    # Its inline scripts are known once it is whole.
                    start = message
                    return
                self._add(message, scope, ())
            elif is_page and message["type"] == "http.response.body":
                page.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                whole = b"".join(page).replace(b"<head>", self._first, 1)
                MutableHeaders(scope=start)["Content-Length"] = str(len(whole))
                self._add(start, scope, [self._own, *map(_hash, _SCRIPT.findall(whole))])
                await send(start)
                message = {**message, "body": whole}
            await send(message)

        await self._app(scope, receive, answer)

    def _add(self, start: Message, scope: Scope, scripts: Iterable[str]) -> None:
        headers = MutableHeaders(scope=start)
        headers["Content-Security-Policy"] = "; ".join(self._policy(scripts))
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "no-referrer"
        headers["Permissions-Policy"] = ", ".join(f"{name}=()" for name in _FORBIDDEN)
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        if not self._embedded:
            headers["X-Frame-Options"] = "DENY"
            headers["Cross-Origin-Resource-Policy"] = "same-origin"
        secure = scope["scheme"] == "https"
        if secure:
            headers["Strict-Transport-Security"] = f"max-age={_YEAR}"
        route = route_of(scope)
        if start["status"] == HTTPStatus.OK and _HASHED.fullmatch(route):
            headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable"
        elif not re.match(r"/(assets|static|svelte)/", route):
            headers.setdefault("Cache-Control", "no-store")
        start["headers"] = [
            (name, self._cookie(value, secure=secure) if name.lower() == b"set-cookie" else value)
            for name, value in start["headers"]
        ]

    def _policy(self, scripts: Iterable[str]) -> list[str]:
        allowed = " ".join(["'self'", "'unsafe-eval'", *scripts])
        return [
            "default-src 'none'",
            # Gradio makes functions of its components' JavaScript, which counts as eval. Markup that found its way into
            # the page still runs nothing: only scripts from here, and those the page came with.
            f"script-src {allowed}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "media-src 'self' blob:",
            "manifest-src 'self'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {self._ancestors}",
        ]

    def _cookie(self, value: bytes, *, secure: bool) -> bytes:
        kept = [
            part
            for part in value.decode("latin-1").split("; ")
            if not part.lower().startswith("samesite") and (secure or part.lower() != "secure")
        ]
        if secure and "Secure" not in kept:
            kept.append("Secure")
        # Within another site's page a browser sends no cookie that is not marked "none", and that only over TLS.
        kept.append("SameSite=None" if self._embedded and secure else "SameSite=Lax")
        return "; ".join(kept).encode("latin-1")


def _hash(script: bytes) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(script).digest()).decode()}'"
