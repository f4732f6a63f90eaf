"""The web app as strangers meet it: a real server, plain HTTP where no browser is needed."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser.serving import free_port, serving
from browser.test_app import unfold
from playwright.sync_api import Browser, Page, expect

from causalviz.settings import ROOT

FRAGILE = """
import sys
from fakes import WordEncoder
from causalviz import bootstrap, cli
from causalviz.errors import BackendError
class Fragile(WordEncoder):
    def encode_queries(self, texts):
        if any("explode" in text for text in texts):
            open("/srv/secret/weights.bin")
        if any("refuse" in text for text in texts):
            raise BackendError("the file '/srv/secret/budget.kb' is in use; wait, then ask again.")
        return super().encode_queries(texts)
bootstrap.ENCODERS["words"] = Fragile
sys.exit(cli.main(["serve", "--encoder", "words"]))
"""
"""An encoder that fails when it is told to, in an unnamed and in a named way."""
PROXY = """
import sys
import httpx, uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
app, port = sys.argv[1:]
upstream = httpx.AsyncClient(base_url=app, timeout=60)
async def forward(request):
    host = request.headers["host"]
    said = {"x-forwarded-host": host, "x-forwarded-proto": "http", "x-forwarded-for": "203.0.113.5"}
    url = httpx.URL(path="/" + request.path_params["path"], query=request.url.query.encode())
    sent = upstream.build_request(
        request.method, url, headers={**dict(request.headers), **said}, content=request.stream()
    )
    answer = await upstream.send(sent, stream=True)
    return StreamingResponse(
        answer.aiter_raw(), answer.status_code, dict(answer.headers), background=BackgroundTask(answer.aclose)
    )
routes = [
    Route("/causalviz/{path:path}", forward, methods=["GET", "POST", "HEAD"]),
    Route("/{path:path}", lambda request: Response(status_code=204)),  # the rest of the host, with its icon
]
uvicorn.run(Starlette(routes=routes), port=int(port), log_level="error")
"""

# A busy machine takes longer than the usual 5 s.
get, post = partial(httpx.get, timeout=60), partial(httpx.post, timeout=60)
stream, connected = partial(httpx.stream, timeout=60), partial(httpx.Client, timeout=60)
PASSWORD = "four words of yours"  # noqa: S105 - of a server that lives for a test
API = "/gradio_api"
JOIN = {"data": [], "fn_index": 0, "session_hash": "abc"}
SECRETS = ("root:", "CAUSALVIZ", "[project]", "Gradio pages", "SQLite format")
"""What /etc/passwd, the environment, the project and a knowledge base hold."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def app(home: Path) -> Iterator[str]:
    """As `python app.py` starts it, with a fragile encoder."""
    with serving(home, FRAGILE) as address:
        yield address


@pytest.fixture(scope="module")
def client(app: str) -> Iterator[httpx.Client]:
    with connected(base_url=app) as client:
        yield client


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start one with small limits."""
    limits = {
        "CAUSALVIZ_QUERY_RATE": "10",
        "CAUSALVIZ_UPLOAD_RATE": "2",
        "CAUSALVIZ_MAX_UPLOAD_MB": "1",
        "CAUSALVIZ_MAX_REQUEST_MB": "0.1",
        "CAUSALVIZ_HOST": "0.0.0.0",  # noqa: S104 - the tests' machine
        "CAUSALVIZ_TRUST_PROXY": "127.0.0.1",
    }
    with serving(tmp_path_factory.mktemp("tight"), **limits) as address:
        yield address


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start one with logins, behind a proxy that shows it below /causalviz."""
    place = tmp_path_factory.mktemp("shared")
    lines = [login("ann"), login("bob")]
    (place / "logins").write_text("# people\n\n" + "".join(lines), encoding="utf-8")
    variables = {
        "CAUSALVIZ_AUTH_FILE": str(place / "logins"),
        "CAUSALVIZ_TRUST_PROXY": "127.0.0.1",
        "CAUSALVIZ_ROOT_PATH": "/causalviz",
        "CAUSALVIZ_HOSTS": "*.example.org",
        "CAUSALVIZ_LOGIN_RATE": "6",
    }
    with serving(place, **variables) as address:
        yield address
    log = (place / "app.log").read_text(encoding="utf-8")
    assert PASSWORD not in log
    assert lines[0].split(":")[-1].strip() not in log


