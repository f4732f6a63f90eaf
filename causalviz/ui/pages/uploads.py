"""The drawer in which a person adds documents of their own and reads what became of each file."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from causalviz.documents import SUPPORTED_SUFFIXES
from causalviz.errors import CausalvizError
from causalviz.protocols import Progress
from causalviz.ui import present
from causalviz.ui.library import SAMPLE_NAME, UPLOADS, Library, Upload
from causalviz.ui.pages.failing import notice

_SESSION_SECONDS = 6 * 3600


def build(library: Library, base: gr.Dropdown) -> gr.State:
    """Lay out the drawer; return the state that holds the session's upload.

    Args:
        library: Where an upload can be kept.
        base: The list of knowledge bases; a finished upload is chosen in it.
    """
    upload = gr.State(None, time_to_live=_SESSION_SECONDS, delete_callback=_discard)
    with gr.Accordion("Add your own files", open=False, elem_id="add-files"):
        files = gr.File(
            label="They stay on this computer and in this session",
            file_count="multiple",
            height=130,
            file_types=sorted(SUPPORTED_SUFFIXES),
            elem_id="files",
        )
        with gr.Row(equal_height=True):
            add = gr.Button("Read and index them", variant="primary", min_width=170, elem_id="add")
            stop = gr.Button("Stop", scale=0, min_width=80)
            name = gr.Textbox(
                label="Name",
                placeholder="a name to keep them under",
                container=False,
                min_width=160,
                elem_id="keep-name",
            )
            keep = gr.Button("Keep", scale=0, min_width=80, elem_id="keep")
        said = gr.Markdown(elem_id="upload-said")
        report = gr.Dataframe(
            headers=present.REPORT_COLUMNS,
            datatype="str",
            interactive=False,
            visible=False,
            wrap=True,
            label="File report",
            elem_id="report",
        )

    def on_add(paths: Sequence[str] | None, own: Upload | None, progress: gr.Progress = gr.Progress()) -> Any:  # noqa: ANN401, B008 - Gradio's own way to ask for its progress bar
        if not paths:
            raise gr.Error("No file was chosen; choose or drop one or more, then read them.")
        own = own or Upload()
        try:
            result = own.add([Path(path) for path in paths], library.encoder, page_progress(progress))
        except CausalvizError as error:
            raise notice(error) from error
        ready = own.pipeline is not None
        choices = [*library.names(), UPLOADS] if ready else library.names()
        return (
            own,
            gr.Dropdown(choices=choices, value=UPLOADS if ready else SAMPLE_NAME),
            present.report_sentence(result),
            gr.Dataframe(present.report_rows(result), visible=True),
            None,
        )

    def on_keep(wanted: str, own: Upload | None) -> Any:  # noqa: ANN401 - two component updates
        try:
            saved = library.save(own, wanted)
        except CausalvizError as error:
            raise notice(error) from error
        return gr.Dropdown(choices=[*library.names(), UPLOADS], value=saved), f"Kept as **{saved}**."

    adding = add.click(on_add, [files, upload], [upload, base, said, report, files], api_visibility="private")
    stop.click(None, cancels=[adding], api_visibility="private")
    keep.click(on_keep, [name, upload], [base, said], api_visibility="private", show_progress="hidden")
    return upload


def page_progress(bar: gr.Progress) -> Progress:
    """Draw progress, with the time left, on the page's own bar."""
    started = time.monotonic()

    def show(done: int, total: int, what: str) -> None:
        bar((done, max(total, 1)), desc=f"{what}: {present.time_left(started, done, total)}", unit="bytes")

    return show


def _discard(upload: Upload | None) -> None:
    if upload is not None:
        upload.discard()
