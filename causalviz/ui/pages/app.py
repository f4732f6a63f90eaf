"""Assemble the pages and launch them."""

import os

# Set before Gradio is imported: no request leaves this machine.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr

from causalviz.settings import Settings
from causalviz.ui import present
from causalviz.ui.library import Library
from causalviz.ui.pages import explore, tune

_FONTS = ["system-ui", "Noto Sans CJK SC", "Noto Sans SC", "Microsoft YaHei", "PingFang SC", "sans-serif"]
_MONO = ["ui-monospace", "Menlo", "Consolas", "monospace"]


def build(library: Library, settings: Settings) -> gr.Blocks:
    """Build the app around a library; nothing is started."""
    blocks: gr.Blocks
    with (
        gr.Blocks(title="CausalViz", analytics_enabled=False, fill_width=True) as blocks,
        gr.Tabs(elem_id="pages"),
    ):
        with gr.Tab("Explore"):
            explore.build(library, blocks)
        with gr.Tab("Tune") as tab:
            tune.build(library, settings, tab)
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
        head=f"<script>{present.view_script()}</script>",
        run_history=False,
        ssr_mode=False,
        footer_links=[],
        show_error=True,
    )
