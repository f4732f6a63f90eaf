"""The Models page: choose, test, load and unload the encoder, the reranker and the chat model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import gradio as gr

from causalviz.backends.weights import KNOWN, downloaded, in_cache
from causalviz.bootstrap import Role
from causalviz.errors import CausalvizError
from causalviz.ui import present, present_models
from causalviz.ui.library import SAMPLE_NAME, Library
from causalviz.ui.managing import Manager
from causalviz.ui.models import (
    ADDRESSES,
    SERVERS,
    SUGGESTED,
    Asker,
    Choice,
    Tried,
    is_shared,
    refusal,
    watched,
)

_ABOUT = (
    "**Which models work here?** Everybody who uses this app shares them. Test a choice first; **Use** loads it and "
    "keeps it for the next start. A key is kept in memory only, until the app ends."
)
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers by which a proxy gives itself away."""
_INSTRUCTED = {"st", "flag", "openai"}
"""Kinds that take instructions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Card:
    """What is laid out for one role."""

    role: Role
    state: gr.Markdown
    kind: gr.Radio
    hint: gr.Markdown
    place: gr.Dropdown
    url: gr.Dropdown
    key: gr.Textbox
    query: gr.Textbox
    passage: gr.Textbox
    needs: gr.Markdown
    said: gr.Markdown
    test: gr.Button
    use: gr.Button
    unload: gr.Button

    @property
    def fields(self) -> list[gr.components.Component]:
        """What is typed, in the order of _Events.choice's parameters."""
        return [self.kind, self.place, self.url, self.query, self.passage, self.key]

    @property
    def shown(self) -> list[gr.components.Component]:
        """What opening the page fills in, in the order of _Events.fill_in."""
        return [
            *(self.state, self.kind, self.hint, self.place, self.url, self.key, self.query, self.passage),
            *(self.needs, self.said, self.test, self.use, self.unload),
        ]


def build(library: Library, tab: gr.Tab) -> None:
    """Lay out the page and wire its events; nothing is loaded before somebody asks for it."""
    gr.Markdown(_ABOUT, elem_id="models-about")
    banner = gr.Markdown(visible=False, elem_id="models-banner")
    with gr.Row(elem_id="models-cards"):
        cards = [_laid_out(role) for role in get_args(Role)]
    events = [_Events(library, card.role) for card in cards]
    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    quick = private | {"queue": False}

    seen = gr.State(value=False)

    def opened(was_seen: bool, request: gr.Request) -> Any:  # noqa: ANN401, FBT001 - component updates; a state
        asker = _asker(request)
        settings = library.models.settings
        refused = refusal(settings, asker)
        shared = is_shared(settings, asker)
        # What is wrong with the file of choices is for whoever runs the app.
        remark = "" if shared else settings.remark
        words = "\n\n".join(present.plain_markdown(part) for part in (refused, remark) if part)
        filled: list[Any] = []
        for event in events:
            state, *fields = event.fill_in(may_change=not refused, shared=shared)
            # What somebody typed and did not use yet stays.
            filled += [state, *([gr.skip()] * len(fields) if was_seen else fields)]
        return True, gr.Markdown(words, visible=bool(words)), *filled

    tab.select(opened, seen, [seen, banner, *(part for card in cards for part in card.shown)], **quick)
    for card, event in zip(cards, events, strict=True):
        shown = [card.hint, card.place, card.url, card.key, card.query, card.passage, card.said]
        chosen = card.kind.input(event.kind, card.kind, shown, **quick)
        chosen.then(event.needs, card.fields, card.needs, **quick)
        for field in (card.place, card.url):
            field.input(event.needs, card.fields, card.needs, trigger_mode="always_last", **quick)
        ended = [card.said, card.key, card.state, card.needs]
        for button, act in ((card.test, event.test), (card.use, event.use), (card.unload, event.unload)):
            button.click(act, card.fields, ended, **private)


