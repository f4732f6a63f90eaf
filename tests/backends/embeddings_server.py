"""A local server of embeddings: answers as the protocol says, or as a test tells it to."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fakes import WordEncoder

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""
Fault = Callable[[list[str]], Answer | None]
"""Given the texts; None is no answer until the test is over."""


@dataclass(kw_only=True)
class EmbeddingsServer:
    """What was asked, and what is answered next."""

    url: str
    faults: deque[Fault | None] = field(default_factory=deque)
    """What becomes of the next requests; None and requests after the last are answered well."""
    requests: list[tuple[Message, dict[str, Any]]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


def as_json(status: int, value: object, **headers: str) -> Answer:
    """Answer a JSON value."""
    return status, {"Content-Type": "application/json"} | headers, json.dumps(value).encode()


def embeddings(vectors: Sequence[Sequence[float]], order: Sequence[int] | None = None) -> Answer:
    """Answer vectors, listed in some order."""
    data = [
        {"object": "embedding", "index": i, "embedding": list(vectors[i])}
        for i in order or range(len(vectors))
    ]
    return as_json(200, {"object": "list", "model": "words", "data": data, "usage": {}})


@contextmanager
def serving() -> Iterator[EmbeddingsServer]:
    """Serve WordEncoder's vectors, three times as long, on a free port."""
    words = WordEncoder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.headers, asked))
            fault = server.faults.popleft() if server.faults else None
            texts = asked["input"]
            answer = fault(texts) if fault else embeddings((3 * words.encode_queries(texts)).tolist())
            if answer is None:
                server.over.wait()
                self.close_connection = True
                return
            status, headers, body = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = EmbeddingsServer(url=f"http://127.0.0.1:{http.server_port}/v1")
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            http.shutdown()
            thread.join()
