"""Which knowledge bases the web app offers, and the private ones made from uploads."""

import re
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from causalviz.bootstrap import index_into, make_encoder, open_pipeline, sample_pipeline
from causalviz.errors import KnowledgeBaseError
from causalviz.knowledge_base import FileEntry, IndexResult
from causalviz.pipeline import Pipeline
from causalviz.protocols import Encoder, Progress
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
        self._open: dict[str, tuple[int, Pipeline]] = {}
        self._lock = threading.Lock()

    @property
    def encoder(self) -> Encoder:
        """The encoder of this app."""
        return make_encoder(self._encoder_name)

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
            raise KnowledgeBaseError(
                f"there is no knowledge base '{name}' here any more; choose another one from the list."
            )
        with self._lock:
            if name == SAMPLE_NAME:
                if name not in self._open:
                    self._open[name] = (0, sample_pipeline(self.encoder, self._settings, progress))
                return self._open[name][1]
            path = self._extra.get(name) or self._settings.knowledge_bases / f"{name}{SUFFIX}"
            changed = path.stat().st_mtime_ns if path.exists() else -1
            if name not in self._open or self._open[name][0] != changed:
                self._open[name] = (changed, open_pipeline(path, self.encoder, progress, name))
            return self._open[name][1]

    def pipeline_for(self, name: str, upload: "Upload | None") -> Pipeline:
        """Choose what a session asks: its own upload, or a shared knowledge base.

        Raises:
            KnowledgeBaseError: as for pipeline.
        """
        if name == UPLOADS and upload is not None and upload.pipeline is not None:
            return upload.pipeline
        return self.pipeline(name, lambda *_: None)

    def save(self, upload: "Upload | None", name: str) -> str:
        """Keep a session's upload under a name that everybody using this app can then choose.

        Raises:
            KnowledgeBaseError: the name is unusable or taken, or nothing was uploaded yet.
        """
        clean = name.strip()
        if not re.fullmatch(r"[\w][\w .()-]{0,63}", clean) or clean.endswith("."):
            raise KnowledgeBaseError(
                f"'{clean[:80]}' cannot be a name; use 1 to 64 letters, digits, spaces, dots, dashes or brackets."
            )
        if clean in self.names():
            raise KnowledgeBaseError(f"there is already a knowledge base '{clean}'; choose another name.")
        if upload is None or upload.pipeline is None:
            raise KnowledgeBaseError("nothing has been uploaded yet; add files first, then save them.")
        self._settings.knowledge_bases.mkdir(parents=True, exist_ok=True)
        target = self._settings.knowledge_bases / f"{clean}{SUFFIX}"
        building = target.with_name(f"{target.name}.new")
        shutil.copyfile(upload.pipeline.base.path, building)
        building.replace(target)
        return clean


@dataclass(slots=True)
class Upload:
    """One session's own documents; nobody else sees them, and they go when the session ends."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="causalviz-")))
    entries: dict[str, FileEntry] = field(default_factory=dict)
    pipeline: Pipeline | None = None

    def add(self, files: Sequence[Path], encoder: Encoder, progress: Progress) -> IndexResult:
        """Index more files beside those already there.

        Files of one name are told apart by a number. ``pipeline`` stays as it was when no file could be read.
        """
        for file in files:
            id_ = _free_name(file.name, self.entries)
            kept = self.folder / "files" / str(len(self.entries))
            kept.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, kept)
            self.entries[id_] = FileEntry(id_, kept)
        path = self.folder / f"uploads{SUFFIX}"
        result = index_into(path, list(self.entries.values()), encoder, progress)
        opened = open_pipeline(path, encoder, progress, UPLOADS)
        self.pipeline = opened if opened.base.documents.ids else None
        return result

    def discard(self) -> None:
        """Delete the session's files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_name(name: str, taken: dict[str, FileEntry]) -> str:
    path, number = PurePosixPath(name), 2
    free = name
    while free in taken:
        free = f"{path.stem} ({number}){path.suffix}"
        number += 1
    return free
