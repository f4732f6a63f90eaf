"""Change a knowledge base without its source: forget documents, encode all texts anew."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from causalviz.errors import KnowledgeBaseError
from causalviz.keywords import Tokenizer
from causalviz.knowledge_base.encoding import Encoding, Stopwatch
from causalviz.knowledge_base.indexing import members_of, remove_abandoned
from causalviz.knowledge_base.snapshot import take_snapshot
from causalviz.knowledge_base.store import Store, building_path, named_errors
from causalviz.protocols import Encoder, Progress


def forget(path: Path, ids: Iterable[str], encoder: Encoder, progress: Progress) -> tuple[str, ...]:
    """Remove documents and refusals from a knowledge base; the id of an archive stands for all files in it.

    Args:
        path: The file.
        ids: Those that are not there are passed over.
        encoder: The one the knowledge base was made with.
        progress: Told of keywords that are encoded.

    Returns:
        What was removed, sorted.

    Raises:
        KnowledgeBaseError: the file is missing, damaged, in use, or of another version or encoder.
    """
    with named_errors(path), Store.open(path, writing=True) as store:
        store.check_encoder(encoder.name)
        known = store.hashes().keys() | store.refusals().keys()
        archives = store.archives().keys() & set(ids)
        removed = sorted((known & set(ids)).union(*(members_of(archive, known) for archive in archives)))
        if removed or archives:
            # An archive some of whose files are forgotten is unpacked again when it is indexed again.
            touched = {id_ for id_ in store.archives() if members_of(id_, removed)}
            with store.changing():
                for id_ in (*removed, *archives, *touched):
                    store.remove(id_)
                store.note("removed", removed)
        if store.fingerprint() is None:
            take_snapshot(store, encoder.encode_queries, encoder.dim, progress)
    return tuple(removed)


def rebuild(path: Path, encoder: Encoder, tokenizer: Tokenizer, progress: Progress) -> None:
    """Encode all stored texts anew, also with another encoder; nothing is read again.

    The new file takes the place of the old one when it is complete; until then, and when the run ends early, the old
    one stays as it is. A calibration belongs to its encoder and stays with it only.

    Args:
        path: The file.
        encoder: Gives the new vectors.
        tokenizer: Splits texts into words.
        progress: Told of the characters done, and then of the keywords. It may raise to stop.

    Raises:
        KnowledgeBaseError: the file is missing, damaged, in use, of another version, cannot be written, or was changed
            by another run meanwhile.
    """
    remove_abandoned(path)
    building = building_path(path)
    try:
        with named_errors(path), Store.open(path) as old, Store.create(building, encoder.name) as new:
            generation = old.generation
            sizes = {report.file: report.characters for report in old.reports().values()}
            ids, total, done = list(old.hashes()), sum(sizes.values()), 0
            new.copy_records(old)
            encoding = Encoding(new, Stopwatch(encoder), tokenizer)
            for id_ in ids:
                progress(done, total, id_)
                before, size = done, sizes[id_]

                def tick(share: float, *, id_: str = id_, before: int = before, size: int = size) -> None:
                    progress(before + int(share * size), total, id_)

                if (file := old.stored_file(id_)) is not None:
                    encoding.add(file, None, tick)
                done += size
            encoding.finish()
            progress(total, total, "")
            take_snapshot(new, encoder.encode_queries, encoder.dim, progress)
            if old.generation != generation:
                raise KnowledgeBaseError(
                    f"'{path}' was changed by another run while it was built anew; start that once more."
                )
        try:
            building.replace(path)
        except OSError as error:
            raise KnowledgeBaseError(
                f"'{path}' cannot be replaced ({error.strerror}); close what has it open."
            ) from error
    finally:
        with suppress(OSError):
            building.unlink(missing_ok=True)
