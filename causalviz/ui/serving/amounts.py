"""How much of the app one client may use: requests a minute, bytes a request, pages open at once."""

import math
import time
from collections import Counter

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.formparsers import MultiPartException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from causalviz.settings import Serving
from causalviz.ui.serving.clients import address_of, login_of
from causalviz.ui.serving.routes import HEARTBEAT, JOIN, LOGIN, RUN, UPLOAD, refuse, route_of

_BUSY = 503
_PAUSE = 5
"""Seconds after which it is worth trying again where it is not known."""


class Rates:
    """Bounds what one client may ask for in a minute, and says so where the queue is full."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app = app
        self._seen = SlidingWindowCounterRateLimiter(MemoryStorage())
        queries = _Rate(serving.queries, "requests")
        self._rates = {
            ("POST", JOIN): queries,
            ("POST", RUN): queries,
            ("GET", "/"): queries,
            ("POST", UPLOAD): _Rate(serving.uploads, "uploads"),
            ("POST", LOGIN): _Rate(serving.logins, "attempts to log in"),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = route_of(scope)
        rate = self._rates.get((scope["method"], route))
        if rate is not None:
            # A login is tried by nobody yet.
            client = (None if route == LOGIN else login_of(scope)) or address_of(scope)
            if not self._seen.hit(rate.item, client):
                left = self._seen.get_window_stats(rate.item, client).reset_time - time.time()
                seconds = max(1, math.ceil(left))
                words = (
                    f"There were too many {rate.what} within a minute; wait {seconds} seconds and try again."
                )
                await refuse(scope, 429, words, seconds)(scope, receive, send)
                return

        full = refuse(
            scope, 429, "Too many people ask at this moment; wait some seconds and ask again.", _PAUSE
        )
        swap = _Swap(scope, receive, send, full)

        async def answer(message: Message) -> None:
            if route == JOIN and message["type"] == "http.response.start" and message["status"] == _BUSY:
                swap.due = True
            await swap.send(message)

        await self._app(scope, receive, answer)


class OpenPages:
    """Bounds the pages that are open at once; each holds its session's documents and results in memory."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = route_of(scope)
        beats = route.startswith(HEARTBEAT)
        client = login_of(scope) or address_of(scope)
        if beats or (route == "/" and scope["method"] == "GET"):
            if self._open.total() >= self._most:
                words = "Too many people have this app open at this moment; try again in a minute."
                await refuse(scope, _BUSY, words, 60)(scope, receive, send)
                return
            if self._open[client] >= max(1, self._most // 2):
                words = (
                    "You have this app open too many times; close some of its pages, then reload this one."
                )
                await refuse(scope, 429, words, _PAUSE)(scope, receive, send)
                return
        if not beats:
            await self._app(scope, receive, send)
            return
        # A page holds this one request as long as it is open.
        self._open[client] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]


class Sizes:
    """Bounds what a request may bring, however long it says it is."""

    def __init__(self, app: ASGIApp, upload_bytes: int, request_bytes: int) -> None:
        self._app, self._upload_bytes, self._request_bytes = app, upload_bytes, request_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_upload = route_of(scope) == UPLOAD
        most = self._upload_bytes if is_upload else self._request_bytes
        words = f"This is larger than the {most / 1e6:,g} MB that may be sent at once; send less."
        swap = _Swap(scope, receive, send, refuse(scope, 413, words))
        got = 0

        async def counted() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > most:
                swap.due = True
                # A browser shows the answer only once it has sent everything; nothing of it is kept.
                while message.get("more_body") and got <= 2 * most:
                    message = await receive()
                    got += len(message.get("body", b""))
            if swap.due or (is_upload and message["type"] == "http.disconnect"):
                # At this one Gradio deletes what has arrived of an upload.
                raise MultiPartException("The upload is not complete.")
            return message

        try:
            await self._app(scope, counted, swap.send)
        except MultiPartException:
            await swap.end()


class _Rate:
    def __init__(self, amount: int, what: str) -> None:
        self.item: RateLimitItem = RateLimitItemPerMinute(amount, namespace=what)
        self.what = what


class _Swap:
    """Sends another answer instead of the app's, if it is due before that begins."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, other: Response) -> None:
        self._scope, self._receive, self._send, self._other = scope, receive, send, other
        self._begun = self._swapped = False
        self.due = False

    async def send(self, message: Message) -> None:
        if self.due and not self._begun:
            await self.end()
        if not self._swapped:
            self._begun = True
            await self._send(message)

    async def end(self) -> None:
        """Send it, unless an answer has begun."""
        if self.due and not self._begun:
            self._begun = self._swapped = True
            await self._other(self._scope, self._receive, self._send)