def _laid_out(role: Role) -> _Card:
    with gr.Column(min_width=340, elem_id=f"models-{role}", elem_classes="models-card"):
        gr.Markdown(
            f"### {present_models.TITLES[role]}\n{present_models.ABOUT[role]}", elem_classes="models-what"
        )
        state = gr.Markdown(elem_classes="models-state")
        kind = gr.Radio(list(present_models.KINDS[role]), label="Kind", elem_classes="models-kind")
        hint = gr.Markdown(elem_classes="models-hint")
        typed: dict[str, Any] = {"allow_custom_value": True, "visible": False, "filterable": True}
        place = gr.Dropdown([], label=present_models.place_label(""), elem_classes="models-place", **typed)
        url = gr.Dropdown(
            list(ADDRESSES), label="Address of the server, with its /v1", elem_classes="models-url", **typed
        )
        key = gr.Textbox(
            label="Key, where the server asks for one",
            type="password",
            visible=False,
            max_length=1000,
            elem_classes="models-key",
        )
        query = gr.Textbox(
            label="Put before questions", max_lines=2, visible=False, elem_classes="models-query"
        )
        passage = gr.Textbox(
            label="Put before passages", max_lines=2, visible=False, elem_classes="models-passage"
        )
        needs = gr.Markdown(elem_classes="models-needs")
        with gr.Row(elem_classes="models-buttons"):
            test, use, unload = (
                gr.Button(
                    words,
                    size="sm",
                    min_width=70,
                    variant="primary" if words == "Use" else "secondary",
                    elem_classes=f"models-{words.lower()}",
                )
                for words in ("Test", "Use", "Unload")
            )
        said = gr.Markdown(elem_classes="models-said")
    return _Card(
        role=role,
        state=state,
        kind=kind,
        hint=hint,
        place=place,
        url=url,
        key=key,
        query=query,
        passage=passage,
        needs=needs,
        said=said,
        test=test,
        use=use,
        unload=unload,
    )


