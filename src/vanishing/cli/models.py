"""Models that commands load from files, and their equations in the units of the files."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float1D, Float2D
from ..classification import PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV
from ..constants import IN_HTML, LONGEST_BLOCK
from ..detection import VanishingIdealDetector
from ..exports.outputs import predicted_names
from ..files import load, notes_of
from ..ideals.ideal import MonomialIdeal, VanishingIdeal
from ..laws import Law, LawFinder, Laws
from ..polynomials import Polynomials
from ..polynomials.affine import without_rounding
from ..polynomials.forms import values_over
from ..polynomials.polynomial import Polynomial
from ..rows.arrays import ArrayRows
from ..rows.disk import DiskRows
from ..rows.labels import best_labels
from ..rows.protocol import Block
from ..rules import Rules
from ..svm import L1SVC
from ..tables import TableEncoder
from .inputs import rows_of_files

T = TypeVar("T")

_KINDS: dict[str, tuple[type, ...]] = {
    "classifier": (VanishingIdealClassifier, VanishingIdealClassifierCV, L1SVC),
    "detector": (VanishingIdealDetector,),
    "laws": (Laws, Law, LawFinder),
    "rules": (Rules,),
    "ideal": (VanishingIdeal, PerClass, Polynomials),
}
_WORDS = {
    "classifier": "a classifier",
    "detector": "a detector",
    "laws": "laws",
    "rules": "rules",
    "ideal": "equations of an ideal",
}


@dataclass(frozen=True)
class Loaded:
    """A model from a file: ``model`` of some ``kind``, and the transformers ``before`` it.

    An ``encoder`` of texts and gaps comes first, if there is one.
    """

    path: str
    kind: str
    model: Any
    before: tuple[Any, ...]
    notes: dict[str, str]
    encoder: TableEncoder | None = None

    def open(self, arguments: argparse.Namespace, *, label: str | None = None) -> DiskRows:
        """The rows of the files of a command, in the columns of the first transformer, or of the model."""
        return rows_of_files(arguments, label=label, names=self.names, encoder=self.encoder)

    @property
    def names(self) -> list[str] | None:
        """The columns of the fit; None if they had no names."""
        if self.kind == "laws":
            return list(self.model.columns)
        if self.kind == "rules":
            return list(self.model[0].polynomial.feature_names) if len(self.model) else []
        if isinstance(self.model, Polynomials) and not (self.before or self.encoder):
            return list(self.model.feature_names)
        first = self.encoder or (*self.before, self.model)[0]
        names = getattr(first, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def scaler(self) -> MinMaxScaler | None:
        """The scaling before the model, if there is one; refuses models with other transformers before them."""
        if len(self.before) == 1 and isinstance(self.before[0], MinMaxScaler):
            return self.before[0]
        if self.before:
            raise ValueError(f"{self.path} does more than scale its columns: its equations are not in their units.")
        return None

    def rows_of(self, X: Float2D, place: Callable[[int], str] | None = None) -> _BlockRows:
        """The rows after the transformers, as the model takes them."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            for step in self.before:
                X = np.asarray(step.transform(X), dtype=np.float64)
        return _BlockRows(X, place)

    def each_block(self, rows: DiskRows, work: Callable[[Block, _BlockRows], T]) -> Iterator[T]:
        """``work(block, rows of the model)`` for all blocks, in order; threads read and compute ahead."""

        def kernel(block: Block) -> T:
            X = np.array(block.X, dtype=np.float64)  # the reader reuses its memory
            return work(block, self.rows_of(X, lambda row: rows.place(block.part, block.start + row)))

        seen = False
        for result in rows.each_block(kernel, LONGEST_BLOCK):
            seen = True
            yield result
        if not seen:
            raise ValueError(f"There are no rows in {rows.reader.name_of(0)}.")

    def features(self, rows: Any) -> dict[str, Array]:
        """The values of the equations: ``|g|``, violations, or distances from laws."""
        if self.kind == "laws":
            return {f"law{k}": law.distance(rows.X) for k, law in enumerate(self.model)}
        if self.kind == "detector":
            values = _violations(self.model, rows)
        elif isinstance(self.model, Polynomials):
            values = values_over(self.model.form, rows, absolute=True)
        else:
            values = np.asarray(self.model.transform(rows))
        return {f"g{k}": values[:, k] for k in range(values.shape[1])}

    def predictions(self, rows: Any) -> dict[str, Array]:
        """Labels, scores and probabilities of a classifier, or scores, p-values and violations of a detector."""
        model = self.model
        if self.kind == "detector":
            scores, p_values = scores_and_p_values(model, rows)
            outlier = (scores < model.offset_).astype(np.int64)
            return {"outlier": outlier, "score": scores, "p_value": p_values, **self.features(rows)}
        alone = isinstance(model, L1SVC)
        scores, shares = (model.decision_function(rows), None) if alone else model._decisions_and_probabilities(rows)
        columns = {"label": best_labels(scores, model.classes_)}
        table = scores.reshape(len(scores), -1)
        of_scores, of_shares = predicted_names(model.classes_, table.shape[1])
        columns |= dict(zip(of_scores, table.T, strict=True))
        if shares is not None:
            columns |= dict(zip(of_shares, shares.T, strict=True))
        return columns

    def equations(self) -> dict[str, str]:
        """The equation behind each column of features."""
        if self.kind == "laws":
            return {f"law{k}": law.equation for k, law in enumerate(self.model)}
        if self.kind == "rules":
            return {f"rule{k}": str(rule) for k, rule in enumerate(self.model)}
        if self.kind == "classifier":
            shown = [] if isinstance(self.model, L1SVC) else [str(name) for name in self.model.get_feature_names_out()]
        elif isinstance(self.model, PerClass):
            shown = [str(generator) for _, ideal in self.model._named for generator in ideal.generators_]
        else:
            generators = self.model if isinstance(self.model, Polynomials) else self.model.generators_
            shown = [str(generator) for generator in generators]
        return {f"g{k}": text for k, text in enumerate(shown)}

    def about(self) -> dict[str, Any]:
        """Notes to write beside columns that the model has computed."""
        return {"model": self.path, "kind": self.kind, "equations": self.equations()}


