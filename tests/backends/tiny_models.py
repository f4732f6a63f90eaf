"""Models of the real architectures with small random layers, saved as their libraries expect them on disk."""

from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    XLMRobertaConfig,
    XLMRobertaModel,
)

# Layers this small gain nothing from threads, which wait for each other on a busy machine.
torch.set_num_threads(1)

DIM = 32
_LETTERS = sorted(set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ?: 数据出境的安全如何评估😀"))


def bge_m3(folder: Path) -> Path:
    """Save XLM-R with the two heads of BGE-M3."""
    words = _tokenizer(folder)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=words,
        hidden_size=DIM,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=8194,
        type_vocab_size=1,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(folder)
    torch.save(torch.nn.Linear(DIM, DIM).state_dict(), folder / "colbert_linear.pt")
    torch.save(torch.nn.Linear(DIM, 1).state_dict(), folder / "sparse_linear.pt")
    return folder


def bert(folder: Path, seed: int = 0) -> Path:
    """Save BERT, as bge-small-zh-v1.5 is one."""
    words = _tokenizer(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=words,
        hidden_size=DIM,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        pad_token_id=1,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def roberta(folder: Path) -> Path:
    """Save XLM-R of 514 places, two of which no text can use, with a tokenizer that knows no limit."""
    words = _tokenizer(folder, longest=None)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=words,
        hidden_size=DIM,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=514,
        type_vocab_size=1,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(folder)
    return folder


def sentence(folder: Path, bare: Path, prompts: dict[str, str]) -> Path:
    """Save a sentence-transformers model: a bare network, the mean of its tokens, and prompts."""
    network = Transformer(str(bare))
    SentenceTransformer(modules=[network, Pooling(DIM)], prompts=prompts, device="cpu").save(str(folder))
    return folder


def scoring(folder: Path) -> Path:
    """Save BERT that gives a pair of texts one score, as MiniLM rerankers do."""
    words = _tokenizer(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=words,
        hidden_size=DIM,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        pad_token_id=1,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def chat(folder: Path) -> Path:
    """Save a model of Qwen3's architecture with a chat template."""
    words = _tokenizer(folder)
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    torch.manual_seed(3)
    config = Qwen3Config(
        vocab_size=words,
        hidden_size=DIM,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=32_768,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=1,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


def _tokenizer(folder: Path, longest: int | None = 512) -> int:
    """Save a tokenizer of one token a character; return the size of its vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *_LETTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>"}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **({"model_max_length": longest} if longest else {}),
        **{f"{name}_token": token for name, token in names.items()},
    ).save_pretrained(folder)
    return len(vocabulary)
