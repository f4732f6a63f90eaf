"""A chat model on this machine, through transformers; Qwen3-4B is the paper's."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from causalviz.backends.loading import LOADING_ERRORS, encodable, first_line, loading, model_name
from causalviz.errors import BackendError, MissingBackendError, ParameterError
from causalviz.protocols import Ending

HUB_ID = "Qwen/Qwen3-4B"


class LocalChat:
    """A causal language model with its own chat template, on the GPU where there is one; one reply at a time."""

    def __init__(self, place: str = HUB_ID) -> None:
        """Load the weights, in the precision they were saved in.

        Args:
            place: A hub id, whose weights are downloaded once, or a folder that holds them.

        Raises:
            MissingBackendError: transformers is not installed, or the weights cannot be loaded.
            ParameterError: the model is not made for chat.
            BackendError: the machine has not enough memory for it.
        """
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise MissingBackendError(
                f"chat model 'local' needs transformers and torch ({error}); run `pip install -r requirements.txt`, or "
                "set CAUSALVIZ_CHAT_URL to a server."
            ) from error
        try:
            with loading(place):
                self._tokenizer: Any = AutoTokenizer.from_pretrained(place)
                chats = bool(self._tokenizer.chat_template)
                if chats:
                    model: Any = AutoModelForCausalLM.from_pretrained(place, dtype="auto")
                    self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        except (*LOADING_ERRORS, MemoryError) as error:
            # torch tells of memory in words only; its classes differ between devices.
            if "memory" in str(error) or isinstance(error, MemoryError):
                raise BackendError(
                    f"this machine cannot hold the chat model '{place}' ({first_line(error)}); choose a smaller one, "
                    "or set CAUSALVIZ_CHAT_URL to a server."
                ) from error
            raise MissingBackendError(
                f"the chat model cannot be loaded from '{place}' ({first_line(error)}); connect once to download it, "
                "or set CAUSALVIZ_CHAT_MODEL to local:FOLDER with the weights."
            ) from error
        if not chats:
            raise ParameterError(
                f"the model in '{place}' has no chat template, so it is none that answers questions; choose a chat "
                f"model such as {HUB_ID}."
            )
        self._place = place
        self._lock = threading.Lock()

    @cached_property
    def name(self) -> str:
        """The model and its revision; a folder is read once for it."""
        return model_name("local", self._place)

    @property
    def context(self) -> int | None:
        """Positions the model was made for."""
        return getattr(self._model.config, "max_position_embeddings", None)

    def count_tokens(self, text: str) -> int:
        """Count by the model's tokenizer, the few tokens of the chat template left out."""
        return len(self._tokenizer(encodable(text), add_special_tokens=False, verbose=False)["input_ids"])

    def reply(self, prompt: str, limit: int, piece: Callable[[str], None]) -> Ending:
        """See ChatModel. The most likely words are taken, so that the same prompt gives the same reply."""
        from transformers import TextStreamer

        class Pieces(TextStreamer):  # type: ignore[misc]  # of types that are not read
            """Called with every token, in the thread that generates: an exception in ``piece`` ends the run."""

            def on_finalized_text(self, text: str, stream_end: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the base class's
                piece(text)

        inputs = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": encodable(prompt)}],
            add_generation_prompt=True,
            # Templates that know no thinking leave this aside.
            enable_thinking=False,
            return_tensors="pt",
            return_dict=True,
        ).to(self._model.device)
        asked = inputs["input_ids"].shape[1]
        if self.context is not None and asked + limit > self.context:
            raise BackendError(
                f"the prompt has {asked:,} tokens, but with {limit:,} for the reply this model takes at most "
                f"{self.context - limit:,}; lower the token budget."
            )
        try:
            with self._lock:
                output = self._model.generate(
                    **inputs,
                    max_new_tokens=limit,
                    do_sample=False,
                    temperature=None,
                    top_p=None,
                    top_k=None,
                    streamer=Pieces(self._tokenizer, skip_prompt=True, skip_special_tokens=True),
                )
        except (MemoryError, RuntimeError) as error:
            raise BackendError(
                f"the chat model '{self._place}' failed ({first_line(error)}); lower the token budget, or choose a "
                "smaller model."
            ) from error
        return (
            "cut" if output.shape[1] - asked >= limit and not self._ended(int(output[0, -1])) else "complete"
        )

    def _ended(self, token: int) -> bool:
        ends = self._model.generation_config.eos_token_id
        return token in (ends if isinstance(ends, list) else [ends])
