"""Word segmentation and stop words, both from libraries."""

import logging
from functools import lru_cache

from causalviz.keywords import Tokenizer


@lru_cache(maxsize=1)
def default_tokenizer() -> Tokenizer:
    """Tokenizer for Chinese (jieba), English and anything else that is written in words.

    English stop words are NLTK's list as bm25s carries it; Chinese ones are stopwords-iso. The Chinese list of bm25s
    would drop content words such as 安全, the English one of stopwords-iso words such as "information".
    """
    import jieba
    import stopwordsiso
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    # jieba reports the loading of its dictionary on stderr; it is no news to a user.
    jieba.setLogLevel(logging.WARNING)
    stop_words = frozenset(word.lower() for word in (*stopwordsiso.stopwords("zh"), *STOPWORDS_EN_PLUS))
    return Tokenizer(jieba.lcut, stop_words)


def load_dictionary() -> None:
    """Load what takes half a second of the first Chinese text otherwise."""
    default_tokenizer().tokens("数据")
