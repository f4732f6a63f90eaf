"""Which knowledge bases the web app offers, and the private ones made from uploads."""

import atexit
import re
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from causalviz.bootstrap import index_into, make_encoder, make_reranker, open_pipeline, sample_pipeline
from causalviz.errors import KnowledgeBaseError, StoppedError
from causalviz.knowledge_base import FileEntry, IndexResult
from causalviz.pipeline import Pipeline, with_reranker
from causalviz.protocols import Encoder, Progress
from causalviz.records import Trace
from causalviz.settings import Settings

SAMPLE_NAME = "sample_kb"
UPLOADS = "your uploads"
SUFFIX = ".kb"


class Library:
    """The shared, read-only knowledge bases of one app: the sample, the saved ones, and those named at its start."""

    def __init__(self, settings: Settings, encoder_name: str, extra: Sequence[Path] = ()) -> None:
        self._settings = settings
        self._encoder_name = encoder_name
        self._extra = {path.stem: path for path in extra}
        self._open: dict[str, tuple[tuple[int, int], Pipeline]] = {}
        self._lock = threading.Lock()
        self._changing: set[str] = set()

    @property
    def encoder(self) -> Encoder:
        """The encoder of this app."""
        return make_encoder(self._encoder_name)

    @property
    def has_reranker(self) -> bool:
        """Whether a cross-encoder scores what is found too."""
        return bool(self._settings.reranker)

    def crossed(self, pipeline: Pipeline, trace: Trace, progress: Progress) -> Trace:
        """Let this app's cross-encoder score a trace's candidates; its first use loads it.

        Raises:
            ParameterError: there is no reranker of its name.
            MissingBackendError: its package or weights are absent.
            BackendError: it failed.
            KnowledgeBaseError: the knowledge base was indexed again since the question was asked.
        """
        reranker = make_reranker(self._settings.reranker)
        texts = pipeline.base.texts([candidate.id for candidate in trace.candidates], trace.unit)
        return with_reranker(trace, reranker, texts, progress)

    def names(self) -> list[str]:
        """Names to choose from, the sample first."""
        saved = {path.stem for path in self._settings.knowledge_bases.glob(f"*{SUFFIX}")}
        return [SAMPLE_NAME, *sorted((saved | self._extra.keys()) - {SAMPLE_NAME})]

    def pipeline(self, name: str, progress: Progress) -> Pipeline:
        """Open a knowledge base by name; once open it stays in memory until its file changes.

        Raises:
            KnowledgeBaseError: there is none of that name, or it cannot be opened with this app's encoder.
        """
        if name not in self.names():
            raise _gone(name)
        with self._lock:
            if name == SAMPLE_NAME:
                if name not in self._open:
                    self._open[name] = ((0, 0), sample_pipeline(self.encoder, self._settings, progress))
                return self._open[name][1]
            path = self.path(name)
            try:
                found = path.stat()
            except OSError as error:
                raise _gone(name) from error
            # Another file may have taken the name within one tick of the clock: its number tells.
            stamp = (found.st_mtime_ns, found.st_ino)
            if name not in self._open or self._open[name][0] != stamp:
                self._open[name] = (stamp, open_pipeline(path, self.encoder, progress, name))
            return self._open[name][1]

    def path(self, name: str) -> Path:
        """Where the file of a shared knowledge base lies, or would lie; the sample's is built on the way."""
        if name == SAMPLE_NAME:
            return self.pipeline(name, lambda *_: None).base.path
        return self._extra.get(name) or self._settings.knowledge_bases / f"{name}{SUFFIX}"

    def may_change(self, name: str) -> bool:
        """Whether people may change it in the app: not the sample, nor what was named when the app was started."""
        return name != SAMPLE_NAME and name not in self._extra

    @contextmanager
    def changing(self, name: str) -> Iterator[None]:
        """Let nobody else change a shared knowledge base meanwhile; asking goes on.

        Raises:
            KnowledgeBaseError: somebody else is changing it.
        """
        with self._lock:
            if name in self._changing:
                raise KnowledgeBaseError(
                    f"somebody else is changing '{name}' at this moment; wait for that to end, then try again."
                )
            self._changing.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._changing.discard(name)

    def pipeline_for(self, name: str, upload: "Upload | None") -> Pipeline:
        """Choose what a session asks: its own upload, or a shared knowledge base.

        Raises:
            KnowledgeBaseError: as for pipeline.
        """
        if name == UPLOADS and upload is not None and upload.pipeline is not None:
            return upload.pipeline
        return self.pipeline(name, lambda *_: None)

    def new_name(self, name: str) -> str:
        """Check a name somebody wants to give to a knowledge base, and return it without spaces around it.

        Raises:
            KnowledgeBaseError: the name is unusable or taken.
        """
        clean = name.strip()
        if not re.fullmatch(r"[\w][\w .()-]{0,63}", clean) or clean.endswith("."):
            raise KnowledgeBaseError(
                f"'{clean[:80]}' cannot be a name; use 1 to 64 letters, digits, spaces, dots, dashes or brackets."
            )
        if clean.casefold() in {taken.casefold() for taken in [*self.names(), UPLOADS]}:
            raise KnowledgeBaseError(f"there is already a knowledge base '{clean}'; choose another name.")
        return clean

    def save(self, upload: "Upload | None", name: str) -> str:
        """Keep a session's upload under a name that everybody using this app can then choose.

        Raises:
            KnowledgeBaseError: the name is unusable or taken, nothing was uploaded yet, or the place cannot be written.
        """
        clean = self.new_name(name)
        if upload is None or upload.pipeline is None:
            raise KnowledgeBaseError("nothing has been uploaded yet; add files first, then save them.")
        target = self._settings.knowledge_bases / f"{clean}{SUFFIX}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent) as place:
                shutil.copyfile(upload.pipeline.base.path, Path(place) / "new")
                (Path(place) / "new").replace(target)
        except OSError as error:
            raise KnowledgeBaseError(
                f"'{clean}' cannot be kept ({error.strerror}); choose a shorter name, or make room."
            ) from error
        return clean


