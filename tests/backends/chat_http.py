"""A server that speaks the OpenAI chat protocol; ``behaviour``, or else the model, chooses how it behaves."""

import json
import re
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-very-secret"
PIECE = 12
"""Characters."""


class Server(ThreadingHTTPServer):
    """Remembers what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.behaviour = ""
        self.left = threading.Event()
        """Set once a client went away before the end of a silence."""
        self.silence = 1.5
        """Seconds."""
        self.pause = 0.0
        """Seconds between two pieces."""

    @property
    def url(self) -> str:
        """Base address for clients."""
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def serving() -> Iterator[Server]:
    """Serve in a thread."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply_to(prompt: str) -> str:
    """Quote a sentence of every source, and claim one thing that no source holds."""
    if prompt.startswith("Translate"):
        return "译文（translation）：" + prompt.split("-----")[2].strip()[:40]
    sources = re.findall(
        r"^----- source (\d+), mark \w+ -----\n(.+?)\n-----", prompt, re.MULTILINE | re.DOTALL
    )
    longest = [(number, max(text.split("\n"), key=len)) for number, text in sources]
    quoted = [f"{re.split('[.。!?] ?', text)[0]} [{number}]." for number, text in longest]
    return " ".join([*quoted, "Penguins govern Antarctica since 1911 [1]."])


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Keep quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers.get("authorization"))
        model = self.server.behaviour or body["model"]
        if model == "busy once":
            model = "429" if len(self.server.requests) == 1 else "good"
        if model.isdigit():
            headers = {"retry-after": "0"} if model in {"429", "500"} else {}
            message = f"fault {model} for key {KEY}\nsecond line"
            self._send(int(model), json.dumps({"error": {"message": message}}), "application/json", headers)
        elif model == "silent":
            self._keep_silent()
        elif model == "web page":
            self._send(200, "<html>hello</html>", "text/html", {})
        else:
            self._stream(model, reply_to(body["messages"][0]["content"]))

    def _keep_silent(self) -> None:
        """Wait as a busy server does, which notices when nobody listens any more."""
        if select.select([self.connection], [], [], self.server.silence)[0]:
            self.server.left.set()

    def _send(self, status: int, text: str, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def _stream(self, model: str, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        try:
            for start in range(0, len(text), PIECE):
                self._event({"choices": [{"index": 0, "delta": {"content": text[start : start + PIECE]}}]})
                if model == "lost":  # the connection ends within the chunked body
                    return
                if model == "broken":
                    self._raw("data: {broken\n\n")
                if model == "strange":
                    self._event(["no object"])
                if model == "fault":
                    self._event({"error": {"message": f"out of memory, key {KEY}"}})
                if model == "hangs":
                    self._keep_silent()
                time.sleep(self.server.pause)
            if model != "gone":  # ends politely, but unfinished
                reason = "length" if model == "long" else "stop"
                self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
                self._event({"choices": [], "usage": {"total_tokens": 1}})
                self._raw("data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass  # the client went away, as it may

    def _event(self, value: object) -> None:
        self._raw(f"data: {json.dumps(value)}\n\n")

    def _raw(self, text: str) -> None:
        content = text.encode()
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()
