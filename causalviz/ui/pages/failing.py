"""How a page shows an error."""

import html

import gradio as gr

from causalviz.errors import CausalvizError


def notice(error: CausalvizError) -> gr.Error:
    """Turn a named error into Gradio's notice; the notice renders HTML, so names of files are escaped."""
    return gr.Error(html.escape(str(error)))
