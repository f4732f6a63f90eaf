"""`serve`: start the web app."""

import argparse
from dataclasses import replace

from causalviz.cli.terminal import progress_bar
from causalviz.settings import Settings


def run(options: argparse.Namespace) -> None:
    """Serve until stopped."""
    from causalviz.ui.library import SAMPLE_NAME, Library
    from causalviz.ui.pages import serve

    settings = Settings.of()
    settings = replace(settings, host=options.host or settings.host, port=options.port or settings.port)
    library = Library(settings, options.encoder or settings.encoder, options.kb)
    with progress_bar() as progress:
        library.pipeline(SAMPLE_NAME, progress)
    serve(library, settings)
