"""The layers every request passes on its way to the app, and the first of them."""

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from causalviz.settings import Settings
from causalviz.ui.serving.amounts import OpenPages, Rates, Sizes
from causalviz.ui.serving.clients import Names, bare, hosts, is_foreign, login_of, without_forwarded
from causalviz.ui.serving.failures import Failures
from causalviz.ui.serving.headers import SecureHeaders
from causalviz.ui.serving.routes import is_open, is_public, refuse, route_of


def doors(settings: Settings, *, upload_bytes: int, first_script: str, head_script: str) -> list[Middleware]:
    """Make the layers, outermost first.

    Args:
        settings: Who may use the app, and how much of it.
        upload_bytes: The largest upload.
        first_script: JavaScript the page runs before Gradio's own.
        head_script: JavaScript Gradio lets the page run once it is there.
    """
    serving = settings.serving
    return [
        Middleware(SecureHeaders, serving=serving, first_script=first_script, head_script=head_script),
        Middleware(Failures),
        Middleware(_Door, settings=settings),
        Middleware(Rates, serving=serving),
        Middleware(OpenPages, most=serving.pages),
        Middleware(Sizes, upload_bytes=upload_bytes, request_bytes=serving.request_bytes),
    ]


class _Door:
    """Turns away who calls by a wrong name, comes from another site's page, or wants what is not open to them."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = Names(settings)
        self._behind_proxy = bool(settings.serving.trust_proxy)
        self._login = settings.serving.auth_file is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        if scope["type"] == "websocket":  # Gradio has none
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "http":
            scope = without_forwarded(scope, trusted=self._behind_proxy)
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        route = route_of(scope)
        called = [bare(host) for host in hosts(Headers(scope=scope))]
        wrong = next((name for name in called or [""] if not self._names.answers_to(name)), None)
        if wrong is not None:
            return refuse(
                scope,
                421,
                f"This app does not answer to the name '{wrong[:80]}'; whoever runs it can add it to CAUSALVIZ_HOSTS.",
            )
        if is_foreign(scope):
            return refuse(scope, 403, "Another site's page may not use this app; open the app itself.")
        if not is_open(route):
            return refuse(scope, 404, "There is nothing at this address.")
        if self._login and not is_public(route) and login_of(scope) is None:
            return refuse(scope, 401, "Nobody is logged in any more; reload the page and log in.")
        return None
