"""`serve`: start the web app."""

import argparse
import getpass
import os
import signal
import socket
import sys
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from causalviz.cli.terminal import progress_bar
from causalviz.errors import (
    BackendError,
    CausalvizError,
    KnowledgeBaseError,
    MissingBackendError,
    ParameterError,
)
from causalviz.settings import Settings

if TYPE_CHECKING:
    from causalviz.ui.library import Library


def run(options: argparse.Namespace) -> None:
    """Serve until stopped.

    Raises:
        ParameterError: the port is none, or cannot be used; a login cannot be made or used.
        KnowledgeBaseError: a knowledge base is missing or cannot be opened.
    """
    if options.make_login is not None:
        _make_login(options.make_login)
        return
    settings = _settings(options)
    _check_free(settings.host, settings.port)
    for path in options.kb:
        if not path.is_file():
            raise KnowledgeBaseError(
                f"there is no knowledge base at '{path}'; make one with `index FOLDER --kb OUT`, or leave it out."
            )
    # It ends as with Ctrl-C, so that what is cleaned up at the end of Python is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    from causalviz.backends.segmentation import load_dictionary
    from causalviz.ui.library import SAMPLE_NAME, Library
    from causalviz.ui.pages import serve
    from causalviz.ui.places import delete_left

    library = Library(settings, settings.encoder, options.kb)
    try:
        with progress_bar() as progress:
            for name in (*(path.stem for path in options.kb), SAMPLE_NAME):
                library.pipeline(name, progress)
    except (BackendError, MissingBackendError) as error:
        # An encoder that was chosen on the Models page can be chosen otherwise only there.
        if not library.models.may_fail:
            raise
        sys.stderr.write(
            f"causalviz: {error} The app starts all the same: choose an encoder on its Models page.\n"
        )
    for task in (partial(_take_up, library), load_dictionary, delete_left):
        threading.Thread(target=task, daemon=True).start()
    serve(library, settings)


def _take_up(library: "Library") -> None:
    """Keep what an app that was killed had finished; its next start goes on where this one ends."""
    try:
        for sentence in library.take_up():
            sys.stderr.write(f"causalviz: {sentence}\n")
    except (CausalvizError, OSError) as error:
        sys.stderr.write(f"causalviz: what an app that was killed had finished is not kept yet: {error}\n")


def _settings(options: argparse.Namespace) -> Settings:
    settings = Settings.of(app=True)
    if options.encoder:
        settings = settings.with_encoder(options.encoder)
    if options.port is not None:
        try:
            port = Settings.of({"CAUSALVIZ_PORT": str(options.port)}).port
        except ParameterError as error:
            raise ParameterError(
                f"--port is {options.port}, but a port is a number from 1 to 65535; give one or leave it out."
            ) from error
        settings = replace(settings, port=port)
    return replace(settings, host=options.host or settings.host)


def _make_login(name: str) -> None:
    """Print a line for the file of logins; the password is asked for, or else comes as a line of standard input."""
    from causalviz.ui.serving import login_line

    password = getpass.getpass(f"Password of {name}: ") if sys.stdin.isatty() else sys.stdin.readline()
    sys.stdout.write(f"{login_line(name, password.rstrip(chr(10)))}\n")


def _check_free(host: str, port: int) -> None:
    """Bind the port for a moment, as the server will."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as attempt:
            if os.name == "posix":  # elsewhere it would take a busy port
                attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind(address)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no address"
        raise ParameterError(
            f"port {port} of '{host}' cannot be used ({why}); stop what uses it, or give another --port or --host."
        ) from error