class _Events:
    """What one card's events call; the return values follow their outputs."""

    def __init__(self, library: Library, role: Role) -> None:
        self._library, self._models, self._role = library, library.models, role

    def choice(self, *values: str | None) -> Choice:
        """Read what is typed."""
        kind, place, url, query, passage, key = (value or "" for value in values)
        return Choice(role=self._role, kind=kind, place=place, url=url, query=query, passage=passage, key=key)

    def fill_in(self, *, may_change: bool, shared: bool) -> list[Any]:
        """Show what is in use; a stranger is shown no folder and no address."""
        chosen = self._chosen(shared=shared) if may_change else Choice(role=self._role, kind="")
        settled = self._models.settled(self._role)
        return [
            self._state(),
            gr.Radio(value=chosen.kind if chosen.kind in SUGGESTED[self._role] else None, visible=may_change),
            *self._fields(chosen),
            self._needs(chosen, shared=shared) if may_change else "",
            present.plain_markdown(present_models.settled_words(settled)),
            gr.Button(visible=may_change),
            gr.Button(visible=may_change, interactive=not settled),
            gr.Button(visible=may_change),
        ]

    def kind(self, request: gr.Request, kind: str) -> Any:  # noqa: ANN401 - component updates
        """Show the fields a kind has, with what is in use or the first suggestion filled in."""
        chosen = self._chosen(shared=self._is_shared(request))
        if chosen.kind != kind or self._refusal(request):
            place = next(iter(SUGGESTED[self._role].get(kind, ())), "")
            chosen = Choice(
                role=self._role, kind=kind, place=place, url=ADDRESSES[0] if kind in SERVERS else ""
            )
        return *self._fields(chosen), ""

    def _chosen(self, *, shared: bool) -> Choice:
        chosen = self._models.chosen(self._role)
        if not shared:
            return chosen
        return replace(chosen, place="" if Path(chosen.place).is_dir() else chosen.place, url="")

    def needs(self, request: gr.Request, *values: str) -> str:
        """Say what loading would take, where that can be told yet; a stranger learns nothing of this disk."""
        if self._refusal(request):
            return ""
        return self._needs(self.choice(*values), shared=self._is_shared(request))

    def test(self, request: gr.Request, *values: str) -> Iterator[Any]:
        """Try a choice."""
        choice = self.choice(*values)
        shared = self._is_shared(request)
        yield from self._run(choice, request, lambda: self._said(self._models.test(choice, shared=shared)))

    def use(self, request: gr.Request, *values: str) -> Iterator[Any]:
        """Let everybody use a choice."""
        choice = self.choice(*values)
        shared = self._is_shared(request)

        far = ""

        def tell(done: int, total: int, _: str) -> None:
            nonlocal far
            far = f", indexing the sample with it: {done / max(total, 1):.0%}"

        def used() -> str:
            tried = self._models.use(choice, shared=shared)
            words = f"In use now. {self._said(tried)}" if tried else "Off now."
            if self._role == "encoder":
                # Here its progress can be seen; the first question would seem to hang.
                self._library.pipeline(SAMPLE_NAME, tell)
            return " ".join(filter(None, (words, self._to_rebuild())))

        yield from self._run(choice, request, used, lambda: far)

    def unload(self, request: gr.Request, *values: str) -> Iterator[Any]:
        """Give the memory back."""

        def unloaded() -> str:
            self._models.unload(self._role)
            return "Its memory is free again; it is loaded anew when it is next needed."

        yield from self._run(self.choice(*values), request, unloaded)

    def _run(
        self,
        choice: Choice,
        request: gr.Request,
        work: Callable[[], str],
        far: Callable[[], str] = lambda: "",
    ) -> Iterator[Any]:
        """Do what may take minutes: how far it is, what came of it, and the card's other lines."""
        if refused := self._refusal(request):
            yield present.plain_markdown(refused), gr.skip(), gr.skip(), gr.skip()
            return
        shared = self._is_shared(request)
        yield "At work …", gr.skip(), gr.skip(), gr.skip()
        try:
            for found in watched(work):
                if isinstance(found, str):
                    # What was typed as a key has been taken; it is not sent back.
                    words = f"✓ {present.plain_markdown(found)}"
                    yield words, "", self._state(), self._needs(choice, shared=shared)
                else:
                    words = f"At work for {found:.0f} s{far() or self._fetched(choice)} …"
                    yield words, gr.skip(), gr.skip(), gr.skip()
        except CausalvizError as error:
            # Whoever runs the app typed the folder, and looks for what is wrong with it.
            sentence = present.without_places(str(error)) if shared else str(error)
            words = f"**Not usable:** {present.plain_markdown(sentence)}"
            yield words, gr.skip(), self._state(), self._needs(choice, shared=shared)

    @staticmethod
    def _fetched(choice: Choice) -> str:
        """Say how much of a download has come."""
        known = KNOWN.get(choice.place)
        if known is None or in_cache(choice.place):
            return ""
        here, whole = (present_models.gigabytes(size) for size in (downloaded(choice.place), known.download))
        return f", {here} of {whole} downloaded"

    def _fields(self, chosen: Choice) -> list[Any]:
        """Update the hint and the fields: place, address, key, what is put before questions and passages."""
        kind, suggested = chosen.kind, SUGGESTED[self._role].get(chosen.kind, ())
        typed = bool(suggested)
        instructed = self._role == "encoder" and kind in _INSTRUCTED
        place = chosen.place or (suggested[0] if suggested else "")
        address = self._models.settled_address(self._role)
        return [
            present_models.HINTS.get(kind, ""),
            gr.Dropdown(
                list(suggested),
                value=place,
                label=present_models.place_label(kind),
                visible=typed,
            ),
            gr.Dropdown(value=chosen.url, visible=kind in SERVERS, interactive=not address),
            gr.Textbox(value="", visible=kind in SERVERS),
            gr.Textbox(value=chosen.query, visible=instructed),
            gr.Textbox(value=chosen.passage, visible=instructed),
        ]

    def _needs(self, choice: Choice, *, shared: bool) -> str:
        try:
            needs = self._models.needs(choice, shared=shared)
        except CausalvizError:
            return ""  # not complete yet; Test and Use say what is missing
        words = present.plain_markdown(present_models.needs_words(needs))
        return f"**⚠** {words}" if needs.short_of else words

    def _state(self) -> str:
        return f"**In use:** {present.plain_markdown(present_models.state_words(self._models, self._role))}"

    @staticmethod
    def _said(tried: Tried) -> str:
        return present_models.tried_words(tried)

    def _to_rebuild(self) -> str:
        """Name the knowledge bases the encoder in use cannot be asked with."""
        if self._role != "encoder":
            return ""
        cards = Manager(self._library).cards(None)
        others = {card.name: card.encoder for card in cards if card.foreign}
        return present_models.rebuild_words(others, self._models.encoder.name)

    def _refusal(self, request: gr.Request) -> str:
        return refusal(self._models.settings, _asker(request))

    def _is_shared(self, request: gr.Request) -> bool:
        return is_shared(self._models.settings, _asker(request))


def _asker(request: gr.Request) -> Asker:
    headers = request.headers
    return Asker(
        client=request.client.host if request.client else "",
        host=headers.get("host", ""),
        forwarded=any(name in headers for name in _FORWARDED),
    )
