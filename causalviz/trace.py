"""A trace as versioned JSON: the one form shared by the page, the command line and the report.

Reals are written as the exact double of their float32 value, so that reading them back, in Python or in
JavaScript, gives the same bits and therefore the same ranks.
"""

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from causalviz.errors import TraceError
from causalviz.records import Candidate, DefaultTau, JsonObject, Keyword, RankSettings, Trace

FORMAT = "causalviz-trace"
VERSION = 1


def to_json(trace: Trace) -> JsonObject:
    """Turn a trace into plain JSON values (no NaN, no infinity)."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "query": trace.query,
        "query_keywords": [asdict(keyword) for keyword in trace.query_keywords],
        "candidates": [_candidate_to_json(candidate, trace) for candidate in trace.candidates],
        "encoder": trace.encoder,
        "centred": trace.centred,
        "unit": trace.unit,
        "top_k": trace.top_k,
        "theta": trace.theta,
        "settings": asdict(trace.settings),
        "knowledge_base": trace.knowledge_base,
        "fingerprint": trace.fingerprint,
        "documents": trace.documents,
        "random_pairs": trace.random_pairs.tolist(),
        "seconds": trace.seconds,
        "default_tau": trace.default_tau and asdict(trace.default_tau),
        "densities": trace.densities.tolist(),
        "density_limit": trace.density_limit,
        "reranker": trace.reranker,
        "warnings": list(trace.warnings),
    }


def _candidate_to_json(candidate: Candidate, trace: Trace) -> JsonObject:
    upper = np.triu_indices(len(candidate.terms))
    return {
        "id": candidate.id,
        "title": candidate.title,
        "similarity": candidate.similarity,
        "keywords": [
            {
                "term": term,
                "weight": weight,
                "cosine": cosine if math.isfinite(cosine) else None,
                "match": trace.query_keywords[match].term if match >= 0 else None,
                "exact": exact,
                "relevance": relevance,
            }
            for term, weight, cosine, match, exact, relevance in zip(
                candidate.terms,
                candidate.weights.tolist(),
                candidate.cosines.tolist(),
                candidate.matches.tolist(),
                candidate.exact.tolist(),
                candidate.relevance.tolist(),
                strict=True,
            )
        ],
        "gram": candidate.gram[upper].tolist(),
        "repeats": candidate.repeats,
        "tokens": candidate.tokens,
        "duplicate_of": candidate.duplicate_of,
        "near_duplicate_of": candidate.near_duplicate_of,
        "suspect": candidate.suspect,
        "use": candidate.use,
        "topic": candidate.topic,
        "cross_encoder": candidate.cross_encoder,
    }


def from_json(data: object) -> Trace:
    """Read a trace back.

    Raises:
        TraceError: it is no trace, of another version, or a field is missing or of the wrong kind.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError(f"this is no {FORMAT} file; write one with `rank --trace FILE`.")
    if data.get("version") != VERSION:
        raise TraceError(
            f"the trace has version {data.get('version')}, but this release reads version {VERSION}; "
            "ask the question again to write a new one."
        )
    # Imported here: writing a trace needs no schema.
    from pydantic import ValidationError

    from causalviz.trace_schema import TraceFile

    try:
        checked = TraceFile.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise TraceError(
            f"the trace is damaged ({place}: {first['msg']}); ask the question again to write a new one."
        ) from error
    return _trace(checked.model_dump())


def loads(text: str) -> Trace:
    """Read a trace from JSON text.

    Raises:
        TraceError: the text is not JSON or not a trace.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond what Python reads
        raise TraceError(
            f"this is no JSON ({error}); a trace is written with `rank --trace FILE`."
        ) from error
    return from_json(data)


def _trace(data: dict[str, Any]) -> Trace:
    query_keywords = tuple(Keyword(**keyword) for keyword in data["query_keywords"])
    positions = {keyword.term: i for i, keyword in enumerate(query_keywords)}
    return Trace(
        query=data["query"],
        query_keywords=query_keywords,
        candidates=tuple(_candidate(entry, positions) for entry in data["candidates"]),
        encoder=data["encoder"],
        centred=data["centred"],
        unit=data["unit"],
        top_k=data["top_k"],
        theta=data["theta"],
        settings=RankSettings(**data["settings"]),
        knowledge_base=data["knowledge_base"],
        fingerprint=data["fingerprint"],
        documents=data["documents"],
        random_pairs=np.array(data["random_pairs"], np.float32),
        seconds=dict(data["seconds"]),
        default_tau=data["default_tau"] and DefaultTau(**data["default_tau"]),
        densities=np.array(data["densities"], np.float32),
        density_limit=data["density_limit"],
        reranker=data["reranker"],
        warnings=tuple(data["warnings"]),
    )


def _candidate(entry: dict[str, Any], positions: dict[str, int]) -> Candidate:
    keywords = entry["keywords"]
    n = len(keywords)
    gram = np.zeros((n, n), np.float32)
    gram[np.triu_indices(n)] = entry["gram"]
    gram.T[np.triu_indices(n)] = entry["gram"]
    return Candidate(
        id=entry["id"],
        title=entry["title"],
        similarity=float(entry["similarity"]),
        terms=tuple(keyword["term"] for keyword in keywords),
        weights=np.array([keyword["weight"] for keyword in keywords], np.float32),
        cosines=np.array(
            [-np.inf if keyword["cosine"] is None else keyword["cosine"] for keyword in keywords], np.float32
        ),
        matches=np.array(
            [-1 if keyword["match"] is None else positions[keyword["match"]] for keyword in keywords],
            np.int64,
        ),
        exact=np.array([keyword["exact"] for keyword in keywords], bool),
        relevance=np.array([keyword["relevance"] for keyword in keywords], np.float32),
        gram=gram,
        repeats=entry["repeats"],
        tokens=entry["tokens"],
        duplicate_of=entry["duplicate_of"],
        near_duplicate_of=entry["near_duplicate_of"],
        suspect=entry["suspect"],
        use=entry["use"],
        topic=entry["topic"],
        cross_encoder=entry["cross_encoder"],
    )
