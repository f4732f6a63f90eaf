"""What the BGE-M3 adapter adds to calling FlagEmbedding directly, on the same texts and weights.

Documents: the time around the library's call is compared with the time in it, call by call, since two calls after each
other differ by more than the adapter adds. Keywords: against a call as the library is set up by itself, which takes
other batches. The weights are random and the network, of BGE-M3's kind, is small: with the real one the same adapter
adds less still.

    python -m benchmarks.encoders
"""

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from causalviz.backends.bge_m3 import BgeM3Encoder
from causalviz.cli.terminal import print_table

HIDDEN, LAYERS = 192, 4
"""BGE-M3 has 1,024 and 24."""
TEXTS, CHARACTERS = 11, 200
"""One batch: FlagEmbedding draws a bar for more."""
KEYWORDS = 256
"""As many as an index run encodes together."""
RUNS = 9


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    draw = random.Random(0)  # noqa: S311 - a reproducible draw
    texts = ["".join(draw.choices("abcdefgh ", k=CHARACTERS)) for _ in range(TEXTS)]
    keywords = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 12))) for _ in range(KEYWORDS)]
    with tempfile.TemporaryDirectory() as place:
        save_network(Path(place))
        encoder = BgeM3Encoder(place)
        model = encoder._model  # noqa: SLF001 - the library itself
        times = [
            (_seconds(lambda: encoder.encode_queries(keywords)), _seconds(lambda: model.encode(keywords)))
            for _ in range(RUNS)
        ]
        added = _around(encoder, model, texts)
    adapter, direct = (min(column) for column in zip(*times, strict=True))
    what = "BGE-M3 adapter over FlagEmbedding"
    return [
        [f"{what}, {TEXTS} texts", f"{median(added):+.2%} (at most {max(added):+.2%})", "<= 5 %"],
        [f"{what}, {KEYWORDS} keywords, least", f"{adapter / direct - 1:+.0%} ({direct:.2f} s)", "<= 5 %"],
    ]


def _around(encoder: BgeM3Encoder, model: Any, texts: list[str]) -> list[float]:  # noqa: ANN401 - published without types
    """Share of the library's time that the adapter adds around its one call, for RUNS calls."""
    direct, inside = model.encode, []

    def timed(*given: object, **options: object) -> object:
        start = time.perf_counter()
        found = direct(*given, **options)
        inside.append(time.perf_counter() - start)
        return found

    model.encode = timed
    whole = [_seconds(lambda: encoder.encode_documents(texts)) for _ in range(RUNS)]
    return [one / part - 1 for one, part in zip(whole, inside, strict=True)]


def save_network(folder: Path) -> None:
    """Save XLM-R with random weights, a tokenizer of one token a character, and BGE-M3's two heads."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *"abcdefgh "])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>"}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in names.items()}
    ).save_pretrained(folder)
    config = XLMRobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=4 * HIDDEN,
        max_position_embeddings=8194,
        type_vocab_size=1,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(folder)
    torch.save(torch.nn.Linear(HIDDEN, HIDDEN).state_dict(), folder / "colbert_linear.pt")
    torch.save(torch.nn.Linear(HIDDEN, 1).state_dict(), folder / "sparse_linear.pt")


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    columns = {"what": "left", "measured": "left", "bar": "left"}
    print_table(f"Encoders (of {RUNS} calls)", columns, main(), [])
