"""Bounds on degree, size and out-of-sample error that hold before any data is seen.

All bounds are for data in the unit cube ``[0, 1]^n``. References: Wirth, Kera and Pokutta, "Approximate
Vanishing Ideal Computations at Scale" (2023, arXiv:2207.01236), Theorem 4.2; Wirth and Pokutta, "Conditional
Gradients for the Approximately Vanishing Ideal" (2022, arXiv:2202.03349); Mohri, Rostamizadeh and Talwalkar,
"Foundations of Machine Learning" (2018), Theorems 3.3, 11.3 and 11.15.
"""

from __future__ import annotations

from math import ceil, comb, log, sqrt


def degree_bound(psi: float) -> int:
    """Degree at which OAVI stops at the latest: ``D = ceil(-log(psi) / log(4))``.

    A term of degree d leads ``prod_j (x_j - 1/2)^a_j``, whose square is at most ``4^-d`` on the unit cube.

    Parameters
    ----------
    psi : float in (0, 1)

    Examples
    --------
    >>> degree_bound(0.005), degree_bound(1e-4)
    (4, 7)
    """
    if not 0.0 < psi < 1.0:
        raise ValueError(f"psi must lie in (0, 1) for this bound; got {psi!r}.")
    degree = ceil(-log(psi) / log(4.0))
    # Powers of 4 are exact in binary, so they correct a rounded logarithm.
    if 4.0 ** (1 - degree) <= psi:
        return degree - 1
    return degree if 4.0**-degree <= psi else degree + 1


def size_bound(psi: float, n_features: int) -> int:
    """Bound on the number of generators and terms: ``|G| + |O| <= binomial(D + n, D)``, for ``tau >= (3/2)^D``.

    Parameters
    ----------
    psi : float in (0, 1)
    n_features : int

    Examples
    --------
    >>> size_bound(0.005, 3)
    35
    """
    degree = degree_bound(psi)
    return comb(degree + n_features, degree)


def smallest_tau(psi: float) -> float:
    """Smallest bound ``tau = max(2, (3/2)^D)`` on a generator's l1 norm for which the bounds on degree and size hold.

    ``prod_j (x_j - 1/2)^a_j`` of degree D has coefficients of l1 norm ``(3/2)^D`` and must be allowed.

    Parameters
    ----------
    psi : float in (0, 1)

    Examples
    --------
    >>> smallest_tau(0.005)
    5.0625
    """
    return max(2.0, 1.5 ** degree_bound(psi))


def out_of_sample_bound(mse: float, tau: float, n_samples: int, n_terms: int, delta: float = 0.05) -> float:
    """Bound on the expected square of a generator at a new point, with probability at least ``1 - delta``.

    For a class of polynomials over k fixed terms with coefficients of l1 norm at most tau, on the unit cube,

        E[g(x)^2] <= mse(g) + 4 tau^2 sqrt(2 log(2k) / m) + tau^2 sqrt(log(1/delta) / (2m))

    for all of them at once. The values of such a polynomial lie in ``[-tau, tau]``, so its square is at most
    ``tau^2`` and is a ``2 tau``-Lipschitz function of the value (Talagrand's lemma); the class has Rademacher
    complexity at most ``tau sqrt(2 log(2k) / m)``.

    Parameters
    ----------
    mse : float
        Mean square over the sample.
    tau : float
        Bound on the l1 norm of all coefficients, the leading one included. Choose it before the fit: the bound
        does not hold for the l1 norm of a generator that the fit returned.
    n_samples : int
        Number of independent samples m.
    n_terms : int
        Number of terms k that a generator could have had, for instance ``size_bound(psi, n_features)``.
    delta : float in (0, 1), default=0.05

    Examples
    --------
    >>> round(out_of_sample_bound(0.005, 5.0625, 2_000_000, 35), 3)
    0.238
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie in (0, 1); got {delta!r}.")
    if n_samples < 1 or n_terms < 1:
        raise ValueError(f"n_samples and n_terms must be at least 1; got {n_samples!r} and {n_terms!r}.")
    complexity = 4.0 * tau**2 * sqrt(2.0 * log(2.0 * n_terms) / n_samples)
    return mse + complexity + tau**2 * sqrt(log(1.0 / delta) / (2.0 * n_samples))
