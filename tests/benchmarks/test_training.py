"""What the trainers have in common: models of pairs, and the files of their weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from apps.memory.atomic.networks import Linear, PairModel, Weights
from benchmarks.training import fit_pair, run
from tests.quality.cases import ContradictionCase


def fit() -> tuple[PairModel, np.ndarray, np.ndarray, list[np.ndarray]]:
    """A model of 60 pairs that the last feature tells apart, as does a phrase in every second of them."""
    random = np.random.default_rng(1)
    vectors, features = random.random((60, 4)).astype(np.float32), random.random((60, 3)).astype(np.float32) * 9
    labels = (np.arange(60) % 2).astype(np.float32)
    features[:, 2] = labels * 5 + 70
    phrases = [np.array([1, 2]) if label else np.array([1]) for label in labels]
    shares = np.ones(60, np.float32)
    model = fit_pair(vectors, features, phrases, labels, shares, units=8, penalty=0.01, passes=60)
    return model, vectors, features, phrases


def test_a_pair_is_told_by_its_features_and_its_phrases() -> None:
    model, vectors, features, phrases = fit()
    scores = model.score(vectors, features, phrases)
    assert scores[1::2].min() > 0.5 > scores[::2].max()
    assert np.isclose(model.network.join(vectors, features)[:, 4:].mean(axis=0), 0, atol=1e-4).all()
    assert model.phrases.weights[2] > 0 == model.phrases.weights[3]


def test_what_is_written_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, vectors, features, phrases = fit()
    line = Linear(weights=np.array([0.5, -2], np.float32), bias=0.25)
    cases = tmp_path / "en_cases.jsonl"
    messages = [{"text": "I keep bees.", "days_ago": days} for days in (2, 1)]
    case = {"id": "en-same-01", "language": "en", "kind": "same", "relation": "same", "live": ["bees"], "ended": []}
    cases.write_text(json.dumps({**case, "live_count": 1, "messages": messages}), encoding="utf-8")
    seen: list[str] = []

    def train(cases: Sequence[ContradictionCase]) -> Weights:
        seen.extend(case.id for case in cases)
        return {**model.write(), **line.write("more")}

    output = tmp_path / "weights.npz"
    assert run(train, name="x", description="", arguments=["--cases", str(cases), "--output", str(output)]) == 0
    assert seen == ["en-same-01"]
    with np.load(output) as found:
        weights = {key: found[key].astype(np.float32) for key in found.files}
    assert Linear.read(weights, "more").score(np.array([[1, 0.25]], np.float32)) == line.score(
        np.array([[1, 0.25]], np.float32)
    )
    read = PairModel.read(weights).score(vectors, features, phrases)
    assert np.allclose(read, model.score(vectors, features, phrases), atol=0.02)  # halves are rounded
    assert capfd.readouterr().err == ""  # bars are for people