def load_model(path: str, command: str, *kinds: str) -> Loaded:
    """The model of a file; refuses kinds other than those that the command can use, by default all."""
    model = load(path)
    before: list[Any] = []
    if isinstance(model, Pipeline):
        *before, model = [step for _, step in model.steps if not isinstance(step, str)]
    kind = next((name for name, classes in _KINDS.items() if isinstance(model, classes)), None)
    if kind is None or (kinds and kind not in kinds):
        held = _WORDS.get(kind or "", f"a {type(model).__name__}")
        *others, last = (_WORDS[name] for name in kinds or _KINDS)
        wanted = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{path} holds {held}, but 'vanishing {command}' needs {wanted}.")
    if isinstance(model, LawFinder):
        model = model.laws_
    elif isinstance(model, Law):
        model = Laws([model], model.columns, model.n_rows)
    elif kind not in ("laws", "rules") and not isinstance(model, Polynomials):
        check_is_fitted(model)
    encoder = before.pop(0) if before and isinstance(before[0], TableEncoder) else None
    return Loaded(path, kind, model, tuple(before), notes_of(path), encoder)


class _BlockRows(ArrayRows):
    """Rows of one block that know their places in the files."""

    quiet = True

    def __init__(self, X: Float2D, place: Callable[[int], str] | None):
        super().__init__(X, n_jobs=1)
        self._place = place

    def place(self, part: int, row: int) -> str:
        return super().place(part, row) if self._place is None else self._place(row)


def scores_and_p_values(
    detector: VanishingIdealDetector, rows: Any, *, alarms_only: bool = False
) -> tuple[Float1D, Float1D]:
    """Scores and p-values from one evaluation; with ``alarms_only``, those of normal rows are bounds only."""
    scores = detector._scores(rows, alarms_only=alarms_only)
    return scores, detector._current().tail.p_values(-scores)


def _violations(detector: VanishingIdealDetector, rows: Any) -> Float2D:
    """Violations of the equations, in deviations; NaN for rows with missing values."""
    complete = ~np.isnan(rows.X).any(axis=1)
    values = np.full((len(rows), len(detector.generators_)), np.nan)
    if values.shape[1] and complete.any():
        values[complete] = detector.violations(_BlockRows(rows.X[complete], None))
    return values


def equation_lines(title: str, ideal: Any, scaler: Any) -> Iterator[str]:
    """The equations of an ideal that was fitted to scaled columns, and a sentence about relations."""
    from ..display import counted

    listed = listed_equations(ideal, scaler)
    yield f"{title}: {counted(len(listed), 'equation')}" + (", in the units of the files" if scaler is not None else "")
    for entry in listed[:IN_HTML]:
        yield f"  {entry['equation']} = 0    (root mean square {entry['rms']:.2g} for columns in [0, 1])"
    if len(listed) > IN_HTML:
        yield f"  ... and {len(listed) - IN_HTML} more"
    if isinstance(ideal, MonomialIdeal) and listed:
        yield str(ideal.relations())


def listed_equations(ideal: Any, scaler: Any) -> list[dict[str, Any]]:
    """Equations with their root mean squares: relations first, then lower degrees, and of one degree the best."""
    generators: Polynomials = ideal if isinstance(ideal, Polynomials) else ideal.generators_
    shown = polynomials_in_units(generators, scaler)
    relations = ideal.relations() if isinstance(ideal, MonomialIdeal) and len(generators) else None
    rank = np.zeros(len(generators)) if relations is None else relations.rank
    order = sorted(range(len(generators)), key=lambda g: (rank[g], shown[g].degree, generators.mse[g]))
    return [{"equation": str(shown[g]), "rms": float(generators.mse[g] ** 0.5)} for g in order]


def polynomials_in_units(generators: Polynomials, scaler: Any) -> list[Polynomial]:
    """The generators in the units of the files, each with the first coefficient 1, without rounding errors as terms."""
    size = np.ones(len(generators.feature_names))
    if scaler is None:
        return [without_rounding(polynomial, size) for polynomial in generators]
    size = np.maximum(np.abs(scaler.data_min_), np.abs(scaler.data_max_))
    return [without_rounding(polynomial, size) for polynomial in generators.in_units(scaler)]