def login(name: str) -> str:
    """Make a line as the documentation says."""
    command = [sys.executable, "-m", "causalviz", "serve", "--make-login", name]
    made = subprocess.run(command, cwd=ROOT, input=PASSWORD, capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    return made.stdout


def from_address(number: int) -> dict[str, str]:
    """Be another client, as a trusted proxy would say it."""
    return {"X-Forwarded-For": f"198.51.100.{number}"}


def config_of(page: str) -> Any:  # noqa: ANN401 - JSON
    """Read what Gradio tells the page of itself."""
    found = re.search(r"window\.gradio_config = (.*?);</script>", page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def question_to(client: httpx.Client, words: str, session: str) -> dict[str, Any]:
    """Make the request by which the page asks a question."""
    config = config_of(client.get("/").text)
    question = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == "question")
    asking = next(d for d in config["dependencies"] if d["inputs"][:1] == [question] and len(d["inputs"]) > 3)
    data = [words, "sample_kb", None, 20, 0, "document", False]
    return {"data": data, "fn_index": asking["id"], "session_hash": session}


def upload(client: httpx.Client, name: str, content: bytes, **headers: str) -> httpx.Response:
    return client.post(f"{API}/upload", files={"files": (name, content)}, headers=headers)


# What is open ---------------------------------------------------------------------------------------------------------


def test_only_what_the_page_needs_is_open(client: httpx.Client) -> None:
    assert client.get("/").status_code == 200
    assert client.get("/theme.css").status_code == 200
    closed = {
        "GET": [
            "/config", "/config/", f"{API}/info", f"{API}/info/", f"{API}/openapi.json", "/openapi.json", "/docs",
            f"{API}/api",
            f"{API}/user", f"{API}/token", f"{API}/runs", f"{API}/dev/reload", f"{API}/deep_link?session_hash=abc",
            f"{API}/proxy=https://example.org/", f"{API}/file=https://example.org/", f"{API}/queue/status",
            f"{API}/stream/a/b/1/playlist.m3u8", f"{API}/custom_component/a/client/b/c.js", f"{API}/vibe-code",
            f"{API}/mcp/", f"{API}/mcp/sse", f"{API}/mcp/schema", "/monitoring",
            "/monitoring/summary", "/monitoring/abc",
            f"{API}/profiling/traces", "/pwa_icon", f"{API}/call/predict/abc",
        ],
        "POST": [
            f"{API}/api/predict", f"{API}/run/other", f"{API}/call/predict", f"{API}/call/v2/predict",
            f"{API}/component_server",
            f"{API}/process_recording", f"{API}/vibe-edit", f"{API}/vibe-code", f"{API}/stream/abc", f"{API}/mcp/",
        ],
    }  # fmt: skip
    answers = {
        (method, path): client.request(method, path).status_code
        for method in closed
        for path in closed[method]
    }
    assert {key: status for key, status in answers.items() if status != 404} == {}


def test_no_file_of_this_machine_can_be_fetched(
    client: httpx.Client, app: str, home: Path, tmp_path: Path
) -> None:
    (stored,) = upload(client, "mine.html", b"<script>alert(1)</script> my own words").json()
    (picture,) = upload(client, "mine.svg", b"<svg onload='alert(1)'/>").json()
    link = Path(stored).parent / "link"
    link.symlink_to("/etc/passwd")
    knowledge_base = next(home.rglob("*.kb"))
    wanted = [
        "/etc/passwd", "/proc/self/environ", str(link), stored, picture, str(knowledge_base), str(home / "app.log"),
        str(ROOT / "pyproject.toml"), "pyproject.toml", "causalviz/ui/pages/__init__.py", str(tmp_path),
    ]  # fmt: skip
    targets = []
    for path in wanted:
        double = path.replace("/", "%252f")
        targets += [f"file={path}", f"file={path.replace('/', '%2f')}", f"file={double}", f"file/{path}"]
        targets += [
            f"{prefix}/../../../../../../../..{path}" for prefix in ("file=", "../assets", "../static")
        ]
        targets += [
            f"../{root}/..%2f..%2f..%2f..%2f..%2f..%2f..{path}" for root in ("assets", "static", "svelte")
        ]
    for target in targets:
        # not normalised by the client
        answer = client.get(httpx.URL(f"{app}/", raw_path=f"{API}/{target}".encode()))
        assert answer.status_code in {403, 404}, target
        assert not any(secret in answer.text for secret in (*SECRETS, "my own words", "onload")), target
    link.unlink()


def test_uploads_lie_where_nobody_else_can_look_or_guess(client: httpx.Client) -> None:
    (stored,) = upload(client, "a.txt", b"words").json()
    _, uploads, place, *_ = Path(stored).parents
    assert place.name.startswith("causalviz-app-")
    assert uploads.stat().st_mode & 0o077 == place.stat().st_mode & 0o077 == 0


def test_a_file_name_leads_nowhere(client: httpx.Client) -> None:
    for name in (
        "../../evil.txt",
        "..\\..\\evil.txt",
        "/etc/cron.d/evil",
        "%2e%2e%2fevil",
        "a" * 300 + ".txt",
    ):
        (stored,) = upload(client, name, b"x").json()
        assert Path(stored).resolve().parents[2].name.startswith("causalviz-app-")


def test_a_stranger_cannot_take_up_another_ones_upload(client: httpx.Client, app: str, home: Path) -> None:
    # Gradio accepts the path of a file from whoever names it: only what lies in the folder of uploads, under its own
    # hash. A knowledge base is not taken in.
    config = config_of(get(app).text)
    files = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == "files")
    adding = next(d for d in config["dependencies"] if files in d["inputs"])
    path = str(next(home.rglob("*.kb")))
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    data = [[file] if i == files else None for i in adding["inputs"]]
    joined = client.post(
        f"{API}/queue/join", json={"data": data, "fn_index": adding["id"], "session_hash": "thief"}
    )
    assert joined.status_code == 200
    events = client.get(f"{API}/queue/data", params={"session_hash": "thief"}, timeout=60).text
    completed = next(line for line in events.splitlines() if "process_completed" in line)
    assert json.loads(completed.removeprefix("data: "))["success"] is False
    assert str(home) not in completed


