"""Assemble the pages and launch them."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable

# Set before Gradio is imported: no request leaves this machine.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
# Nor is a summary that nobody reads computed after every event.
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(10**9)

import gradio as gr

from causalviz.documents.limits import limits_of
from causalviz.settings import ROOT, Settings
from causalviz.ui import present
from causalviz.ui.library import Library
from causalviz.ui.pages import answer, calibrate, documents, evaluate, explore, models, tune
from causalviz.ui.pages.failing import Blocks
from causalviz.ui.places import temporary
from causalviz.ui.serving import Accounts, doors
from causalviz.ui.tuning import Sample

_FONTS = ["system-ui", "Noto Sans CJK SC", "Noto Sans SC", "Microsoft YaHei", "PingFang SC", "sans-serif"]
_MONO = ["ui-monospace", "Menlo", "Consolas", "monospace"]
# Gradio shows these keys themselves.
_MISSING_WORDS = {"common.upload": "Add more files"}
_MISSING_WORDS_CHINESE = {"common.upload": "添加更多文件"}
_LOOK_FOR_WORK, _LOOK_FOR_PROGRESS = 0.005, 0.1
"""Seconds between two looks."""
_UPLOADS = (3600, 6 * 3600)
"""Seconds between two looks for uploads that nobody took in, and the age at which they go."""


def build(library: Library, settings: Settings) -> gr.Blocks:
    """Build the app around a library; nothing is started."""
    sample = Sample(lambda: library.encoder, settings)
    blocks: gr.Blocks
    with (
        Blocks(title="CausalViz", analytics_enabled=False, fill_width=True, delete_cache=_UPLOADS) as blocks,
        gr.Tabs(elem_id="pages") as tabs,
    ):
        with gr.Tab("Explore", id=explore.EXPLORE) as tab:
            explored = explore.build(library, blocks, tab)
        with gr.Tab("Tune") as tab:
            tune.build(library, sample, tab)
        with gr.Tab("Calibrate") as tab:
            labels = calibrate.build(library, explored, tab)
        with gr.Tab("Evaluate") as tab:
            evaluate.build(library, sample, evaluate.Around(explore=explored, labels=labels, tabs=tabs), tab)
        with gr.Tab("Answer") as tab:
            answer.build(library.models, explored, tab)
        with gr.Tab("Documents") as tab:
            around = documents.Around(blocks=blocks, tabs=tabs, tab=tab)
            documents.build(library, explored, around)
        with gr.Tab("Models") as tab:
            models.build(library, tab)
    return blocks


def serve(library: Library, settings: Settings) -> None:
    """Serve until stopped.

    Raises:
        ParameterError: the file of logins cannot be used.
    """
    serving, script = settings.serving, present.page_script()
    accounts = Accounts.read(serving.auth_file) if serving.auth_file else None
    upload_bytes = limits_of(settings.limits).upload_bytes
    # Under a name that nobody can guess, and open to no other user of this machine.
    os.environ["GRADIO_TEMP_DIR"] = tempfile.mkdtemp(dir=temporary())
    # Read by Gradio's web server: the proxies that may say who a client is.
    os.environ["FORWARDED_ALLOW_IPS"] = serving.trust_proxy
    blocks = build(library, settings)

    layers = doors(
        settings, upload_bytes=upload_bytes, first_script=present.first_script(), head_script=script
    )
    blocks.queue(default_concurrency_limit=4, max_size=serving.queue, api_open=False)
    # Gradio has no setting for it, and looks a thousand times a second: 4 % of a processor in an app that nobody asks.
    queue = blocks._queue  # noqa: SLF001
    queue.sleep_when_free, queue.progress_update_sleep_when_free = _LOOK_FOR_WORK, _LOOK_FOR_PROGRESS
    blocks.launch(
        server_name=settings.host,
        server_port=settings.port,
        theme=gr.themes.Base(
            font=_FONTS, font_mono=_MONO, primary_hue="teal", neutral_hue="slate", radius_size="sm"
        ),
        css=present.page_style() + present.view_style(),
        head=f"<script>{script}</script>",
        run_history=False,
        ssr_mode=False,
        footer_links=[],
        i18n=gr.I18n(en=_MISSING_WORDS, **{"zh-CN": _MISSING_WORDS_CHINESE}),
        # Whatever Gradio's own variables say: what is not needed is closed.
        show_error=False,
        share=False,
        mcp_server=False,
        enable_monitoring=False,
        num_workers=0,
        blocked_paths=[str(settings.home.resolve()), str(ROOT)],
        root_path=serving.root_path,
        max_file_size=upload_bytes,
        state_session_capacity=2 * serving.pages,
        auth=None if accounts is None else _one_at_a_time(accounts),  # type: ignore[arg-type]  # Gradio awaits it
        app_kwargs={"middleware": layers},
    )


def _one_at_a_time(accounts: Accounts) -> Callable[[str, str], Awaitable[bool]]:
    """Check passwords beside the event loop: a check costs memory and time on purpose."""
    lock = asyncio.Lock()

    async def check(name: str, password: str) -> bool:
        async with lock:
            return await asyncio.to_thread(accounts.accepts, name, password)

    return check
