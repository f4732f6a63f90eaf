"""Our re-rank of 100 candidates against forward passes of two cross-encoders over the same 100, in one run.

Speed depends on a network's shape, not on its weights, so these are random; every pair has 512 tokens. The vocabulary
is cut short: looking a token up costs the same in a small one. torch is loaded here and not before, so that other
benchmarks of the run are measured without it.

    python -m benchmarks.rerankers
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.queries import interleaved
from causalviz.cli.terminal import print_table
from causalviz.keywords import DOCUMENT_KEYWORDS
from causalviz.rank import rerank
from causalviz.records import Candidate, RankSettings
from causalviz.score import ScoreTable

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CANDIDATES = 100
TOKENS = 512
VOCABULARY = 1000
RERANKER_PAIRS = 4
MINILM_PAIRS = 20
"""So many are read in one pass, and its time is scaled to all candidates: each costs the same."""


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    table = ScoreTable.of(random_candidates())
    (ours,) = interleaved([lambda: rerank(table, RankSettings(tau=0.6, alpha=0.3))], rounds=200)
    rows = []
    for name, network, pairs, bar in [
        ("bge-reranker-v2-m3", bge_reranker_v2_m3(), RERANKER_PAIRS, ">= 1,000 x"),
        ("MiniLM-L2", minilm_l2(), MINILM_PAIRS, ">= 50 x"),
    ]:
        theirs = forward_seconds(network, pairs) * CANDIDATES / pairs
        rows.append(
            [
                f"{name}, {CANDIDATES} candidates (from {pairs}) / re-rank",
                f"{theirs / ours:,.0f} x ({theirs:.0f} s / {ours * 1e3:.2f} ms)",
                bar,
            ]
        )
    return rows


def random_candidates() -> tuple[Candidate, ...]:
    """Make candidates with 15 keywords each, whose numbers are as a trace keeps them."""
    draw = np.random.default_rng(5)
    found = []
    for i in range(CANDIDATES):
        vectors = draw.normal(size=(DOCUMENT_KEYWORDS, 384))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        found.append(
            Candidate(
                id=f"{i:03d}",
                title="",
                similarity=1 - i / CANDIDATES,
                terms=tuple(f"term{j}" for j in range(DOCUMENT_KEYWORDS)),
                weights=draw.random(DOCUMENT_KEYWORDS).astype(np.float32) + np.float32(0.1),
                cosines=draw.random(DOCUMENT_KEYWORDS).astype(np.float32),
                matches=np.zeros(DOCUMENT_KEYWORDS, np.int64),
                exact=np.zeros(DOCUMENT_KEYWORDS, bool),
                relevance=vectors[:, 0].astype(np.float32),
                gram=(vectors @ vectors.T).astype(np.float32),
                repeats=0,
                tokens=DOCUMENT_KEYWORDS,
            )
        )
    return tuple(found)


def bge_reranker_v2_m3() -> "PreTrainedModel":
    """Build the architecture of BAAI/bge-reranker-v2-m3: XLM-RoBERTa large with 8,192 places."""
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    return XLMRobertaForSequenceClassification(
        XLMRobertaConfig(
            vocab_size=VOCABULARY,
            hidden_size=1024,
            num_hidden_layers=24,
            num_attention_heads=16,
            intermediate_size=4096,
            max_position_embeddings=8194,
            type_vocab_size=1,
            num_labels=1,
        )
    )


def minilm_l2() -> "PreTrainedModel":
    """Build the architecture of cross-encoder/ms-marco-MiniLM-L2-v2, the smallest in common use."""
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=384,
            num_hidden_layers=2,
            num_attention_heads=12,
            intermediate_size=1536,
            num_labels=1,
        )
    )


def forward_seconds(network: "PreTrainedModel", pairs: int) -> float:
    """Time one batch of pairs, each of TOKENS tokens."""
    import torch

    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(4, VOCABULARY, (pairs, TOKENS), generator=draw)
    network.train(mode=False)
    with torch.inference_mode():
        start = time.perf_counter()
        network(input_ids=ids, attention_mask=torch.ones_like(ids))
        return time.perf_counter() - start


if __name__ == "__main__":
    print_table("Re-ranking", {"what": "left", "measured": "left", "bar": "left"}, main(), [])
