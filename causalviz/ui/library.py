"""Which knowledge bases the web app offers, and the private ones made from uploads."""

import atexit
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from causalviz.bootstrap import open_pipeline, sample_pipeline
from causalviz.documents import Limits
from causalviz.documents.limits import limits_of
from causalviz.errors import KnowledgeBaseError
from causalviz.jobs import Job, Runner, runner
from causalviz.keywords import Tokenizer
from causalviz.knowledge_base import FileEntry, IndexResult, Source, rebuild, reports, update
from causalviz.knowledge_base.store import Store
from causalviz.pipeline import Pipeline, with_reranker
from causalviz.protocols import Encoder, Progress
from causalviz.records import Trace
from causalviz.settings import Settings
from causalviz.ui.changing import backup, change_file, changing_place, free_name, take_up
from causalviz.ui.models import Models
from causalviz.ui.places import temporary

SAMPLE_NAME = "sample_kb"
UPLOADS = "your uploads"
SUFFIX = ".kb"
_PATIENCE = 5.0
"""Seconds the app's end waits for a change to end."""
_UPLOADS_FILE = f"uploads{SUFFIX}"

T = TypeVar("T")


class Library:
    """The shared, read-only knowledge bases of one app: the sample, the saved ones, and those named at its start."""

    def __init__(self, settings: Settings, encoder_name: str, extra: Sequence[Path] = ()) -> None:
        self._settings = settings
        self.models = Models(replace(settings, encoder=encoder_name))
        self._extra = {path.stem: path for path in extra}
        self._open: dict[str, tuple[tuple[int, ...], Pipeline]] = {}
        self._lock = threading.Lock()
        self._changing: set[str] = set()

    @property
    def encoder(self) -> Encoder:
        """The encoder of this app."""
        return self.models.encoder

    @property
    def folder(self) -> Path:
        """Where the saved knowledge bases lie."""
        return self._settings.knowledge_bases

    @property
    def limits(self) -> Limits:
        """What is refused for its cost."""
        return limits_of(self._settings.limits)

    @property
    def runner(self) -> Runner:
        """Where knowledge bases are changed, so that questions go on being answered."""
        return runner(self.models.settings.encoder, self.models.encoder_settings)

    @property
    def has_reranker(self) -> bool:
        """Whether a cross-encoder scores what is found too."""
        return self.models.has_reranker

    def crossed(self, pipeline: Pipeline, trace: Trace, progress: Progress) -> Trace:
        """Let this app's cross-encoder score a trace's candidates; its first use loads it.

        Raises:
            ParameterError: there is no reranker of its name.
            MissingBackendError: its package or weights are absent.
            BackendError: it failed.
            KnowledgeBaseError: the knowledge base was indexed again since the question was asked.
        """
        reranker = self.models.reranker
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
            # What another encoder opened is opened anew.
            encoder = self.models.generation
            if name == SAMPLE_NAME:
                if name not in self._open or self._open[name][0] != (encoder,):
                    self._open[name] = ((encoder,), sample_pipeline(self.encoder, self._settings, progress))
                return self._open[name][1]
            path = self.path(name)
            try:
                found = path.stat()
            except OSError as error:
                raise _gone(name) from error
            # Another file may have taken the name within one tick of the clock: its number tells.
            stamp = (encoder, found.st_mtime_ns, found.st_ino)
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

    def take_up(self) -> Iterator[str]:
        """Keep what was finished of changes that a killed app left behind; gives a sentence for each."""
        return take_up(self.folder, self.runner, self.changing)

    def pipeline_for(self, name: str, upload: "Upload | None") -> Pipeline:
        """Choose what a session asks: its own upload, or a shared knowledge base.

        Raises:
            KnowledgeBaseError: as for pipeline.
        """
        if name == UPLOADS and upload is not None and upload.pipeline is not None:
            made, now = upload.pipeline.base.encoder, self.encoder.name
            if made != now:
                raise KnowledgeBaseError(
                    f"your files were read with the encoder '{made}', but '{now}' is in use now; add a file, and all "
                    "of them are read with it, or choose the other one on the Models page."
                )
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
            with changing_place(target.parent) as place:
                backup(upload.pipeline.base.path, place / "new")
                (place / "new").replace(target)
        except OSError as error:
            raise KnowledgeBaseError(
                f"'{clean}' cannot be kept ({error.strerror}); choose a shorter name, or make room."
            ) from error
        return clean


