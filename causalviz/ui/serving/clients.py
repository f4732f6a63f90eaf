"""Who asks: the client's address or login, the name the app was called by, and the page the request comes from."""

import ipaddress
import socket
from collections.abc import Iterable
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from causalviz.settings import Settings

_LOCAL = ("localhost", "127.0.0.1", "::1")
_SIX = 64
"""Bits of an IPv6 address that are one household's."""
_BELIEVED = b"x-forwarded-"
"""Headers in which a proxy says by which name and scheme it was called; Gradio would believe them of anybody."""
_OF_SERVERS = b"x-gradio-server"
"""Headers by which a server of Gradio's own tells its other parts who called; nobody sends them here."""
_MARK = (b"via", b"1.1 unnamed")


def address_of(scope: Scope) -> str:
    """Name the client by its address; of IPv6, by its network, since a household has all of it."""
    host = scope["client"][0] if scope.get("client") else ""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, _SIX), strict=False))
    return host


def login_of(scope: Scope) -> str | None:
    """Name who is logged in, by Gradio's cookie."""
    app, cookies = scope["app"], HTTPConnection(scope).cookies
    for kind in ("access-token", "access-token-unsecure"):
        token = cookies.get(f"{kind}-{app.cookie_id}")
        if token in app.tokens:
            login: str = app.tokens[token]
            return login
    return None


def without_forwarded(scope: Scope, *, trusted: bool) -> Scope:
    """Leave out what only a proxy may say, unless there is one that is trusted; that there is one stays to be seen."""
    drop = (_OF_SERVERS,) if trusted else (_BELIEVED, _OF_SERVERS)
    kept = [pair for pair in scope["headers"] if not pair[0].lower().startswith(drop)]
    return {**scope, "headers": kept if len(kept) == len(scope["headers"]) else [*kept, _MARK]}


class Names:
    """The names the app answers to. Any other could be a stranger's name that leads to this machine's address."""

    def __init__(self, settings: Settings) -> None:
        self._given = settings.serving.hosts
        self._only_local = settings.host.strip("[]") in _LOCAL
        own = () if self._only_local else (settings.host, socket.gethostname(), socket.getfqdn())
        self._own = {name.lower().strip("[]") for name in (*_LOCAL, *own)}

    def answers_to(self, name: str) -> bool:
        """Whether a host name, without its port, is one of them."""
        if name in self._own or any(fnmatchcase(name, given) for given in self._given):
            return True
        # No name of anybody's leads a browser to send an address here.
        return not self._only_local and not self._given and _is_address(name)


def hosts(headers: Headers) -> Iterable[str]:
    """Give each host the request was sent to: the one that was called, and the one a proxy was called by."""
    found = [headers.get("host", ""), *headers.get("x-forwarded-host", "").split(",")]
    return [host.strip().lower() for host in found if host.strip()]


def bare(host: str) -> str:
    """Leave the port of a host out."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_foreign(scope: Scope) -> bool:
    """Whether another site's page makes the browser send this; following a link from there is fine."""
    headers = Headers(scope=scope)
    site, mode = headers.get("sec-fetch-site", ""), headers.get("sec-fetch-mode", "")
    if site == "cross-site" and not (mode == "navigate" and scope["method"] in {"GET", "HEAD"}):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    called = hosts(headers)
    ours = {*called, *(f"{bare(host)}" for host in called if ":" not in host.rpartition("]")[2])}
    try:
        netloc, name = urlsplit(origin).netloc.lower(), urlsplit(origin).hostname
    except ValueError:
        return True
    # A proxy may leave the port out of what it was called by.
    return netloc not in ours and name not in ours


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
