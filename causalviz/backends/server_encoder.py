"""An OpenAI-compatible server of embeddings (vLLM, Ollama, llama.cpp, text-embeddings-inference, hosted ones)."""

import weakref
from collections.abc import Sequence
from http import HTTPStatus

from causalviz.arrays import FloatMatrix
from causalviz.backends.loading import instruction_mark, unit_rows
from causalviz.backends.servers import host_of, told
from causalviz.errors import BackendError, MissingBackendError, ParameterError

BATCH = 32
"""Texts in a request: chunks of 4,096 characters stay well under what hosted servers take at once."""
SECONDS = 60.0
"""Waited for an answer. A server that loads its model first may need that long."""
RETRIES = 3
"""After a failed connection, 429 and 5xx; the client waits longer each time, or as long as the server asks."""


class ServerEncoder:
    """POST /v1/embeddings through the official client, which waits, retries and pools connections."""

    def __init__(  # noqa: PLR0913 - each is a property of the connection
        self,
        model: str,
        *,
        url: str,
        key: str = "",
        query_instruction: str = "",
        passage_instruction: str = "",
        seconds: float = SECONDS,
        retries: int = RETRIES,
    ) -> None:
        """Connect, and ask once for the length of a vector.

        Args:
            model: As the server calls it.
            url: Base address, with the server's /v1.
            key: What the server asks for; "" for a server that asks for none. It is given to nothing but the client.
            query_instruction: Put before questions and keywords, since such a server cannot tell them from passages.
            passage_instruction: Put before passages.
            seconds: Timeout of a request.
            retries: Attempts after the first.

        Raises:
            ParameterError: the address is missing or is none.
            MissingBackendError: the client is not installed.
            BackendError: the server does not answer as it should.
        """
        if not url:
            raise ParameterError(
                "an encoder 'openai:MODEL' needs the address of a server; set CAUSALVIZ_OPENAI_URL, for example to "
                "http://localhost:8000/v1."
            )
        host = host_of(url, "CAUSALVIZ_OPENAI_URL")
        try:
            from openai import OpenAI
        except ImportError as error:
            raise MissingBackendError(
                f"encoder 'openai:{model}' needs the package openai ({error}); run `pip install -r requirements.txt`, "
                "or choose --encoder e5-small (bundled)."
            ) from error
        self._model = model
        self._query, self._passage = query_instruction, passage_instruction
        self._who = f"the server {host}"
        # The client insists on a key; servers that ask for none do not look at it.
        self._client = OpenAI(base_url=url, api_key=key or "no-key", timeout=seconds, max_retries=retries)
        # Its connections end with this encoder: who unloads a model does not know that it has any.
        weakref.finalize(self, self._client.close)
        self.dim = len(self._request(["a"])[0])
        if not self.dim:
            raise BackendError(
                f"{self._who} gave a vector of no numbers; check that '{model}' makes embeddings."
            )
        self.name = f"openai:{model}@{host}/{self.dim}" + instruction_mark(
            query_instruction, passage_instruction
        )

    def default_tau(self, *, centred: bool) -> None:
        """Nothing is known; the knowledge base proposes one."""

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords; see Encoder."""
        return self._encode(texts, self._query)

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages; see Encoder."""
        return self._encode(texts, self._passage)

    def _encode(self, texts: Sequence[str], instruction: str) -> FloatMatrix:
        def encode(filled: list[str]) -> list[list[float]]:
            rows: list[list[float]] = []
            for start in range(0, len(filled), BATCH):
                rows += self._request([instruction + text for text in filled[start : start + BATCH]])
            lengths = sorted({len(row) for row in rows})
            if lengths != [self.dim]:
                raise BackendError(
                    f"{self._who} gave vectors of {' and '.join(map(str, lengths))} numbers, but '{self._model}' gave "
                    f"{self.dim} before; restart it with the model the documents were indexed with."
                )
            return rows

        return unit_rows(texts, self.dim, encode, self._who)

    def _request(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, in their order.

        Raises:
            BackendError: the server refuses, fails, does not answer in time, or answers something else.
        """
        import openai

        try:
            answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            rows = {item.index: [float(number) for number in item.embedding] for item in answer.data}
        # The causes are not chained: they quote the server, which may quote the key.
        except openai.APITimeoutError:
            raise BackendError(
                f"{self._who} did not answer in {self._client.timeout:g} s; see whether it is busy or still loading "
                f"'{self._model}', then try again."
            ) from None
        except openai.APIConnectionError:
            raise BackendError(
                f"{self._who} cannot be reached; start it, or correct CAUSALVIZ_OPENAI_URL."
            ) from None
        except openai.APIStatusError as error:
            raise BackendError(
                self._refusal(error.status_code, told(error.body, self._client.api_key))
            ) from None
        except (openai.OpenAIError, ValueError, TypeError, AttributeError):
            raise BackendError(
                f"{self._who} answered something that holds no embeddings; check that CAUSALVIZ_OPENAI_URL ends where "
                f"its /embeddings begins, and that '{self._model}' makes embeddings."
            ) from None
        if rows.keys() != set(range(len(texts))):
            raise BackendError(
                f"{self._who} gave {len(answer.data)} vectors for {len(texts)} texts; restart it, or choose another "
                "model."
            )
        return [rows[i] for i in range(len(texts))]

    def _refusal(self, status: int, said: str) -> str:
        """Say what a status of the server means, and the cure."""
        if status in {401, 403}:
            # What the server tells is left out: some quote the key.
            return f"{self._who} refuses the key ({status}); set OPENAI_API_KEY to one that may use '{self._model}'."
        if status == HTTPStatus.NOT_FOUND:
            return (
                f"{self._who} knows no embeddings of '{self._model}' (404{said}); correct the model's name, or "
                "CAUSALVIZ_OPENAI_URL, which ends where /embeddings begins."
            )
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return f"{self._who} still asks to wait (429{said}); try again later, or raise the limit of your account."
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return f"{self._who} failed ({status}{said}); read its log, then try again."
        return f"{self._who} refuses the texts ({status}{said}); choose a model that reads longer texts."