class Upload:
    """One session's own documents; nobody else sees them, and they go when the session or the app ends."""

    def __init__(self) -> None:
        self.pipeline: Pipeline | None = None
        self._folder: Path | None = None
        self._entries: dict[str, FileEntry] = {}
        self._stop = threading.Event()
        self._busy = threading.Lock()

    def add(self, files: Sequence[Path], encoder: Encoder, progress: Progress) -> IndexResult | None:
        """Move files in and index them beside those already there.

        Files of one name are told apart by a number. ``pipeline`` is None as long as no file could be read.

        Returns:
            The report; None if the run was stopped: then what it had finished can be asked, the rest is forgotten.

        Raises:
            KnowledgeBaseError: files are being read already.
        """
        if not self._busy.acquire(blocking=False):
            raise KnowledgeBaseError("files are being read already; wait for them, or stop that first.")
        try:
            self._stop.clear()
            folder = self._take_in(files)
            path = folder / f"uploads{SUFFIX}"
            result = self._index(path, encoder, progress)
            opened = open_pipeline(path, encoder, lambda *_: None, UPLOADS)
            if result is None:
                self._entries = {id_: self._entries[id_] for id_ in opened.base.documents.ids}
            self.pipeline = opened if opened.base.documents.ids else None
            return result
        finally:
            self._busy.release()

    def stop(self) -> None:
        """Ask a running add to end; it does so after the text it is at."""
        self._stop.set()

    def discard(self) -> None:
        """Stop, and delete the session's files."""
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _take_in(self, files: Sequence[Path]) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="causalviz-"))
            (self._folder / "files").mkdir()
            atexit.register(self.discard)
        for file in files:
            id_ = _free_name(file.name, self._entries)
            kept = self._folder / "files" / uuid.uuid4().hex
            shutil.move(file, kept)
            self._entries[id_] = FileEntry(id_, kept)
        return self._folder

    def _index(self, path: Path, encoder: Encoder, progress: Progress) -> IndexResult | None:
        def show(done: int, total: int, what: str) -> None:
            if self._stop.is_set():
                raise StoppedError("stopped; what was finished is kept.")
            progress(done, total, what)

        try:
            return index_into(path, list(self._entries.values()), encoder, show)
        except StoppedError:
            return None


def _gone(name: str) -> KnowledgeBaseError:
    return KnowledgeBaseError(
        f"there is no knowledge base '{name}' here any more; choose another one from the list."
    )


def _free_name(name: str, taken: dict[str, FileEntry]) -> str:
    path, number = PurePosixPath(name), 2
    free = name
    while free in taken:
        free = f"{path.stem} ({number}){path.suffix}"
        number += 1
    return free
