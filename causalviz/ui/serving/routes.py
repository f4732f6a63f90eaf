"""The addresses the page asks for, and how a request is turned away."""

import html
import re

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Scope

_API = "/gradio_api"
UPLOAD = f"{_API}/upload"
JOIN = f"{_API}/queue/join"
RUN = f"{_API}/run/predict"
HEARTBEAT = f"{_API}/heartbeat/"
LOGIN = "/login"
# What Gradio's page asks for, and nothing else of all that Gradio offers: no file of this machine (file=), none of
# another (proxy=, file=http), no inventory (config, info), no other way to run things (call, api, component_server).
_PUBLIC = re.compile(
    rf"/(login|logout|theme\.css|favicon\.ico|manifest\.json|robots\.txt|(assets|static|svelte)/.+)?"
    rf"|{_API}/(startup-events|app_id|login_check)"
)
_FOR_USERS = re.compile(
    rf"{_API}/(queue/(join|data)|run/predict|cancel|reset|upload|upload_progress|heartbeat/\w+)"
)


def route_of(scope: Scope) -> str:
    """Give the address below the app's root, without a slash at its end."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    below = path.removeprefix(root) if root and f"{path}/".startswith(f"{root}/") else path
    return below.rstrip("/") or "/"


def is_public(route: str) -> bool:
    """Whether it is open to those who have not logged in: the page itself, which asks them to."""
    return _PUBLIC.fullmatch(route) is not None


def is_open(route: str) -> bool:
    """Whether it is open to users."""
    return is_public(route) or _FOR_USERS.fullmatch(route) is not None


def refuse(scope: Scope, status: int, sentence: str, seconds: int | None = None) -> Response:
    """Turn a request away with one sentence, in the form in which Gradio's page shows it.

    Args:
        scope: Of the request.
        status: Of HTTP.
        sentence: Why, and what to do.
        seconds: After which it may be tried again.
    """
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    route = route_of(scope)
    if route == "/":
        page = f"<!doctype html><meta charset=utf-8><title>CausalViz</title><p>{html.escape(sentence)}</p>"
        return HTMLResponse(page, status, headers)
    if route == UPLOAD:
        return PlainTextResponse(sentence, status, headers)
    return JSONResponse({"detail": sentence, "error": sentence}, status, headers)
