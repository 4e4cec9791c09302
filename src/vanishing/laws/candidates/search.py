"""One law after another: the lowest degree whose test passes, its support, its audits; then further laws."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...polynomials.terms import count_terms
from ..estimate.gmm import Conditions
from ..estimate.monomials import monomials
from ..estimate.sample import Sample, WorkIsDoneError, make_sample
from ..estimate.settings import LIKELY, Attempt, Settings
from .fitted import FittedLaw
from .independence import candidate_terms, is_new, jacobian_rank, pivot_term
from .one_law import FOLLOWS, OneLaw

_logger = logging.getLogger("vanishing")

__all__ = ["find_law", "find_laws"]

_STOPPED = "stopped: it takes too many multiplications; leave out columns, or pass a smaller max_degree"
_ROWS_PER_TERM = 4  # with fewer, a polynomial of all terms comes near to the rows by chance


@dataclass(eq=False)
class _Search:
    """The search in one sample, with the conditions of every degree and noise model."""

    sample: Sample
    settings: Settings
    make_conditions: Callable[[Sample, int], Conditions] = Conditions
    attempts: list[Attempt] = field(default_factory=list)
    dense: list[FittedLaw] = field(default_factory=list)  # polynomials that hold within the noise
    _conditions: dict[tuple[str, int], Conditions] = field(default_factory=dict)
    _samples: dict[str, Sample] = field(default_factory=dict)

    def conditions(self, degree: int, model: str) -> Conditions:
        """The conditions of a degree under a kind of noise, computed once."""
        if model not in self._samples:
            same = model == self.sample.model
            table = self.sample.X + self.sample.origin  # multiplicative noise knows where zero is
            self._samples[model] = self.sample if same else make_sample(table, self.sample.groups, model)
        if (model, degree) not in self._conditions:
            self._conditions[model, degree] = self.make_conditions(self._samples[model], degree)
        return self._conditions[model, degree]

    def find(self, degree: int, trial: list[int], laws: Sequence[FittedLaw]) -> FittedLaw | None:
        """One law of these candidate terms besides those known, under the first noise model that is not rejected."""
        best: FittedLaw | None = None
        settled: set[str] = set()  # kinds of noise under which no other nuisance changes the answer
        for model, nuisance in self._models(degree, laws):
            if model in settled:
                continue
            one = self._one_law(degree, model, trial, nuisance, laws)
            try:
                with one.conditions.sample.work.limit():
                    law, attempt = one.run()
            except WorkIsDoneError:
                self.attempts.append(Attempt(degree, len(trial), float("nan"), _STOPPED))
                return best
            self.attempts.append(attempt)
            if law is not None and (best is None or (not law.dense, law.p_value) > (not best.dense, best.p_value)):
                best = law
            if best is not None and best.p_value >= LIKELY:
                break
            if attempt.reason == FOLLOWS:
                break
            if attempt.dof == 0:
                settled.add(model)
        return best

    def _models(self, degree: int, laws: Sequence[FittedLaw]) -> list[tuple[str, str]]:
        """The noise models to try: those of known laws, or of dense polynomials, which say as much about the noise.

        A linear law does not say which column the noise is in, so it has no noise by column.
        """
        likely = [law for law in [*laws, *self.dense] if law.p_value >= LIKELY]
        known = {(law.conditions.sample.model, law.nuisance) for law in likely}
        models = [entry for entry in self.settings.models if not known or entry in known] or [*self.settings.models]
        return [entry for k, entry in enumerate(models) if not k or degree > 1 or entry[1] != "columns"]

    def homogeneous(self, degree: int, trial: list[int], laws: Sequence[FittedLaw]) -> FittedLaw | None:
        """A law all of whose terms have the same dimension, where the columns have units."""
        if self.settings.classes is None:
            return None
        terms = monomials(self.sample.n_columns, degree)
        for members in self.settings.classes(terms.exponents):
            inside = [term for term in members.tolist() if term in trial]
            if len(inside) > 1 and max(terms.total[inside]) == degree and len(inside) < len(trial):
                law = self.find(degree, inside, laws)
                if law is not None and not law.dense and is_new(law, laws):
                    return law
        return None

    def _one_law(self, degree: int, model: str, trial: list[int], nuisance: str, laws: Sequence[FittedLaw]) -> OneLaw:
        conditions = self.conditions(degree, model)
        return OneLaw(self.settings, conditions, trial, nuisance, laws, short_only=bool(self.dense))


def find_laws(
    sample: Sample, settings: Settings, make_conditions: Callable[[Sample, int], Conditions] = Conditions
) -> tuple[list[FittedLaw], list[Attempt]]:
    """The laws of a sample, degree by degree, and all attempts.

    ``make_conditions(sample, degree)`` gives the moment conditions of a degree: those of rows, or of sums over rows.

    After a dense polynomial the search goes on: one of higher degree with few terms may explain the same rows.
    """
    search = _Search(sample, settings, make_conditions)
    laws: list[FittedLaw] = []
    dense = search.dense
    for degree in range(1, settings.max_degree + 1):
        _logger.info("Laws of degree %d of %d rows x %d columns.", degree, sample.n_rows, sample.n_columns)
        if count_terms(degree, sample.n_columns) * _ROWS_PER_TERM > sample.n_rows:
            search.attempts.append(_skipped(degree, sample.n_rows, sample.n_columns))
            break
        terms = monomials(sample.n_columns, degree)
        trial = candidate_terms(terms, laws, sample, settings)
        if not any(terms.total[trial] == degree):
            continue
        while len(trial) > 1:
            law = search.homogeneous(degree, trial, laws) or search.find(degree, trial, laws)
            if law is None or not is_new(law, laws):
                break
            if law.dense:
                dense.append(law)
                break
            laws.append(law)
            trial = [term for term in trial if term != pivot_term(law)]
        if jacobian_rank([*laws, *dense]) >= sample.n_columns - 1:
            break
    return laws + [law for law in dense[:1] if is_new(law, laws)], search.attempts


def _skipped(degree: int, n_rows: int, n_columns: int) -> Attempt:
    """The note that a degree has too many terms for the rows."""
    n_terms = count_terms(degree, n_columns)
    reason = f"skipped: {n_terms} terms need {n_terms * _ROWS_PER_TERM:,} rows, and there are {n_rows:,}"
    return Attempt(degree, n_terms, float("nan"), reason)


def find_law(sample: Sample, settings: Settings, degree: int) -> FittedLaw | None:
    """One law of a degree, if there is one."""
    terms = monomials(sample.n_columns, degree)
    return _Search(sample, settings).find(degree, candidate_terms(terms, [], sample, settings), [])
