"""Models in memory: each is loaded once and shared, and gives its memory back when it is unloaded."""

import gc
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from causalviz.arrays import FloatMatrix
from causalviz.errors import BackendError
from causalviz.protocols import Encoder

GRACE = 5.0
"""Seconds since its last use for which an encoder that was given up stays, so that a run in progress ends with it."""

Model = TypeVar("Model")


class Place(Generic[Model]):
    """Where one model is kept: empty until it is asked for, and again after it was unloaded."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load
        self._loading = threading.Lock()
        self._model: Model | None = None
        self._given_up = False
        self._busy = 0
        self._used = -GRACE

    @property
    def model(self) -> Model | None:
        """The model, where it is in memory."""
        return self._model

    def get(self) -> Model:
        """Return the model; the first to ask loads it, the others wait.

        Raises:
            BackendError: another model was chosen in its place.
            CausalvizError: as its loading.
        """
        with self._loading:
            if self._model is not None:
                return self._model
            if self._given_up:
                raise BackendError(
                    "another encoder was chosen on the Models page since; ask again, and the new one answers."
                )
            self._model = self._load()
            return self._model

    @contextmanager
    def using(self) -> Iterator[Model]:
        """Give the model for one call, and note that it is in use."""
        self._busy += 1
        try:
            yield self.get()
        finally:
            self._used = time.monotonic()
            self._busy -= 1

    def unload(self) -> None:
        """Give the memory back as soon as what runs has ended; the next to ask loads the model again."""
        if self._model is not None:
            self._model = None
            release_memory()

    def give_up(self) -> None:
        """Unload once no run uses the model any more, for good."""
        self._given_up = True
        left = GRACE if self._busy else self._used + GRACE - time.monotonic()
        if left <= 0:
            self.unload()
            return
        again = threading.Timer(left, self.give_up)
        again.daemon = True
        again.start()


class Shelf(Generic[Model]):
    """The places of one kind of model, by what they were asked for with."""

    def __init__(self, most: int) -> None:
        """Keep at most so many in memory: the last ones asked for."""
        self._most = most
        self._places: OrderedDict[Hashable, Place[Model]] = OrderedDict()
        self._homes: weakref.WeakKeyDictionary[Model, Place[Model]] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self, key: Hashable, load: Callable[[], Model]) -> Model:
        """Return the model of a key, loading it where it is not in memory; while one loads, others can be had."""
        with self._lock:
            place = self._places.setdefault(key, Place(load))
            self._places.move_to_end(key)
            old = [self._places.popitem(last=False)[1] for _ in range(len(self._places) - self._most)]
        for forgotten in old:
            forgotten.unload()
        model = place.get()
        self._homes[model] = place
        return model

    def loaded(self, key: Hashable) -> bool:
        """Whether the model of a key is in memory."""
        place = self._places.get(key)
        return place is not None and place.model is not None

    def place_of(self, model: Model) -> Place[Model] | None:
        """Find where a model is or was kept; None for one that never was."""
        return self._homes.get(model)

    def unload(self, key: Hashable) -> None:
        """Give the memory of one model back; it is loaded again when it is asked for."""
        place = self._places.get(key)
        if place is not None:
            place.unload()

    def keep_only(self, keys: Collection[Hashable]) -> None:
        """Give up all models but these."""
        with self._lock:
            gone = [self._places.pop(key) for key in list(self._places) if key not in keys]
        for place in gone:
            place.give_up()


class LentEncoder:
    """An encoder as pipelines hold it: they live as long as a browser's page, and must not keep its memory."""

    def __init__(self, place: Place[Encoder], encoder: Encoder) -> None:
        self.name = encoder.name
        self.dim = encoder.dim
        self._taus = {centred: encoder.default_tau(centred=centred) for centred in (False, True)}
        self._place = place

    def default_tau(self, *, centred: bool) -> float | None:
        """See Encoder."""
        return self._taus[centred]

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """See Encoder."""
        with self._place.using() as encoder:
            return self._same(encoder).encode_queries(texts)

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """See Encoder."""
        with self._place.using() as encoder:
            return self._same(encoder).encode_documents(texts)

    def _same(self, encoder: Encoder) -> Encoder:
        if encoder.name != self.name:
            raise BackendError(
                f"the weights have changed since this knowledge base was opened with '{self.name}'; they are those of "
                f"'{encoder.name}' now, so index its documents again."
            )
        return encoder


def release_memory() -> None:
    """Collect what was let go of, on the GPU too where torch was loaded."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
