"""A chat model behind an OpenAI-compatible server: vLLM, Ollama, llama.cpp, or a hosted one."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING

from causalviz.answer.prompt import utf8_tokens
from causalviz.backends.loading import encodable
from causalviz.backends.servers import host_of, told
from causalviz.errors import BackendError, MissingBackendError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import openai

    from causalviz.protocols import Ending

CONNECT_SECONDS = 5.0
READ_SECONDS = 120.0
"""Between two pieces of a reply; a local server reads a long prompt before it writes the first."""
LOOK_SECONDS = 0.2
"""Between two looks at whether the reply is still wanted, while the server is silent."""
RETRIES = 2
"""After a refusal that may pass (429, 5xx, no connection), with the pause the server asks for."""
_LOST = {"RemoteProtocolError", "ReadError"}
"""Causes of a lost connection that had been there."""


class ServerChat:
    """One model of one server. The key goes into requests and nowhere else."""

    def __init__(self, url: str, model: str, key: str = "", read_seconds: float = READ_SECONDS) -> None:
        """Note where the model is; nothing is sent yet.

        Args:
            url: Base address, with the /v1 most servers have.
            model: A name the server knows.
            key: "" where the server asks for none.
            read_seconds: Longest silence.

        Raises:
            ParameterError: the address is none, or holds a secret.
            MissingBackendError: the client library is not installed.
        """
        host = host_of(url, "CAUSALVIZ_CHAT_URL")
        try:
            import openai  # noqa: F401 - its absence is to be told now
        except ImportError as error:
            raise MissingBackendError(
                f"chat model '{model}' needs the package openai ({error}); run `pip install -r requirements.txt`."
            ) from error
        self._url = url
        self._host = host
        self._server = f"the chat server {host}"
        self._model = model
        self._key = key
        self._read_seconds = read_seconds

    @property
    def name(self) -> str:
        """The model and its server."""
        return f"{self._model} at {self._host}"

    @property
    def context(self) -> int | None:
        """Not told: the protocol has no place for it."""
        return None

    def count_tokens(self, text: str) -> int:
        """Estimate by length; see utf8_tokens."""
        return utf8_tokens(text)

    def reply(self, prompt: str, limit: int, piece: Callable[[str], None]) -> Ending:
        """See ChatModel. The most likely words are asked for, so that two prompts differ by their sources alone."""
        # In a thread of its own: the caller's may have a loop already, as in a notebook.
        with ThreadPoolExecutor(1, "reply") as thread:
            return thread.submit(asyncio.run, self._reply(encodable(prompt), limit, piece)).result()

    async def _reply(self, prompt: str, limit: int, piece: Callable[[str], None]) -> Ending:
        """Wait for pieces in a task, so that a silent server can be left: its connection is closed at once."""
        came, ended = False, None
        async with aclosing(self._stream(prompt, limit)) as stream:
            while True:
                waiting = asyncio.ensure_future(anext(stream, None))
                try:
                    while not (await asyncio.wait([waiting], timeout=LOOK_SECONDS))[0]:
                        piece("")
                finally:
                    waiting.cancel()
                    await asyncio.wait([waiting])
                found = waiting.result()
                if found is None:
                    break
                text, reason = found
                came, ended = True, reason or ended
                piece(text)
        if ended is None:
            raise BackendError(self._broken_off if came else self._no_stream)
        return "cut" if ended == "length" else "complete"

    async def _stream(self, prompt: str, limit: int) -> AsyncGenerator[tuple[str, str | None]]:
        """Give pieces of text, each with the reason why the reply ends there, if it does."""
        import openai

        try:
            async with (
                openai.AsyncOpenAI(
                    base_url=self._url,
                    api_key=self._key or "none",
                    timeout=openai.Timeout(self._read_seconds, connect=CONNECT_SECONDS),
                    max_retries=RETRIES,
                ) as client,
                await client.chat.completions.create(
                    model=self._model,
                    messages=[{"role": "user", "content": prompt}],
                    max_tokens=limit,
                    temperature=0,
                    stream=True,
                ) as stream,
            ):
                async for chunk in stream:
                    # Some servers close with a chunk that has no choice, but the count of tokens.
                    for choice in (chunk.choices or [])[:1]:
                        yield choice.delta.content or "", choice.finish_reason
        # The causes are not chained: they quote the server, which may quote the key.
        except openai.OpenAIError as error:
            raise BackendError(self._sentence(error)) from None
        except (ValueError, AttributeError, TypeError):
            # The client hands on what comes without checking it.
            raise BackendError(self._no_stream) from None

    @property
    def _no_stream(self) -> str:
        return (
            f"{self._server} sent a reply that is no chat stream; check that CAUSALVIZ_CHAT_URL ends right, "
            "usually /v1."
        )

    @property
    def _broken_off(self) -> str:
        return (
            f"{self._server} broke off in the middle of its reply; check that it still runs, then ask again."
        )

    def _sentence(self, error: openai.OpenAIError) -> str:
        """What happened and what helps. What the server said is shown short, without the key."""
        import openai

        server = self._server
        match error:
            case openai.APIStatusError():
                return self._refusal(error.status_code, error)
            case openai.APITimeoutError():
                return (
                    f"{server} was silent for too long; check that the model is loaded and not too large for that "
                    "machine, then ask again."
                )
            case openai.APIConnectionError() if type(error.__cause__).__name__ in _LOST:
                return self._broken_off
            case openai.APIConnectionError():
                return f"{server} cannot be reached; start it, or correct CAUSALVIZ_CHAT_URL."
            case _:
                return f"{server} reported a fault{self._told(error)}; look into its log, then ask again."

    def _refusal(self, status: int, error: openai.APIStatusError) -> str:
        server, model = self._server, self._model
        match status:
            case 401 | 403:
                # What the server tells is left out: some quote the key.
                return (
                    f"{server} refused the key ({status}); set OPENAI_API_KEY to one that may use '{model}', "
                    "and start again."
                )
            case 404:
                return (
                    f"{server} knows no model '{model}' at this address (404); set CAUSALVIZ_CHAT_MODEL to one "
                    "it offers, and check that CAUSALVIZ_CHAT_URL ends in the right path, usually /v1."
                )
            case 429:
                pause = error.response.headers.get("retry-after", "")
                wait = f"wait {pause} seconds" if pause.isdigit() else "wait a minute"
                return f"{server} takes no more requests for now (429); {wait}, then ask again, or check its quota."
            case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return f"{server} failed ({status}{self._told(error)}); look into its log, then ask again."
            case _:
                return (
                    f"{server} refused the request ({status}{self._told(error)}); lower the token budget, or choose "
                    "another model."
                )

    def _told(self, error: openai.OpenAIError) -> str:
        return told(getattr(error, "body", None), self._key)