# Who may come in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "192.0.2.7", "", "[::"]
)
def test_on_this_machine_only_local_names_are_answered_to(client: httpx.Client, name: str) -> None:
    answer = client.get("/", headers={"Host": name})
    assert answer.status_code in {400, 421}
    assert "gradio_config" not in answer.text


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "LOCALHOST:7860", "[::1]:7860"])
def test_local_names_are(client: httpx.Client, name: str) -> None:
    assert client.get("/", headers={"Host": name}).status_code == 200


def test_a_server_for_others_answers_to_addresses_and_to_names_it_was_given(tight: str, shared: str) -> None:
    assert get(f"{tight}/theme.css", headers={"Host": "192.0.2.7:7860"}).status_code == 200
    assert get(f"{tight}/theme.css", headers={"Host": "evil.example"}).status_code == 421
    assert get(f"{shared}/theme.css", headers={"Host": "app.example.org"}).status_code == 200
    assert get(f"{shared}/theme.css", headers={"Host": "example.org.evil"}).status_code == 421
    forwarded = {"Host": "127.0.0.1", "X-Forwarded-Host": "evil.example"}
    assert get(f"{shared}/theme.css", headers=forwarded).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
)
def test_another_sites_page_can_make_nobody_post(client: httpx.Client, headers: dict[str, str]) -> None:
    for path in (f"{API}/queue/join", f"{API}/run/predict", f"{API}/upload", "/login"):
        assert client.post(path, json=JOIN, headers=headers).status_code == 403


def test_a_link_from_another_site_leads_here(client: httpx.Client, app: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/theme.css", headers={"Origin": app}).status_code == 200


def test_what_only_a_proxy_may_say_is_believed_of_nobody(client: httpx.Client) -> None:
    said = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "X-Gradio-Server": "http://evil.example",
    }
    answer = client.get("/", headers=said)
    assert answer.status_code == 200
    assert "evil.example" not in answer.text
    assert "Strict-Transport-Security" not in answer.headers


# What browsers are told -----------------------------------------------------------------------------------------------


