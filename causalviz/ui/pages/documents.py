"""The Documents page: the knowledge bases there are, what was read of each file, and its text."""

import base64
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

from causalviz.errors import CausalvizError, ParameterError
from causalviz.protocols import Progress
from causalviz.records import JsonObject
from causalviz.ui import present
from causalviz.ui import present_documents as shown
from causalviz.ui.library import UPLOADS, Library, Upload
from causalviz.ui.managing import Incoming, Manager
from causalviz.ui.pages.explore import EXPLORE, Explore
from causalviz.ui.pages.uploads import INDEXING, base_choices
from causalviz.ui.places import temporary

_SESSION_SECONDS = 6 * 3600
_TOLD_SECONDS = 0.25
"""Between two messages on how far a run is."""
_EXPORT_PIECE = 3_000_000
"""Bytes of an exported file that are sent at once."""
_ABOUT = (
    "**What was read decides every rank.** See what became of each file, read exactly the text that was indexed, and "
    "look after the knowledge bases that everybody who uses this app can ask."
)
_VIEW = """
const root = element.querySelector(".doc-root");
const { root: place = "", api_prefix: prefix = "/gradio_api" } = window.gradio_config || {};
const view = CausalVizView.documents(root, {
  send: (step) => trigger("input", step),
  run: (detail) => document.querySelector("#documents-run .doc-run").dispatchEvent(new CustomEvent("run", { detail })),
  uploadTo: `${place}${prefix}/upload`,
  shown: () => root.offsetParent !== null && !document.hidden,
});
root.view = view;
watch("value", () => { if (props.value) view.reply(JSON.parse(props.value)); });
"""
_RUN = """
element.querySelector(".doc-run").addEventListener("run", (event) => trigger("input", event.detail));
watch("value", () => {
  if (props.value) document.querySelector("#documents-view .doc-root").view?.told(JSON.parse(props.value));
});
"""
_REFRESH = "(name) => { document.querySelector('#documents-view .doc-root').view?.refresh(name); }"


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What the page is part of."""

    blocks: gr.Blocks
    tabs: gr.Tabs
    tab: gr.Tab


def build(library: Library, explored: Explore, around: Around) -> None:
    """Lay out the page and wire its events."""
    desk = gr.State(None, time_to_live=_SESSION_SECONDS, delete_callback=_clear)
    gr.Markdown(_ABOUT, elem_id="documents-about")
    view = gr.HTML(
        "",
        html_template='<div class="doc-root"></div>',
        js_on_load=_VIEW,
        elem_id="documents-view",
        apply_default_css=False,
    )
    run = gr.HTML(
        "",
        html_template='<div class="doc-run"></div>',
        js_on_load=_RUN,
        elem_id="documents-run",
        apply_default_css=False,
    )
    page = _Page(library, explored.begin)
    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    inputs = [desk, explored.upload, explored.base]
    around.tab.select(None, explored.base, None, js=_REFRESH, **private)
    view.input(
        page.answer,
        inputs,
        [view, desk, explored.base, around.tabs],
        queue=False,
        trigger_mode="multiple",
        **private,
    )
    run.input(
        page.run,
        [explored.upload, explored.base],
        [run, explored.upload, explored.base],
        **INDEXING,
        **private,
    )
    around.blocks.unload(page.close)


@dataclass(slots=True)
class _Desk:
    """What a session has lying open."""

    reading: shown.Reading | None = None
    exported: Path | None = None

    def clear_export(self) -> None:
        if self.exported is not None:
            shutil.rmtree(self.exported.parent, ignore_errors=True)
            self.exported = None


def _clear(desk: _Desk | None) -> None:
    if desk is not None:
        desk.clear_export()


Made = tuple[JsonObject, Any, Any]
"""An answer, and what becomes of the list of knowledge bases on Explore and of the page that is shown."""


class _Page:
    """What the page's events call; the return values follow their outputs."""

    def __init__(self, library: Library, begin: Callable[[Upload | None, gr.Request], Upload]) -> None:
        self._library = library
        self._manager = Manager(library)
        self._begin = begin
        self._stops: dict[str, threading.Event] = {}

    def answer(
        self, desk: _Desk | None, own: Upload | None, base: str, event: gr.EventData, request: gr.Request
    ) -> Any:  # noqa: ANN401 - component updates
        """Answer what the page asks."""
        step = event._data  # noqa: SLF001 - an attribute per key would fail on a missing one
        number = step.get("number") if isinstance(step, dict) else None
        desk = desk or _Desk()
        try:
            answer, *others = self._answered(step, desk, own, base, str(request.session_hash))
        except CausalvizError as error:
            answer, others = {"error": present.without_places(str(error))}, [gr.skip(), gr.skip()]
        return present.message({**answer, "reply": number}), desk, *others

    def _answered(self, step: object, desk: _Desk, own: Upload | None, base: str, session: str) -> Made:
        match step:
            case {"kind": "ask", "name": str(name)}:
                return {}, base_choices(self._library, name, own), gr.Tabs(selected=EXPLORE)
            case {"kind": "stop"}:
                if session in self._stops:
                    self._stops[session].set()
                return {}, gr.skip(), gr.skip()
        found = self._described(step, own) or self._looked(step, desk, own) or self._exported(step, desk, own)
        if found is not None:
            return found, gr.skip(), gr.skip()
        made, chosen = self._made(step, own)
        about = step.get("name") if isinstance(step, dict) else None
        update = base_choices(self._library, chosen if base == about else base, own)
        return {"made": made, "chosen": chosen}, update, gr.skip()

    def _described(self, step: object, own: Upload | None) -> JsonObject | None:
        """Describe knowledge bases; None if that is not what is asked."""
        match step:
            case {"kind": "list"}:
                return self._listed(own)
            case {"kind": "show", "name": str(name)}:
                return self._listed(own) | self._shown(name, own)
            case {"kind": "save", "name": str(name), "as": "csv" | "json" as kind}:
                return {"saved": shown.saved_json(name, self._manager.reports(name, own), kind)}
            case {"kind": "pending", "name": str(name)}:
                return {"pending": shown.pending_json(self._manager.pending(name, own))}
        return None

    def _looked(self, step: object, desk: _Desk, own: Upload | None) -> JsonObject | None:
        """Give of a text; None if that is not what is asked."""
        match step:
            case {"kind": "open", "name": str(name), "id": str(id_)}:
                document, chunks = self._manager.read(name, own, id_)
                desk.reading = shown.Reading(document=document, chunks=chunks)
                return {"opened": shown.opened_json(desk.reading)}
            case {"kind": "find", "words": str(words)}:
                desk.reading = _open(desk).looking_for(words)
                return {"hits": shown.hits_json(desk.reading)}
            case {"kind": "piece", "piece": int(piece)}:
                return {"piece": shown.piece_json(_open(desk), piece)}
        return None

    def _exported(self, step: object, desk: _Desk, own: Upload | None) -> JsonObject | None:
        """Give of an exported file, or take back what was brought; None if that is not what is asked."""
        match step:
            case {"kind": "export", "name": str(name)}:
                desk.clear_export()
                desk.exported = Path(tempfile.mkdtemp(dir=temporary())) / "export.kb"
                self._manager.export(name, own, desk.exported)
                return {"pieces": -(-desk.exported.stat().st_size // _EXPORT_PIECE)}
            case {"kind": "exported", "piece": int(piece)}:
                return {"data": _export_piece(desk, piece)}
            case {"kind": "drop", "paths": [*paths]}:
                for path in paths:
                    _brought(path).unlink(missing_ok=True)
                return {"dropped": len(paths)}
        return None

    def _made(self, step: object, own: Upload | None) -> tuple[str, str]:
        """Change which knowledge bases there are: what was made, and which is shown next."""
        match step:
            case {"kind": "create", "name": str(wanted)}:
                made = self._manager.create(wanted)
            case {"kind": "rename", "name": str(name), "wanted": str(wanted)}:
                made = self._manager.rename(name, wanted)
            case {"kind": "copy", "name": str(name), "wanted": str(wanted)}:
                made = self._manager.copy(name, wanted)
            case {"kind": "delete", "name": str(name)}:
                return self._manager.delete(name), UPLOADS
            case {"kind": "restore", "id": str(id_)}:
                made = self._manager.restore(id_)
            case {"kind": "keep", "name": str(wanted)}:
                made = self._library.save(own, wanted)
            case _:
                raise ParameterError("the page sent something that cannot be read; reload the page.")
        return made, made

    def run(self, own: Upload | None, base: str, event: gr.EventData, request: gr.Request) -> Iterator[Any]:
        """Do what takes long, and tell how far it is."""
        own, session, stop = self._begin(own, request), str(request.session_hash), threading.Event()
        said = ""
        try:
            if session in self._stops:
                raise ParameterError("something runs already in this page; wait for it, or cancel it first.")
            self._stops[session] = stop
            for found in _told(lambda progress: self._ran(event._data, own, stop, progress)):  # noqa: SLF001 - as above
                if isinstance(found, str):
                    yield found, own, gr.skip()
                else:
                    said, name = found
            message: JsonObject = {"finished": {"said": said, "name": name}}
        except CausalvizError as error:
            message = {"failed": present.without_places(str(error))}
        finally:
            stop.set()
            if self._stops.get(session) is stop:
                del self._stops[session]
        yield present.message(message), own, base_choices(self._library, base, own)

    def _ran(self, step: object, own: Upload, stop: threading.Event, progress: Progress) -> tuple[str, str]:
        """Do it: what to say, and which knowledge base it is about."""
        manager = self._manager
        match step:
            case {"kind": "import", "path": path, "called": str(called)}:
                name = manager.take_in(_brought(path), called, progress)
                return f"Imported as “{name}”: everybody who uses this app can choose it now.", name
            case {"kind": "add", "name": str(name), "files": [*files]}:
                result = manager.add(name, own, [_incoming(file) for file in files], stop, progress)
                return shown.added(result), name
            case {"kind": "forget", "name": str(name), "ids": [*ids]}:
                manager.forget(name, own, [str(id_) for id_ in ids], stop, progress)
                return shown.STOPPED if stop.is_set() else shown.removed(len(ids)), name
            case {"kind": "rebuild", "name": str(name)}:
                done = manager.rebuild(name, own, stop, progress)
                return "All texts are encoded anew." if done else shown.STOPPED, name
            case {"kind": "update", "name": str(name)}:
                return shown.added(manager.update(name, own, stop, progress)), name
        raise ParameterError("the page sent something that cannot be read; reload the page.")

    def close(self, request: gr.Request) -> None:
        """End what a page that was closed still runs."""
        stop = self._stops.get(str(request.session_hash))
        if stop is not None:
            stop.set()

    def _listed(self, own: Upload | None) -> JsonObject:
        limits = self._library.limits
        return {
            "bases": shown.cards_json(self._manager.cards(own)),
            "deleted": shown.deleted_json(self._manager.deleted()),
            "limits": {"file": limits.file_bytes, "upload": limits.upload_bytes},
            "formats": shown.FORMATS,
        }

    def _shown(self, name: str, own: Upload | None) -> JsonObject:
        card = next((card for card in self._manager.cards(own) if card.name == name), None)
        if card is None:
            raise ParameterError(
                f"there is no knowledge base '{name}' here any more; choose another one from the list."
            )
        if card.problem and not card.foreign:
            return {"base": shown.base_json(card, (), (), None)}
        folder = self._manager.folder(name, own)
        reports, changes = self._manager.reports(name, own), self._manager.history(name, own)
        return {"base": shown.base_json(card, reports, changes, folder.name if folder else None)}


def _told(work: Callable[[Progress], tuple[str, str]]) -> Iterator[str | tuple[str, str]]:
    """Run some work beside the page: messages on how far it is, at last its result."""
    started = time.monotonic()
    latest: tuple[int, int, str] | None = None

    def progress(done: int, total: int, what: str) -> None:
        nonlocal latest
        latest = (done, total, what)

    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(work, progress)
        before = None
        while not wait([running], timeout=_TOLD_SECONDS).done:
            if latest is not None and latest != before:
                before = latest
                done, total, what = latest
                left = present.time_left(started, done, total)
                yield present.message(
                    {"progress": {"done": done, "total": total, "what": what, "left": left}}
                )
    yield running.result()


def _open(desk: _Desk) -> shown.Reading:
    if desk.reading is None:
        raise ParameterError("the text was opened too long ago; open the file once more.")
    return desk.reading


def _export_piece(desk: _Desk, piece: int) -> str:
    if desk.exported is None or piece < 0:
        raise ParameterError("the export was interrupted; export it once more.")
    with desk.exported.open("rb") as file:
        file.seek(piece * _EXPORT_PIECE)
        data = file.read(_EXPORT_PIECE)
    if (piece + 1) * _EXPORT_PIECE >= desk.exported.stat().st_size:
        desk.clear_export()
    return base64.b64encode(data).decode()


def _incoming(file: object) -> Incoming:
    match file:
        case {"name": str(name), "size": int(size), "path": None}:
            return Incoming(name=name, size=size, path=None)
        case {"name": str(name), "path": path}:
            brought = _brought(path)
            return Incoming(name=name, size=brought.stat().st_size if brought.exists() else 0, path=brought)
    raise ParameterError("the page sent something that cannot be read; reload the page.")


def _brought(path: object) -> Path:
    """A file that the page has just brought: nothing else on this machine, whatever the page says."""
    file = Path(str(path)).resolve()
    if not file.is_relative_to(Path(get_upload_folder()).resolve()) or not re.fullmatch(
        r"[0-9a-f]{32}", file.name
    ):
        raise ParameterError("the page sent something that cannot be read; reload the page.")
    return file
