"""Classified tables: each row is a context, each class an arm that pays 1 where it is right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from greedyfirst.problems import TableProblem


def tables(data_dir: Path | None) -> Iterator[tuple[str, TableProblem]]:
    """The paper's four tables where ``data_dir`` has them, scikit-learn's, and generated ones."""
    sources = {}
    for name in ("eeg", "eye_movements", "cardiotocography", "warfarin"):
        file = None if data_dir is None else data_dir / f"{name}.csv"
        if file is not None and file.exists():
            frame = pd.read_csv(file, header=None if name == "warfarin" else "infer")
            sources[name] = frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].to_numpy()
    for name in ("iris", "wine", "breast_cancer", "digits"):
        found = getattr(datasets, f"load_{name}")()
        sources[name] = found.data, found.target
    for name, (rows, classes) in sources.items():
        for form in ("length 1", "standardised"):
            yield f"{name}, {form}", table(rows, classes, form)
    generated = {
        "yes/no, dummies": (yes_no, "as it is"),
        "kinds, dummies": (kinds, "as it is"),
        "categories, dummies": (categories, "as it is"),
        "80 rows × 200": (wide, "standardised"),
        "classes 95:5": (unequal, "standardised"),
    }
    for seed, (name, (make, form)) in enumerate(generated.items(), start=1):
        yield name, table(*make(np.random.default_rng(seed)), form)


def table(rows: np.ndarray, classes: np.ndarray, form: str) -> TableProblem:
    """A classified table: rows of length 1, standardised with an intercept, or as they are."""
    rows = np.asarray(rows, dtype=float)
    if form == "length 1":
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    elif form == "standardised":
        varied = rows[:, rows.std(axis=0) > 0]
        scaled = (varied - varied.mean(axis=0)) / varied.std(axis=0)
        rows = np.column_stack([np.ones(len(rows)), scaled])
    codes = pd.factorize(classes)[0]
    return TableProblem(contexts=rows, rewards=np.eye(codes.max() + 1)[codes], shuffle=True)


def yes_no(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """435 rows of 17 yes/no questions, both answers as columns, two classes."""
    classes = rng.integers(2, size=435)
    lean = rng.uniform(0.05, 0.45, 17) * rng.choice([-1, 1], 17)
    yes = rng.random((435, 17)) < 0.5 + np.where(classes[:, None] == 1, 1, -1) * lean
    return np.column_stack([yes, ~yes]), classes


def kinds(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """101 rows of 16 yes/no marks with 5 % errors, both answers as columns, seven classes."""
    classes = rng.choice(7, 101, p=[0.4, 0.2, 0.05, 0.13, 0.04, 0.08, 0.1])
    typical = rng.random((7, 16)) < 0.5
    yes = typical[classes] ^ (rng.random((101, 16)) < 0.05)
    return np.column_stack([yes, ~yes]), classes


def categories(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """1500 rows of four categories as dummies, five classes."""
    rows = np.concatenate([np.eye(n)[rng.integers(n, size=1500)] for n in (4, 6, 3, 8)], axis=1)
    scores = rows @ rng.normal(size=(rows.shape[1], 5))
    return rows, (scores + 0.5 * rng.gumbel(size=scores.shape)).argmax(axis=1)


def wide(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """80 rows of 200 columns, of which five matter, two classes."""
    rows = rng.normal(size=(80, 200))
    return rows, rows[:, :5].sum(axis=1) + 0.5 * rng.normal(size=80) > 0


def unequal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """3000 rows of five columns, two classes; 5 % are of the second, higher by 1 in two columns."""
    classes = rng.random(3000) < 0.05
    rows = rng.normal(size=(3000, 5))
    rows[classes, :2] += 1.0
    return rows, classes