class Upload:
    """One session's own documents; nobody else sees them, and they go when the session or the app ends."""

    def __init__(self) -> None:
        self.pipeline: Pipeline | None = None
        """None as long as no file could be read."""
        self._folder: Path | None = None
        self._stop = threading.Event()
        self._gone = threading.Event()
        self._busy = threading.Lock()

    @property
    def path(self) -> Path | None:
        """File of its knowledge base; None before anything was added."""
        path = self._folder and self._folder / _UPLOADS_FILE
        return path if path and path.exists() else None

    def add(
        self, files: Sequence[Path], encoder: Encoder, runner: Runner, progress: Progress, limits: Limits
    ) -> IndexResult | None:
        """Index files beside those already there, and delete them.

        Files of one name are told apart by a number.

        Returns:
            The report on all files; None if the run was stopped: then what it had finished can be asked, the rest is
            forgotten.

        Raises:
            KnowledgeBaseError: files are being read already.
            BackendError: the process that indexes ended by itself.
        """
        taken = {report.file for report in reports(self.path)} if self.path else set()
        entries = []
        for file in files:
            entries.append(FileEntry(free_name(file.name, taken), file))
            taken.add(entries[-1].id)
        try:
            result = self.change(
                lambda path: partial(add_files, path, entries, limits),
                encoder,
                runner,
                progress,
            )
        finally:
            for file in files:
                file.unlink(missing_ok=True)
        return result and replace(result, files=reports(self._made()))

    def change(
        self,
        job_on: Callable[[Path], Job[T]],
        encoder: Encoder,
        runner: Runner,
        progress: Progress,
        stop: threading.Event | None = None,
    ) -> T | None:
        """Let a job change the documents; until it is done, those before can be asked.

        Args:
            job_on: Makes the job for the file it is to change.
            encoder: Its vectors are in there.
            runner: Does the job.
            progress: Told how far it is.
            stop: Ends it, as ``stop()`` does; None for nothing but that.

        Returns:
            What the job gave; None if it was stopped: what was finished is kept.

        Raises:
            KnowledgeBaseError: files are being read already.
            CausalvizError: the job failed; then nothing is changed.
        """
        if not self._busy.acquire(blocking=False):
            raise KnowledgeBaseError("files are being read already; wait for them, or stop that first.")
        try:
            self._stop = stop or threading.Event()
            if self._gone.is_set():
                raise KnowledgeBaseError(
                    "the page was closed, and its documents went with it; reload it, then add them again."
                )
            path = self._made()
            if not path.exists():
                Store.create(path, encoder.name).__exit__()
            result = change_file(path, job_on, runner, progress, self._stop, gone=self._gone)
            if not self._gone.is_set():
                opened = open_pipeline(path, encoder, lambda *_: None, UPLOADS)
                self.pipeline = opened if opened.base.documents.ids else None
            return result
        finally:
            self._busy.release()
            if self._gone.is_set():
                self.discard()

    def _made(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(dir=temporary()))
            atexit.register(self.discard, _PATIENCE)
        return self._folder / _UPLOADS_FILE

    def stop(self) -> None:
        """Ask a running change to end."""
        self._stop.set()

    def discard(self, patience: float = 0.0) -> None:
        """Stop, and delete the session's files; those in use are deleted by the change that ends now.

        Args:
            patience: Seconds to wait for that end.
        """
        self._gone.set()
        self.stop()
        if not self._busy.acquire(timeout=patience):
            return
        try:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                atexit.unregister(self.discard)
            self.pipeline = None
        finally:
            self._busy.release()


def add_files(  # noqa: PLR0913, PLR0917 - a job, whose first arguments are bound
    path: Path, source: Source, limits: Limits, encoder: Encoder, tokenizer: Tokenizer, progress: Progress
) -> IndexResult:
    """Index files beside those already there; what another encoder made is encoded anew first: a job.

    Raises:
        KnowledgeBaseError: as ``rebuild`` and ``update``.
    """
    with Store.open(path) as store:
        made_with = store.encoder
    if made_with != encoder.name:
        rebuild(path, encoder, tokenizer, progress)
    return update(path, source, encoder, tokenizer, progress, keep_others=True, limits=limits)


def _gone(name: str) -> KnowledgeBaseError:
    return KnowledgeBaseError(
        f"there is no knowledge base '{name}' here any more; choose another one from the list."
    )
