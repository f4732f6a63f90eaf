"""What surrounds the loading of a model: a hub that cannot be reached is not asked again and again."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from browser.serving import free_port
from huggingface_hub import constants

from causalviz.backends.loading import loading

MODEL = "someone/something"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the hub where nothing listens."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{free_port()}")


@pytest.fixture
def refusing_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the hub where everything is refused."""

    class Refusing(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(403)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("no_network")
def test_without_a_network_the_cache_alone_is_looked_into_until_all_are_loaded() -> None:
    with loading(MODEL):
        assert constants.HF_HUB_OFFLINE
        with pytest.raises(OSError, match="x"), loading(MODEL):
            raise OSError("x")
        assert constants.HF_HUB_OFFLINE
    assert not constants.HF_HUB_OFFLINE


@pytest.mark.usefixtures("no_network")
def test_a_folder_needs_no_hub(tmp_path: Path) -> None:
    with loading(str(tmp_path)):
        assert not constants.HF_HUB_OFFLINE


@pytest.mark.usefixtures("refusing_hub")
def test_a_hub_that_answers_at_all_is_asked_for_every_file() -> None:
    with loading(MODEL):
        assert not constants.HF_HUB_OFFLINE


@pytest.mark.usefixtures("no_network")
def test_offline_by_choice_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with loading(MODEL):
        assert constants.HF_HUB_OFFLINE
    assert constants.HF_HUB_OFFLINE
