"""How a page shows an error."""

import html
from typing import Any

import gradio as gr

from causalviz.errors import CausalvizError
from causalviz.ui.present import without_places
from causalviz.ui.serving import unforeseen


def notice(error: CausalvizError) -> gr.Error:
    """Turn a named error into Gradio's notice; the notice renders HTML, so names of files are escaped."""
    return gr.Error(html.escape(without_places(str(error))), print_exception=False)


class Blocks(gr.Blocks):
    """Blocks whose every event ends well, or in a notice: nothing of how the app is made reaches the page."""

    async def process_api(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 - as Gradio's own
        """Run an event, as Gradio does.

        Raises:
            gr.Error: it failed. What is no named error goes to the log with its trace, and to the page as a number by
                which it is found there.
        """
        try:
            return await super().process_api(*args, **kwargs)
        except gr.Error:
            raise
        except CausalvizError as error:
            raise notice(error) from error
        except Exception as error:
            raise gr.Error(unforeseen(), print_exception=False) from error