def test_headers_keep_browsers_from_doing_more_than_the_page_needs(client: httpx.Client) -> None:
    for path in ("/", "/theme.css", "/nothing-here"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Frame-Options"] == "DENY"
        assert "camera=()" in headers["Permissions-Policy"]
        assert headers["Cache-Control"] == "no-store"
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["connect-src"] == "'self'"
        assert "'unsafe-inline'" not in policy["script-src"]
        assert not re.search(r"https?:|\*", headers["Content-Security-Policy"])


def test_only_what_is_named_by_its_content_is_kept_by_browsers(
    browser: Browser, client: httpx.Client, app: str
) -> None:
    named = re.findall(r'"\./(assets/[^"]+)"', client.get("/").text)
    assert named
    for path in named:
        assert "immutable" in client.get(f"/{path}").headers["Cache-Control"]
    assert "immutable" not in client.get("/assets/nothing-Akn07EZk.js").headers.get("Cache-Control", "")
    assert "immutable" not in client.get("/static/img/logo.svg").headers.get("Cache-Control", "")
    sent = """() => performance.getEntriesByType("resource")
        .filter(({ name, transferSize }) => name.includes("/assets/") && transferSize > 0).map(({ name }) => name)"""
    context = browser.new_context()
    page = context.new_page()
    visits = []
    for _ in range(2):
        page.goto(app)
        expect(page.locator("#explore-view .causalviz")).to_be_visible()
        visits.append(set(page.evaluate(sent)))
    context.close()
    first, second = visits
    assert len(first) > 50
    assert not first & second  # what the first did not wait for may come with the second


def test_markup_that_found_its_way_into_the_page_runs_nothing(browser: Browser, app: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(app)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    page.evaluate(
        """() => {
            const div = document.createElement("div");
            div.innerHTML = `<img src="data:," onerror="document.title='owned'">
                <a href="javascript:document.title='owned'">x</a>`;
            document.body.append(div);
            const script = document.createElement("script");
            script.textContent = "document.title='owned'";
            document.body.append(script);
            div.querySelector("a").click();
        }"""
    )
    page.wait_for_timeout(300)
    assert page.title() == "CausalViz"
    context.close()


def test_every_page_works_under_the_policy(page: Page, app: str) -> None:
    # the fixture fails the test when the console reports what the policy blocked
    page.goto(app)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    tabs = page.locator("#pages [role=tab]")
    for name in tabs.all_inner_texts():
        tabs.get_by_text(name, exact=True).click()
        page.wait_for_timeout(400)


# What failures say ----------------------------------------------------------------------------------------------------


def test_an_unforeseen_failure_is_one_sentence_with_a_number_that_the_log_explains(
    client: httpx.Client, home: Path
) -> None:
    joined = client.post(f"{API}/queue/join", json=question_to(client, "please explode", "unlucky"))
    assert joined.status_code == 200
    said = client.get(f"{API}/queue/data", params={"session_hash": "unlucky"}, timeout=60).text
    reference = re.search(r"Something went wrong in the app; .* the number ([0-9a-f]{8})\.", said)
    assert reference is not None
    log = (home / "app.log").read_text(encoding="utf-8")
    assert f"failure {reference[1]}" in log
    assert "/srv/secret/weights.bin" in log
    assert not re.search(r"/srv/secret|Traceback|No such file", said)


def test_the_page_shows_failures_and_goes_on(browser: Browser, app: str) -> None:
    page = browser.new_page()
    page.goto(app)
    view = page.locator("#explore-view .causalviz")

    def ask(words: str, answer: str) -> None:
        page.fill("#question textarea", words)
        page.click("button#ask")
        expect(view).to_contain_text(answer)

    ask("please refuse", "the file 'budget' is in use; wait, then ask again.")
    ask("please explode", "No answer came: the notice says why.")
    expect(page.get_by_text("Something went wrong in the app")).to_be_visible()
    assert "/srv/secret" not in page.content()
    ask("late interaction", "candidates")
    page.close()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{API}/queue/join", b"no json"),
        (f"{API}/queue/join", b'{"data": [], "fn_index": 99999, "session_hash": "x"}'),
        (f"{API}/queue/join", b'{"data": [], "fn_index": -1, "session_hash": "x"}'),
        (f"{API}/run/predict", b'{"data": [{}], "fn_index": 1}'),
        (f"{API}/run/predict", b'{"data": "x", "fn_index": "y"}'),
        (f"{API}/upload", b"no form"),
        (f"{API}/cancel", b'{"session_hash": "x", "fn_index": 0, "event_id": "y"}'),
        ("/login", b"username=x&password=y"),
    ],
)
def test_nonsense_is_refused_without_a_word_about_this_machine(
    client: httpx.Client, path: str, body: bytes
) -> None:
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert not re.search(r"Traceback|site-packages|File \"|/home/|/tmp/|\.py", answer.text)


# How much -------------------------------------------------------------------------------------------------------------


