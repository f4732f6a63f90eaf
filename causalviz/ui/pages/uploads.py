"""The drawer in which a person adds documents of their own, and the report of what became of each file."""

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from causalviz.documents import SUPPORTED_SUFFIXES
from causalviz.errors import CausalvizError
from causalviz.protocols import Progress
from causalviz.ui import present
from causalviz.ui.library import SAMPLE_NAME, UPLOADS, Library, Upload

_SESSION_SECONDS = 6 * 3600
INDEXING: Mapping[str, Any] = {"concurrency_id": "indexing", "concurrency_limit": 16}
"""Of events that index: they take no slot of another. One works; the others wait in threads, of which Gradio has 40."""


class UploadDrawer:
    """Laid out where it is made; its report is laid out below the drawers, over the whole width."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._sessions: dict[str, Upload] = {}
        self._lock = threading.Lock()
        self.upload = gr.State(None, time_to_live=_SESSION_SECONDS, delete_callback=_discard)
        with gr.Accordion("Add your own files", open=False, elem_id="add-files"):
            self._files = gr.File(
                label="Files; they go when this page is closed",
                file_count="multiple",
                height=160,
                file_types=sorted(SUPPORTED_SUFFIXES),
                elem_id="files",
            )
            self._add = gr.Button("Read and index them", variant="primary", elem_id="add")
            self._stop = gr.Button("Stop", size="sm", visible=False, elem_id="stop-adding")
            self._name = gr.Textbox(
                label="Name",
                placeholder="a name to keep them under",
                container=False,
                visible=False,
                elem_id="keep-name",
            )
            self._keep = gr.Button("Keep for later", size="sm", visible=False, elem_id="keep")

    def lay_out_report(self) -> None:
        """Place the line that sums a run up, and the table of files."""
        self._said = gr.Markdown(elem_id="upload-said")
        self._report = gr.Dataframe(
            headers=present.REPORT_COLUMNS,
            datatype="str",
            column_widths=["24%", "10%", "10%", "8%", "10%", "38%"],
            interactive=False,
            visible=False,
            wrap=True,
            max_height=320,
            label="File report",
            elem_id="report",
        )

    def wire(self, blocks: gr.Blocks, tab: gr.Tab, base: gr.Dropdown, view: gr.HTML) -> None:
        """React to the buttons and to the end of a session.

        Args:
            blocks: The app.
            tab: The page it is on.
            base: The list of knowledge bases; a finished upload is chosen in it.
            view: Told when there is something new to ask.
        """
        private: dict[str, Any] = {"api_visibility": "private"}
        outputs = [base, self._said, self._report, self._files, view]
        begun = self._add.click(
            self._on_begin, self.upload, [self.upload, self._stop], show_progress="hidden", **private
        )
        ended = begun.then(
            self._on_add,
            [self._files, self.upload],
            outputs,
            show_progress_on=self._files,
            **INDEXING,
            **private,
        )
        ended.then(lambda: gr.Button(visible=False), None, self._stop, show_progress="hidden", **private)
        keeping = [self._name, self._keep]
        ended.then(self._on_look, self.upload, keeping, show_progress="hidden", **private)
        # Documents may have come on another page.
        tab.select(self._on_look, self.upload, keeping, show_progress="hidden", queue=False, **private)
        self._stop.click(self._on_stop, self.upload, None, queue=False, **private)
        self._keep.click(
            self._on_keep, [self._name, self.upload], [base, self._said], show_progress="hidden", **private
        )
        blocks.unload(self._on_close)

    def begin(self, own: Upload | None, request: gr.Request) -> Upload:
        """Give the session its upload before the long run begins, so that Stop can reach it."""
        own = own or Upload()
        with self._lock:
            self._sessions[str(request.session_hash)] = own
        return own

    def _on_begin(self, own: Upload | None, request: gr.Request) -> tuple[Upload, Any]:
        return self.begin(own, request), gr.Button(visible=True)

    @staticmethod
    def _on_look(own: Upload | None) -> tuple[Any, Any]:
        """Show how to keep documents only to who has some."""
        ready = own is not None and own.pipeline is not None
        return gr.Textbox(visible=ready), gr.Button(visible=ready)

    def _on_close(self, request: gr.Request) -> None:
        with self._lock:
            own = self._sessions.pop(str(request.session_hash), None)
        _discard(own)

    def _on_add(
        self,
        paths: Sequence[str] | None,
        own: Upload,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio's own way to ask for its progress bar
    ) -> Any:  # noqa: ANN401 - component updates
        nothing = (gr.skip(), gr.skip(), gr.skip(), gr.skip())
        if not paths:
            words = "No file was chosen; choose or drop one or more, then read them."
            return (nothing[0], words, *nothing[1:])
        try:
            result = own.add(
                [Path(path) for path in paths],
                self._library.encoder,
                self._library.runner,
                page_progress(progress),
                self._library.limits,
            )
        except CausalvizError as error:
            return (nothing[0], present.plain_markdown(present.without_places(str(error))), *nothing[1:])
        ready = own.pipeline is not None
        choices = [*self._library.names(), UPLOADS] if ready else self._library.names()
        return (
            gr.Dropdown(choices=choices, value=UPLOADS if ready else SAMPLE_NAME),
            present.report_sentence(result, len(own.pipeline.base.documents.ids) if own.pipeline else 0),
            gr.Dataframe(present.report_rows(result), visible=True)
            if result
            else gr.Dataframe(visible=False),
            None,
            present.idle_message("Your files are ready: ask a question about them.") if ready else gr.skip(),
        )

    @staticmethod
    def _on_stop(own: Upload | None) -> None:
        if own is not None:
            own.stop()

    def _on_keep(self, wanted: str, own: Upload | None) -> Any:  # noqa: ANN401 - two component updates
        try:
            saved = self._library.save(own, wanted)
        except CausalvizError as error:
            return gr.skip(), present.plain_markdown(present.without_places(str(error)))
        choices = [*self._library.names(), UPLOADS]
        words = f"Kept as {present.plain_markdown(saved)}: everybody who uses this app can choose it now."
        return gr.Dropdown(choices=choices, value=saved), words


def page_progress(bar: gr.Progress) -> Progress:
    """Draw progress with an estimate in the page."""
    started = time.monotonic()

    def show(done: int, total: int, what: str) -> None:
        bar((done, max(total, 1)), desc=f"{what}: {present.time_left(started, done, total)}", unit="bytes")

    return show


def _discard(upload: Upload | None) -> None:
    if upload is not None:
        upload.discard()


def names_for(library: Library, own: Upload | None) -> list[str]:
    """Name the knowledge bases a session may ask."""
    return [*library.names(), UPLOADS] if own is not None and own.pipeline is not None else library.names()


def base_choices(library: Library, name: str, own: Upload | None) -> Any:  # noqa: ANN401 - a component update
    """Offer the knowledge bases a session may ask, with one chosen."""
    names = names_for(library, own)
    return gr.Dropdown(choices=names, value=name if name in names else SAMPLE_NAME)
