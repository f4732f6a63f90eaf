"""What becomes of a failure nobody foresaw: the log gets all of it, the page a number."""

import logging
import secrets

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from causalviz.ui.serving.routes import refuse

_LOG = logging.getLogger(__name__)


def unforeseen() -> str:
    """Log the exception that is being handled, with its trace; give the sentence for the page."""
    reference = secrets.token_hex(4)
    _LOG.exception("failure %s", reference)
    return (
        "Something went wrong in the app; try again, and if it stays so, tell whoever runs it the number "
        f"{reference}."
    )


class Failures:
    """Answers a request whose handling failed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception:
            if scope["type"] != "http" or begun:
                raise
            await refuse(scope, 500, unforeseen())(scope, receive, send)