def test_a_large_request_is_refused_whether_it_says_its_size_or_not(tight: str) -> None:
    with connected(base_url=tight, headers=from_address(1)) as client:
        large = b"[" + b" " * 200_000 + b"]"
        for content in (large, iter([large[:150_000], large[150_000:]])):
            answer = client.post(
                f"{API}/cancel", content=content, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code == 413
            assert "larger than the 0.1 MB" in answer.json()["detail"]


def test_a_large_upload_is_refused_and_nothing_of_it_is_kept(tight: str) -> None:
    with connected(base_url=tight, headers=from_address(2)) as client:
        (stored,) = upload(client, "small.txt", b"x" * 900_000).json()
        folder = Path(stored).parents[1]
        before = sorted(folder.rglob("*"))
        head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        pieces = iter([head, *[b"x" * 100_000] * 15, b"\r\n--b--\r\n"])
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        answer = client.post(f"{API}/upload", content=pieces, headers=headers)
        assert answer.status_code == 413
        assert answer.text == "This is larger than the 1 MB that may be sent at once; send less."
        assert sorted(folder.rglob("*")) == before


def test_one_client_is_asked_to_wait_and_others_are_not(tight: str) -> None:
    with connected(base_url=tight) as client:
        first = [upload(client, "a.txt", b"x", **from_address(3)) for _ in range(3)]
        assert [answer.status_code for answer in first] == [200, 200, 429]
        assert 1 <= int(first[-1].headers["Retry-After"]) <= 60
        assert first[-1].text.startswith("There were too many uploads within a minute; wait ")
        assert upload(client, "a.txt", b"x", **from_address(4)).status_code == 200
        joins = [
            client.post(f"{API}/queue/join", json={**JOIN, "fn_index": 99999}, headers=from_address(3))
            for _ in range(11)
        ]
        assert [answer.status_code == 429 for answer in joins] == [False] * 10 + [True]
        assert "too many requests" in joins[-1].json()["detail"]


def test_nobody_becomes_another_client_by_saying_so(shared: str) -> None:
    # logins are counted by address, which behind a proxy is the last one that no proxy has
    form = {"username": "ann", "password": "wrong"}
    own = f"198.51.100.{time.time_ns() % 256}"  # another one when the test is run again
    statuses = [
        post(f"{shared}/login", data=form, headers={"X-Forwarded-For": f"{n}.1.1.1, {own}"}).status_code
        for n in range(8)
    ]
    # Where the minute the limit counts in ends meanwhile, a seventh is let in.
    assert statuses[:6] == [400] * 6
    assert statuses[7] == 429


def test_the_page_says_that_it_was_asked_too_often_and_does_not_hang(browser: Browser, tight: str) -> None:
    context = browser.new_context(extra_http_headers=from_address(5))
    page = context.new_page()
    page.goto(tight)
    view = page.locator("#explore-view .causalviz")
    expect(view).to_be_visible()
    page.fill("#question textarea", "late interaction")
    failed = view.get_by_text("No answer came: the notice says why.")
    for _ in range(5):  # a place may become free between the others' requests and the question
        page.evaluate(
            """async () => {
                const ask = () => fetch("./gradio_api/run/predict", { method: "POST", body: "{}" });
                while ((await ask()).status !== 429);
                document.querySelector("button#ask").click();
            }"""
        )
        page.wait_for_timeout(500)
        if failed.is_visible():
            break
    expect(page.get_by_text("There were too many requests within a minute").first).to_be_visible(
        timeout=60_000
    )
    expect(failed).to_be_visible(timeout=60_000)
    expect(view).not_to_contain_text("Looking for documents")
    context.close()


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start one that takes its time, for few people."""
    slow = FRAGILE.replace('open("/srv/secret/weights.bin")', "__import__('time').sleep(2)")
    limits = {
        "CAUSALVIZ_MAX_QUEUE": "1",
        "CAUSALVIZ_MAX_PAGES_OPEN": "4",
        "CAUSALVIZ_TRUST_PROXY": "127.0.0.1",
    }
    with serving(tmp_path_factory.mktemp("crowded"), slow, **limits) as address:
        yield address


def test_pages_open_at_once_are_bounded(crowded: str) -> None:
    with ExitStack() as stack:
        open_pages = [
            stack.enter_context(
                stream("GET", f"{crowded}{API}/heartbeat/page{number}", headers=from_address(6 + number // 2))
            )
            for number in range(3)
        ]
        assert [page.status_code for page in open_pages] == [200] * 3
        answer = get(crowded, headers=from_address(6))
        assert answer.status_code == 429
        assert "You have this app open too many times" in answer.text
        stack.enter_context(stream("GET", f"{crowded}{API}/heartbeat/page9", headers=from_address(9)))
        answer = get(crowded, headers=from_address(20))
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
        assert "Too many people have this app open at this moment; try again in a minute." in answer.text
    wait_until(lambda: get(crowded, headers=from_address(21)).status_code == 200)


def test_a_full_queue_is_a_sentence(crowded: str) -> None:
    with connected(base_url=crowded) as client, ThreadPoolExecutor(8) as pool:
        bodies = [question_to(client, "explode", f"s{number}") for number in range(16)]
        answers = list(pool.map(lambda body: client.post(f"{API}/queue/join", json=body), bodies))
    refused = [answer for answer in answers if answer.status_code != 200]
    assert refused
    assert {answer.status_code for answer in refused} == {429}
    assert refused[0].headers["Retry-After"] == "5"
    assert (
        refused[0].json()["detail"] == "Too many people ask at this moment; wait some seconds and ask again."
    )


# Logins and proxies ---------------------------------------------------------------------------------------------------


@contextmanager
def proxy(app: str) -> Iterator[str]:
    """Show an app below /causalviz, as nginx does with ``location /causalviz/ { proxy_pass http://app/; }``."""
    port = free_port()
    with subprocess.Popen([sys.executable, "-c", PROXY, app, str(port)]) as process:  # noqa: S603 - our own code
        try:
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/causalviz/theme.css"))
            yield f"http://127.0.0.1:{port}/causalviz/"
        finally:
            process.kill()


def answers(address: str) -> bool:
    try:
        return get(address).status_code == 200
    except httpx.TransportError:
        return False


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_people_log_in_below_a_proxys_path_and_ask(page: Page, shared: str, tmp_path: Path) -> None:
    with proxy(shared) as address:
        page.goto(address)
        page.get_by_label("username").fill("ann")
        page.get_by_label("password").fill(PASSWORD)
        page.get_by_role("button", name="Login").click()
        expect(page.locator("#explore-view .causalviz")).to_be_visible()
        page.fill("#question textarea", "late interaction")
        page.click("button#ask")
        expect(page.locator(".cv-results")).to_contain_text("late interaction")
        (tmp_path / "mine.txt").write_text("late interaction of tokens", encoding="utf-8")
        unfold(page, "#add-files")
        page.set_input_files("#files input[type=file]", str(tmp_path / "mine.txt"))
        page.locator("button#add").click()
        expect(page.locator("#upload-said")).to_contain_text("1 of 1 files are ready")
        page.close()  # ends what the proxy holds open


def test_without_a_login_nothing_but_the_form_is_served(shared: str) -> None:
    with connected(base_url=shared, headers=from_address(30)) as client:
        page = client.get("/")
        assert page.status_code == 200
        assert '"auth_required":true' in page.text
        assert "sample_kb" not in page.text
        for path in ("queue/data?session_hash=x", "upload_progress?upload_id=x", "heartbeat/x"):
            assert client.get(f"{API}/{path}").status_code == 401
        for path in ("queue/join", "run/predict", "upload", "cancel", "reset"):
            assert client.post(f"{API}/{path}", json=JOIN).status_code == 401
        assert client.get(f"{API}/heartbeat/x", headers={"Cookie": "access-token=guess"}).status_code == 401


def test_a_login_is_a_cookie_that_scripts_and_other_sites_do_not_get(shared: str) -> None:
    https = {**from_address(31), "X-Forwarded-Proto": "https", "Host": "app.example.org"}
    with connected(base_url=shared, headers=https) as client:
        wrong = client.post("/login", data={"username": "ann", "password": "wrong"})
        nobody = client.post("/login", data={"username": "eve", "password": PASSWORD})
        assert (wrong.status_code, nobody.status_code) == (400, 400)
        assert wrong.json() == nobody.json()
        right = client.post("/login", data={"username": "bob", "password": PASSWORD})
        assert right.status_code == 200
        cookies = right.headers.get_list("set-cookie")
        assert cookies
        for cookie in cookies:
            assert {"HttpOnly", "Secure", "SameSite=Lax"} <= set(cookie.split("; "))
        page = client.get("/", headers={"Cookie": "; ".join(cookie.split(";")[0] for cookie in cookies)})
        assert '"root":"https://app.example.org/causalviz"' in page.text
        assert '"username":"bob"' in page.text
        assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
    plain = post(f"{shared}/login", data={"username": "bob", "password": PASSWORD}, headers=from_address(32))
    assert all("SameSite=Lax" in c and "Secure" not in c for c in plain.headers.get_list("set-cookie"))
