"""Assemble the pages and launch them."""

import os

# Set before Gradio is imported: no request leaves this machine.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr

from causalviz.settings import Settings
from causalviz.ui import present
from causalviz.ui.library import Library
from causalviz.ui.pages import answer, calibrate, evaluate, explore, tune
from causalviz.ui.tuning import Sample

_FONTS = ["system-ui", "Noto Sans CJK SC", "Noto Sans SC", "Microsoft YaHei", "PingFang SC", "sans-serif"]
_MONO = ["ui-monospace", "Menlo", "Consolas", "monospace"]


def build(library: Library, settings: Settings) -> gr.Blocks:
    """Build the app around a library; nothing is started."""
    sample = Sample(lambda: library.encoder, settings)
    blocks: gr.Blocks
    with (
        gr.Blocks(title="CausalViz", analytics_enabled=False, fill_width=True) as blocks,
        gr.Tabs(elem_id="pages") as tabs,
    ):
        with gr.Tab("Explore", id=explore.EXPLORE):
            explored = explore.build(library, blocks)
        with gr.Tab("Tune") as tab:
            tune.build(library, sample, tab)
        with gr.Tab("Calibrate") as tab:
            labels = calibrate.build(library, explored, tab)
        with gr.Tab("Evaluate") as tab:
            evaluate.build(library, sample, evaluate.Around(explore=explored, labels=labels, tabs=tabs), tab)
        with gr.Tab("Answer") as tab:
            answer.build(settings, explored, tab)
    return blocks


def serve(library: Library, settings: Settings) -> None:
    """Serve until stopped."""
    blocks = build(library, settings)
    blocks.queue(default_concurrency_limit=4).launch(
        server_name=settings.host,
        server_port=settings.port,
        theme=gr.themes.Base(
            font=_FONTS, font_mono=_MONO, primary_hue="teal", neutral_hue="slate", radius_size="sm"
        ),
        css=present.page_style() + present.view_style(),
        head=f"<script>{present.page_script()}</script>",
        run_history=False,
        ssr_mode=False,
        footer_links=[],
        show_error=True,
    )
