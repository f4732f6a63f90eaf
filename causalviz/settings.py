"""What the environment may set, and what the Models page set: the only module that reads the environment."""

import ipaddress
import logging
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import platformdirs

from causalviz.choices import Choices, read_choices
from causalviz.errors import ParameterError

ROOT = Path(__file__).resolve().parent.parent
"""The checkout: assets/ and sample_kb/ lie beside the package."""


_PORTS = range(1, 65536)
_ENCODER = "CAUSALVIZ_ENCODER"
_CHAT = ("CAUSALVIZ_CHAT_URL", "CAUSALVIZ_CHAT_MODEL")
_MODELS = (
    _ENCODER,
    "CAUSALVIZ_OPENAI_URL",
    "CAUSALVIZ_QUERY_INSTRUCTION",
    "CAUSALVIZ_PASSAGE_INSTRUCTION",
    "CAUSALVIZ_RERANKER",
    *_CHAT,
)
"""Variables that the Models page would set otherwise."""
# What may be uploaded and read: environment variable -> field of documents.Limits, its units in one of the variable's.
_LIMITS = {
    "CAUSALVIZ_MAX_FILE_MB": ("file_bytes", 1e6),
    "CAUSALVIZ_MAX_UPLOAD_MB": ("upload_bytes", 1e6),
    "CAUSALVIZ_MAX_UNPACKED_MB": ("unpacked_bytes", 1e6),
    "CAUSALVIZ_MAX_ARCHIVE_RATIO": ("archive_ratio", 1.0),
    "CAUSALVIZ_MAX_ARCHIVE_MEMBERS": ("archive_members", 1.0),
    "CAUSALVIZ_MAX_ARCHIVE_DEPTH": ("archive_depth", 1.0),
    "CAUSALVIZ_MAX_PAGES": ("pages", 1.0),
    "CAUSALVIZ_MAX_CHARACTERS": ("characters", 1.0),
    "CAUSALVIZ_MAX_SECONDS": ("seconds", 1.0),
    "CAUSALVIZ_MAX_MEMORY_MB": ("memory_bytes", 1e6),
    "CAUSALVIZ_MAX_OCR_PAGES": ("ocr_pages", 1.0),
    "CAUSALVIZ_MAX_OCR_SECONDS": ("ocr_seconds", 1.0),
}
# The same for the web app, into Serving.
_SERVING = {
    "CAUSALVIZ_QUERY_RATE": ("queries", 1.0),
    "CAUSALVIZ_UPLOAD_RATE": ("uploads", 1.0),
    "CAUSALVIZ_LOGIN_RATE": ("logins", 1.0),
    "CAUSALVIZ_MAX_REQUEST_MB": ("request_bytes", 1e6),
    "CAUSALVIZ_MAX_QUEUE": ("queue", 1.0),
    "CAUSALVIZ_MAX_PAGES_OPEN": ("pages", 1.0),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """Who may use the web app, and how much of it. Rates are of one client: a login, or else an address."""

    auth_file: Path | None = None
    """CAUSALVIZ_AUTH_FILE: names and salted hashes of those who may log in; default none, nobody has to."""
    hosts: tuple[str, ...] = ()
    """CAUSALVIZ_HOSTS: names the app answers to, commas between, ``*.example.org`` for all below one. Without it: this
    machine's own names and, unless it binds to 127.0.0.1, its IP addresses."""
    trust_proxy: str = ""
    """CAUSALVIZ_TRUST_PROXY: addresses or networks of reverse proxies whose X-Forwarded headers are believed, commas
    between; default none."""
    root_path: str = ""
    """CAUSALVIZ_ROOT_PATH: where a reverse proxy shows the app, such as /causalviz; default its root."""
    frame_ancestors: str = ""
    """CAUSALVIZ_FRAME_ANCESTORS: origins whose pages may embed the app, spaces between; default none."""
    queries: int = 1200
    """CAUSALVIZ_QUERY_RATE: requests a minute; a question makes about four."""
    uploads: int = 60
    """CAUSALVIZ_UPLOAD_RATE: uploads a minute; one brings any number of files."""
    logins: int = 10
    """CAUSALVIZ_LOGIN_RATE: attempts to log in a minute."""
    request_bytes: int = 5_000_000
    """CAUSALVIZ_MAX_REQUEST_MB: largest request that is no upload, in millions of bytes."""
    queue: int = 100
    """CAUSALVIZ_MAX_QUEUE: requests that may wait."""
    pages: int = 200
    """CAUSALVIZ_MAX_PAGES_OPEN: pages that may be open at once, half of them by one client."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read the environment.

        Raises:
            ParameterError: a number or an address is none, or the path does not begin with a slash.
        """
        auth_file = environment.get("CAUSALVIZ_AUTH_FILE")
        root_path = environment.get("CAUSALVIZ_ROOT_PATH", "").rstrip("/")
        if root_path and not root_path.startswith("/"):
            raise ParameterError(
                f"CAUSALVIZ_ROOT_PATH is '{root_path}', but the path begins with a slash, such as /causalviz; set that."
            )
        trust_proxy = environment.get("CAUSALVIZ_TRUST_PROXY", "").replace(" ", "")
        strange = next(
            (part for part in trust_proxy.split(",") if trust_proxy and not _is_network(part)), None
        )
        if strange is not None:
            raise ParameterError(
                f"CAUSALVIZ_TRUST_PROXY names '{strange}', but a proxy is named by its address or network, as in "
                "127.0.0.1 or 172.16.0.0/12; set that."
            )
        hosts = environment.get("CAUSALVIZ_HOSTS", "").lower().split(",")
        numbers = {
            field: math.ceil(units * _positive(variable, environment[variable]))
            for variable, (field, units) in _SERVING.items()
            if variable in environment
        }
        return cls(
            auth_file=Path(auth_file) if auth_file else None,
            hosts=tuple(name.strip() for name in hosts if name.strip()),
            trust_proxy=trust_proxy,
            root_path=root_path,
            frame_ancestors=" ".join(environment.get("CAUSALVIZ_FRAME_ANCESTORS", "").split()),
            **numbers,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Where things live and how the web app is served. Each field names its environment variable."""

    home: Path
    """CAUSALVIZ_HOME: knowledge bases and caches; default: the user's data folder for applications."""
    encoder: str
    """CAUSALVIZ_ENCODER: name of the encoder; default e5-small."""
    host: str
    """CAUSALVIZ_HOST: address the web app binds to; default 127.0.0.1, only this machine."""
    port: int
    """CAUSALVIZ_PORT: default 7860."""
    reranker: str = ""
    """CAUSALVIZ_RERANKER: name of the cross-encoder that scores candidates too; default none."""
    query_instruction: str = ""
    """CAUSALVIZ_QUERY_INSTRUCTION: put before questions and keywords, for an encoder that declares no prompt itself."""
    passage_instruction: str = ""
    """CAUSALVIZ_PASSAGE_INSTRUCTION: the same for passages."""
    openai_url: str = ""
    """CAUSALVIZ_OPENAI_URL: base address of an OpenAI-compatible server of embeddings, with its /v1; no default."""
    openai_key: str = field(default="", repr=False)
    """OPENAI_API_KEY: what such servers ask for. A secret: never shown, logged or stored."""
    chat_url: str = ""
    """CAUSALVIZ_CHAT_URL: base address of an OpenAI-compatible server of chat models, with its /v1; no default."""
    chat_model: str = ""
    """CAUSALVIZ_CHAT_MODEL: name of a model there, or "local", or "local:ID_OR_FOLDER"; default none."""
    limits: Mapping[str, float] = field(default_factory=dict, hash=False)
    """CAUSALVIZ_MAX_FILE_MB and its like (``_LIMITS``): those set, by field of ``documents.Limits``, in its units."""
    serving: Serving = Serving()
    """Who may use the web app, and how much of it."""
    allow_model_changes: bool = False
    """CAUSALVIZ_ALLOW_MODEL_CHANGES: 1 lets everybody who uses a shared app choose models; default: only read."""
    fixed: frozenset[str] = frozenset()
    """What settles a model wherever else one is chosen: names of variables that are set, and "--encoder"."""
    remark: str = ""
    """One sentence on a file of chosen models that cannot be read; "" where there is nothing to say."""

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None, *, app: bool = False) -> Self:
        """Read the environment, and the choices of the Models page for what it leaves open.

        Args:
            environment: None for the process's own, with the choices kept in its home; a mapping stands alone.
            app: Take a chosen reranker and chat model too, not the encoder alone (docs/adr/0011-models.md).

        Raises:
            ParameterError: CAUSALVIZ_PORT is not a port number, or a limit no number above 0.
        """
        kept, remark = Choices(), ""
        if environment is None:
            environment = os.environ
            kept, remark = read_choices(_home(environment))
        if remark:
            logging.getLogger(__name__).warning("causalviz: %s", remark)
        fixed = frozenset(name for name in _MODELS if environment.get(name))
        # Address and instructions were chosen for the encoder they were chosen with, a model for its server.
        own = Choices() if _ENCODER in fixed else kept
        chat = kept if app and fixed.isdisjoint(_CHAT) else Choices()
        port = environment.get("CAUSALVIZ_PORT", "7860")
        if not port.isascii() or not port.isdigit() or int(port) not in _PORTS:
            raise ParameterError(
                f"CAUSALVIZ_PORT is '{port}', but a port is a number from 1 to 65535; set one or unset it."
            )
        return cls(
            home=_home(environment),
            encoder=environment.get(_ENCODER) or own.encoder or "e5-small",
            host=environment.get("CAUSALVIZ_HOST", "127.0.0.1"),
            port=int(port),
            reranker=environment.get("CAUSALVIZ_RERANKER") or (kept.reranker if app else ""),
            query_instruction=environment.get("CAUSALVIZ_QUERY_INSTRUCTION") or own.query_instruction,
            passage_instruction=environment.get("CAUSALVIZ_PASSAGE_INSTRUCTION") or own.passage_instruction,
            openai_url=environment.get("CAUSALVIZ_OPENAI_URL") or own.openai_url,
            chat_url=environment.get("CAUSALVIZ_CHAT_URL") or chat.chat_url,
            chat_model=environment.get("CAUSALVIZ_CHAT_MODEL") or chat.chat_model,
            fixed=fixed,
            remark=remark,
            allow_model_changes=environment.get("CAUSALVIZ_ALLOW_MODEL_CHANGES", "") not in {"", "0"},
            openai_key=environment.get("OPENAI_API_KEY", ""),
            serving=Serving.of(environment),
            limits={
                limit: units * _positive(variable, environment[variable])
                for variable, (limit, units) in _LIMITS.items()
                if variable in environment
            },
        )

    @classmethod
    def of_environment(cls) -> Self:
        """Read the process's environment alone, for a model that was named on the command line."""
        return cls.of(os.environ)

    def with_encoder(self, name: str) -> Self:
        """Take the encoder named on the command line, with what the environment alone says about it."""
        own = self if name == self.encoder else self.of_environment()
        return replace(
            self,
            encoder=name,
            openai_url=own.openai_url,
            query_instruction=own.query_instruction,
            passage_instruction=own.passage_instruction,
            fixed=self.fixed | {"--encoder"},
        )

    @property
    def knowledge_bases(self) -> Path:
        """Folder of the saved knowledge bases the web app offers."""
        return self.home / "knowledge_bases"

    @property
    def cache(self) -> Path:
        """Folder of knowledge bases built on the way (a folder ranked directly, a themes file)."""
        return self.home / "cache"


def _home(environment: Mapping[str, str]) -> Path:
    home = environment.get("CAUSALVIZ_HOME")
    return Path(home) if home else Path(platformdirs.user_data_dir("causalviz", appauthor=False))


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _positive(variable: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise ParameterError(
            f"{variable} is '{text}', but a limit is a number above 0, as in {variable}=100; set one or unset it."
        )
    return number
