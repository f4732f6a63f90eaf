"""The models of one app, without a page: chosen, tried, loaded and unloaded while people use it."""

import ipaddress
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from causalviz.backends.chat_local import HUB_ID as QWEN3_4B
from causalviz.backends.loading import first_line
from causalviz.backends.servers import host_of
from causalviz.backends.weights import Weights, find_weights, free_disk, free_memory, in_cache
from causalviz.bootstrap import (
    ENCODERS,
    Role,
    keep_only,
    loaded,
    make_chat,
    make_encoder,
    make_reranker,
    unload,
)
from causalviz.choices import read_choices, write_choices
from causalviz.errors import BackendError, CausalvizError, ParameterError
from causalviz.protocols import ChatModel, Encoder, Reranker
from causalviz.settings import Settings

Found = TypeVar("Found")
SUGGESTED: Mapping[Role, Mapping[str, tuple[str, ...]]] = {
    "encoder": {
        "e5-small": (),
        "bge-m3": ("BAAI/bge-m3",),
        "st": (
            "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
            "intfloat/multilingual-e5-base",
        ),
        "flag": ("BAAI/bge-small-zh-v1.5", "BAAI/bge-base-en-v1.5"),
        "openai": ("bge-m3", "nomic-embed-text"),
    },
    "reranker": {
        "": (),
        "bge-reranker-v2-m3": ("BAAI/bge-reranker-v2-m3",),
        "flag-reranker": ("BAAI/bge-reranker-base", "BAAI/bge-reranker-large"),
        "cross": ("cross-encoder/ms-marco-MiniLM-L6-v2", "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1"),
    },
    "chat": {
        "": (),
        "server": ("qwen3:4b", "llama3.2"),
        "local": (QWEN3_4B, "Qwen/Qwen3-0.6B"),
    },
}
"""Kinds of models, and what may be clicked of each."""
ADDRESSES = ("http://127.0.0.1:11434/v1", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8080/v1")
"""Where Ollama, vLLM and llama.cpp listen."""
SERVERS = {"openai", "server"}
_FIELDS: Mapping[Role, tuple[str, ...]] = {
    "encoder": ("encoder", "openai_url", "query_instruction", "passage_instruction"),
    "reranker": ("reranker",),
    "chat": ("chat_model", "chat_url"),
}
"""Fields of Settings, and of Choices, that a role has."""
_ADDRESS: Mapping[Role, tuple[str, str]] = {
    "encoder": ("openai_url", "CAUSALVIZ_OPENAI_URL"),
    "chat": ("chat_url", "CAUSALVIZ_CHAT_URL"),
}
_SETTLED: Mapping[Role, tuple[str, ...]] = {
    "encoder": ("--encoder", "CAUSALVIZ_ENCODER"),
    "reranker": ("CAUSALVIZ_RERANKER",),
    "chat": ("CAUSALVIZ_CHAT_MODEL", "CAUSALVIZ_CHAT_URL"),
}
"""What settles a role's model before anybody chooses."""
_PLACED = {
    "bge-m3",
    "st",
    "flag",
    "openai",
    "bge-reranker-v2-m3",
    "flag-reranker",
    "cross",
    "local",
    "server",
}
_OWN_NAMES = {"bge-m3": "BAAI/bge-m3", "bge-reranker-v2-m3": "BAAI/bge-reranker-v2-m3"}
"""Kinds that are a model already, and its hub id."""
_LONGEST = 1000
"""Characters of a name, an address or an instruction."""
_FLOAT32 = {"bge-m3", "flag"}
"""Kinds that compute in float32 on a CPU, whatever their weights were saved as."""
_SPARE = 1.2
"""Memory that loading and a batch of texts take, in times of the weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A model as somebody chooses it."""

    role: Role
    kind: str
    """A key of SUGGESTED; "" switches off."""
    place: str = ""
    """Hub id or folder; a server's name of the model."""
    url: str = ""
    query: str = ""
    passage: str = ""
    key: str = field(default="", repr=False)
    """A secret for the server: kept in this process's memory, and nowhere else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """What loading a model takes, beside what is free. Bytes; None where it is not known."""

    where: Literal["none", "loaded", "bundled", "server", "here", "hub", "unknown"]
    """Nothing is to be loaded; it is in memory; it came with the software; it runs elsewhere; its weights lie here; the
    hub has them; nobody knows."""
    memory: int | None = None
    download: int | None = None
    free_memory: int = 0
    free_disk: int = 0

    @property
    def short_of(self) -> tuple[str, ...]:
        """What there is too little of."""
        lacking = (
            ("memory", self.memory is not None and self.memory > self.free_memory),
            ("disk", self.download is not None and self.download > self.free_disk),
        )
        return tuple(name for name, short in lacking if short)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asker:
    """Where a request comes from."""

    client: str
    """IP address at the other end of the connection."""
    host: str
    """What the browser calls this app: its Host header."""
    forwarded: bool
    """Whether a proxy handed the request on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """What a trial found."""

    name: str
    seconds: float
    """Of the tiny text; loading aside."""
    loading: float
    dim: int | None = None
    """Length of an encoder's vectors."""


class Models:
    """Which models this app uses now. Everybody shares them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys: dict[tuple[Role, str], str] = {}
        self.generation = 0
        """Counts the encoders in use so far."""
        self._changing: dict[Role, threading.Lock] = {role: threading.Lock() for role in SUGGESTED}

    @property
    def settings(self) -> Settings:
        """The settings with the models as they are chosen now; of secrets the environment's alone."""
        return self._settings

    @property
    def encoder(self) -> Encoder:
        """The encoder in use; its first use loads it.

        Raises:
            CausalvizError: as make_encoder.
        """
        settings = self.encoder_settings
        return make_encoder(settings.encoder, settings)

    @property
    def encoder_settings(self) -> Settings:
        """What the encoder in use is made with: its server's key is in it."""
        return self._for("encoder", self._settings)

    @property
    def reranker(self) -> Reranker:
        """The reranker in use; ask has_reranker first.

        Raises:
            CausalvizError: as make_reranker.
        """
        return make_reranker(self._settings.reranker)

    @property
    def has_reranker(self) -> bool:
        """Whether one is chosen."""
        return bool(self._settings.reranker)

    @property
    def chat(self) -> ChatModel | None:
        """The chat model in use; None where none is chosen.

        Raises:
            CausalvizError: as make_chat.
        """
        return make_chat(self._for("chat", self._settings))

    @property
    def has_chat(self) -> bool:
        """Whether one is chosen, or half of one."""
        return bool(self._settings.chat_model or self._settings.chat_url)

    @property
    def may_fail(self) -> bool:
        """Whether the app may start though its encoder fails: it was chosen on the page, where another can be."""
        return not self.settled("encoder") and bool(read_choices(self._settings.home)[0].encoder)

    def loaded(self, role: Role) -> bool:
        """Whether the model in use is in memory."""
        return loaded(role, self._for(role, self._settings))

    def settled(self, role: Role) -> str:
        """What decides about a role's model before this page does: a variable's or an option's name; or ""."""
        return next((name for name in _SETTLED[role] if name in self._settings.fixed), "")

    def settled_address(self, role: Role) -> str:
        """The variable that gives the address of a role's server, or ""."""
        variable = _ADDRESS[role][1] if role in _ADDRESS else ""
        return variable if variable in self._settings.fixed else ""

    def has_key(self, role: Role) -> bool:
        """Whether the server in use is given a key."""
        return role in _ADDRESS and bool(self._for(role, self._settings).openai_key)

    def chosen(self, role: Role) -> Choice:
        """The model in use, as it would be chosen."""
        now = self._settings
        match role:
            case "encoder":
                kind, _, place = now.encoder.partition(":")
                return Choice(
                    role=role,
                    kind=kind,
                    place=place,
                    url=now.openai_url,
                    query=now.query_instruction,
                    passage=now.passage_instruction,
                )
            case "reranker":
                kind, _, place = now.reranker.partition(":")
                return Choice(role=role, kind=kind, place=place)
            case "chat":
                kind, _, place = now.chat_model.partition(":")
                if now.chat_url or (now.chat_model and kind != "local"):
                    return Choice(role=role, kind="server", place=now.chat_model, url=now.chat_url)
                return Choice(role=role, kind=kind, place=place)

    def needs(self, choice: Choice, *, shared: bool) -> Needs:
        """Say what loading would take; nothing is loaded, and no other machine asked.

        Raises:
            ParameterError: the choice is not complete, or not allowed.
        """
        settings = self._drafted(choice, shared=shared)
        free = {"free_memory": free_memory(), "free_disk": free_disk()}
        if not choice.kind:
            return Needs(where="none", **free)
        if choice.kind in SERVERS:
            return Needs(where="server", **free)
        if loaded(choice.role, settings):
            return Needs(where="loaded", **free)
        place = _place(choice) or next(iter(SUGGESTED[choice.role].get(choice.kind, ())), "")
        if not place:
            return Needs(where="bundled", **free)
        weights = find_weights(place)
        if weights is None:
            return Needs(where="unknown", **free)
        return Needs(
            where="hub" if weights.download else "here",
            memory=int(_SPARE * _in_memory(choice.kind, weights)),
            download=weights.download or None,
            **free,
        )

    def test(self, choice: Choice, *, shared: bool) -> Tried:
        """Load a model and let it do its work on a tiny text; what is in use stays in use.

        Raises:
            CausalvizError: it cannot be loaded, or fails at it; or one is being loaded already.
        """
        with self._only_one(choice.role):
            settings = self._drafted(choice, shared=shared)
            tried = self._tried(choice, settings, trial=True)
            self._remember_key(choice, settings)
            return tried

    def use(self, choice: Choice, *, shared: bool) -> Tried | None:
        """Load a model, let everybody use it from now on, and keep the choice.

        Returns:
            What its trial found; None for a role that was switched off.

        Raises:
            CausalvizError: as for test, and the model before stays in use; or the environment settles this role.
        """
        role = choice.role
        if by := self.settled(role):
            raise ParameterError(
                f"this model is set by {by}; leave that out at the next start to choose here."
            )
        with self._only_one(role):
            settings = self._drafted(choice, shared=shared)
            tried = self._tried(choice, settings, trial=False) if choice.kind else None
            self._remember_key(choice, settings)
            chosen = {name: getattr(settings, name) for name in _FIELDS[role]}
            self._settings = replace(self._settings, **chosen)
            self.generation += role == "encoder"
            keep_only(role, settings)
            self._keep(role)
            return tried

    def unload(self, role: Role) -> None:
        """Give the memory of a role back; the model in use stays chosen, and is loaded again when it is next needed."""
        settings = self._for(role, self._settings)
        keep_only(role, settings)
        unload(role, settings)

    def _keep(self, role: Role) -> None:
        """Write the choice down, without what the environment gives."""
        kept, _ = read_choices(self._settings.home)
        address, variable = _ADDRESS.get(role, ("", ""))
        names = [name for name in _FIELDS[role] if not (name == address and variable in self._settings.fixed)]
        write_choices(self._settings.home, replace(kept, **{n: getattr(self._settings, n) for n in names}))

    def _remember_key(self, choice: Choice, settings: Settings) -> None:
        if choice.key and choice.kind in SERVERS:
            self._keys[choice.role, str(getattr(settings, _ADDRESS[choice.role][0]))] = choice.key

    @contextmanager
    def _only_one(self, role: Role) -> Iterator[None]:
        if not self._changing[role].acquire(blocking=False):
            raise ParameterError("a model is being loaded here already; wait for it, then try again.")
        try:
            yield
        finally:
            self._changing[role].release()

    def _drafted(self, choice: Choice, *, shared: bool) -> Settings:
        """Settings with a choice in the place of the model in use, and the key for its server.

        Raises:
            ParameterError: the choice is not complete, or not allowed.
        """
        role, kind, place = choice.role, choice.kind, _complete(choice)
        url = self._checked_address(role, choice.url.strip()) if kind in SERVERS else ""
        if shared:
            self._check_shared(choice, place)
        if kind not in SERVERS and place.startswith(("/", ".", "~")) and not Path(place).is_dir():
            raise ParameterError(
                f"there is no folder '{place}' on this machine; correct it, or type a hub id."
            )
        named = kind if place in {"", _OWN_NAMES.get(kind)} else f"{kind}:{place}"
        match role:
            case "encoder":
                spoken = kind in {"st", "flag", "openai"}
                settings = replace(
                    self._settings,
                    encoder=named,
                    openai_url=url if kind == "openai" else self._settings.openai_url,
                    query_instruction=choice.query if spoken else "",
                    passage_instruction=choice.passage if spoken else "",
                )
            case "reranker":
                settings = replace(self._settings, reranker=named)
            case "chat":
                model = place if kind == "server" else named
                settings = replace(self._settings, chat_model=model, chat_url=url if kind == "server" else "")
        return replace(settings, openai_key=choice.key) if choice.key else self._for(role, settings)

    def _for(self, role: Role, settings: Settings) -> Settings:
        """Settings with the key for a role's server: the one typed for this very address, else the environment's."""
        if role not in _ADDRESS:
            return settings
        key = self._keys.get((role, getattr(settings, _ADDRESS[role][0])))
        return replace(settings, openai_key=key) if key else settings

    def _checked_address(self, role: Role, url: str) -> str:
        address, variable = _ADDRESS[role]
        if variable in self._settings.fixed:
            return str(getattr(self._settings, address))
        if not url:
            raise ParameterError(
                f"no address is given yet; type that of the server with its /v1, such as {ADDRESSES[0]}."
            )
        host_of(url, "the address")
        return url

    def _check_shared(self, choice: Choice, place: str) -> None:
        """Let people who share an app choose among what its owner put there.

        Raises:
            ParameterError: the choice would make this machine open a folder or an address of somebody's own.
        """
        if choice.kind in SERVERS:
            variable = _ADDRESS[choice.role][1]
            if variable not in self._settings.fixed:
                raise ParameterError(
                    f"in shared use the server is that of {variable}, which is not set; ask whoever runs the app."
                )
        elif place and place not in SUGGESTED[choice.role].get(choice.kind, ()) and not in_cache(place):
            raise ParameterError(
                "in shared use models are those suggested here, or downloaded to this machine already; choose one of "
                "them, or ask whoever runs the app."
            )

    def _tried(self, choice: Choice, settings: Settings, *, trial: bool) -> Tried:
        """Load and try a model.

        Raises:
            CausalvizError: something failed, whatever it was.
        """
        attempt = {"encoder": _try_encoder, "reranker": _try_reranker, "chat": _try_chat}[choice.role]
        try:
            return attempt(settings, trial)
        except Exception as error:  # noqa: BLE001 - see _named
            # What was loaded and does not work goes; what is in use stays.
            keep_only(choice.role, self._for(choice.role, self._settings))
            raise _named(error, choice) from None


def _named(error: Exception, choice: Choice) -> Exception:
    """Name what libraries raise for damaged files, which is anything: the page must stay usable."""
    if isinstance(error, CausalvizError):
        return error
    if isinstance(error, MemoryError):
        return BackendError(
            "this machine has not enough free memory for the model; close other programs, unload another model, or "
            "choose a smaller one."
        )
    why = first_line(error)[:200]
    if choice.kind in SERVERS:
        # A server's errors are named by its adapter; what is left may quote what was sent there.
        why = type(error).__name__
    else:
        logging.getLogger(__name__).warning("causalviz: a model failed", exc_info=error)
    return BackendError(
        f"the model cannot be used ({why}); check that its files are complete and of the kind chosen here, or choose "
        "another one."
    )


def _try_encoder(settings: Settings, trial: bool) -> Tried:  # noqa: FBT001 - as all three
    start = time.monotonic()
    encoder = make_encoder(settings.encoder, settings, trial=trial)
    ready = time.monotonic()
    encoder.encode_queries(["a"])
    encoder.encode_documents(["a"])
    end = time.monotonic()
    return Tried(name=encoder.name, loading=ready - start, seconds=(end - ready) / 2, dim=encoder.dim)


def _try_reranker(settings: Settings, trial: bool) -> Tried:  # noqa: ARG001, FBT001 - as all three
    start = time.monotonic()
    reranker = make_reranker(settings.reranker)
    ready = time.monotonic()
    reranker.score("a", ["b"])
    return Tried(name=reranker.name, loading=ready - start, seconds=time.monotonic() - ready)


def _try_chat(settings: Settings, trial: bool) -> Tried:  # noqa: FBT001 - as all three
    start = time.monotonic()
    chat = make_chat(settings, trial=trial)
    if chat is None:
        raise ParameterError("no chat model is chosen; choose one to test.")
    ready = time.monotonic()
    chat.reply("Say yes.", 1, lambda _: None)
    return Tried(name=chat.name, loading=ready - start, seconds=time.monotonic() - ready)


def refusal(settings: Settings, asker: Asker) -> str:
    """Say why somebody may not change this app's models; "" where they may."""
    if settings.allow_model_changes or not is_shared(settings, asker):
        return ""
    return (
        "This app is shared, and its models are everybody's: whoever runs it chooses them, in an app served to this "
        "machine alone or by environment variables, or lets everybody choose with CAUSALVIZ_ALLOW_MODEL_CHANGES=1."
    )


def is_shared(settings: Settings, asker: Asker) -> bool:
    """Whether others than the person at this machine use the app, or this person may be somebody else."""
    serving = settings.serving
    return bool(
        serving.auth_file
        or serving.trust_proxy
        or serving.root_path
        or asker.forwarded
        or not all(_is_local(name) for name in (settings.host, asker.client, _name(asker.host)))
    )


def watched(work: Callable[[], Found], every: float = 1.0) -> Iterator[float | Found]:
    """Run something that takes long in a thread; give the seconds that passed now and then, and at last its result.

    Raises:
        CausalvizError: as the work.
    """
    started = time.monotonic()
    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(work)
        while not wait([running], timeout=every).done:
            yield time.monotonic() - started
        yield running.result()


def _complete(choice: Choice) -> str:
    """Return the id, folder or name of a choice that lacks nothing.

    Raises:
        ParameterError: it lacks something, or makes no sense.
    """
    role, kind = choice.role, choice.kind
    if max(map(len, (choice.place, choice.url, choice.query, choice.passage, choice.key))) > _LONGEST:
        raise ParameterError(f"a field holds more than {_LONGEST:,} characters; shorten it.")
    place = _place(choice)
    if kind not in SUGGESTED[role] and not (role == "encoder" and kind in ENCODERS):
        raise ParameterError("the page sent a kind of model that does not exist; reload the page.")
    if kind in SERVERS and not place:
        raise ParameterError("a server needs the name of one of its models; type it as the server calls it.")
    if kind in {"st", "flag", "flag-reranker", "cross"} and not place:
        raise ParameterError("no model is named yet; type a hub id or a folder, or choose a suggestion.")
    return place


def _place(choice: Choice) -> str:
    """What was typed as id or folder, where the kind has one.

    Raises:
        ParameterError: it can be neither.
    """
    place = choice.place.strip() if choice.kind in _PLACED else ""
    try:
        folder = Path(place).expanduser()
        return str(folder) if folder.is_dir() and place.startswith("~") else place
    except (OSError, RuntimeError, ValueError) as error:
        raise ParameterError(f"'{place[:80]}' can be neither a hub id nor a folder; correct it.") from error


def _in_memory(kind: str, weights: Weights) -> int:
    return max(weights.in_float32, weights.size) if kind in _FLOAT32 else weights.size


def _is_local(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    return host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
