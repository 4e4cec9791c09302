"""Reports of experiments: tables, figures, times and the bound."""

import csv
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from small_experiments import FEW_PSIS, SMALL, records_in

from vanishing.bounds import degree_bound, size_bound
from vanishing.cli.main import main
from vanishing.datasets import make_synthetic
from vanishing.experiments import _protocols, _request, _table3, _timing, published_runs, reproduce

pytestmark = pytest.mark.slow

# --- reports


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_file_of_a_report_is_there_and_none_has_a_nan(finished, name):
    report, folder = finished(name)
    endings = {path.suffix for path in report.files}
    assert endings == {".md", ".csv", ".png", ".svg"}
    assert all(path.parent == folder for path in report.files)
    for path in report.files:
        if path.suffix != ".png":
            assert not re.search(r"\b(nan|inf|None)\b", path.read_text(encoding="utf-8")), path
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / f"{name}.svg").read_text().rstrip().endswith("</svg>")


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_all_lines_of_a_markdown_table_have_the_same_cells(finished, name):
    report, folder = finished(name)
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(report.markdown())
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    assert len(blocks) == len(report.tables)
    for block, table in zip(blocks, report.tables, strict=True):
        lines = block.splitlines()
        assert {line.count("|") for line in lines} == {len(table.header) + 1}
        assert len({len(line) for line in lines}) == 1
        assert len(lines) == len(table.rows) + 2


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_csv_file_of_table_3_has_one_line_for_each_record(finished):
    _, folder = finished("table3")
    lines, records = read_csv(folder / "table3_runs.csv"), records_in(folder)
    assert {(line["data"], line["algorithm"], line["run"]) for line in lines} == records.keys()
    assert len(lines) == len(records)
    for line in lines:
        record = records[line["data"], line["algorithm"], line["run"]]
        del record["origin"]
        assert {name: float(line[name]) for name, value in record.items() if value is not None} == {
            name: value for name, value in record.items() if value is not None
        }
        theirs = published_runs().get((line["data"], line["algorithm"]))
        for name in ("psi", "C", "svm_degree", "size", "n_generators", "error", "seconds"):
            value = None if theirs is None else getattr(theirs[int(line["run"])], name)
            assert line[f"published_{name}"] == ("" if value is None else str(value))
        if theirs is not None:
            difference = record["error"] - theirs[int(line["run"])].error
            assert float(line["error_difference"]) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("name", ["fig1", "fig2", "fig3"])
def test_the_csv_file_of_a_figure_has_one_line_for_each_number_of_rows(finished, name):
    _, folder = finished(name)
    lines, records = read_csv(folder / f"{name}.csv"), records_in(folder)
    assert len(lines) == sum(len(record["sizes"]) for record in records.values())
    for line in lines:
        record = records[line["data"], line["algorithm"], line["run"]]
        k = record["sizes"].index(int(line["rows"]))
        assert float(line["psi"]) == record["psi"]
        for column in ("seconds", "deciding", "iterations", "n_generators", "size"):
            assert float(line[column]) == record[column][k]


@pytest.mark.slow
def test_equal_records_give_equal_files(finished, data_dir):
    for name in ("table3", "fig2", "bound"):
        report, folder = finished(name)
        before = {path: path.read_bytes() for path in report.files}
        reproduce(name, data=["seeds"], data_dir=data_dir, results=folder.parent, **SMALL[name])
        assert {path: path.read_bytes() for path in report.files} == before


def test_the_command_prints_the_report_and_names_its_files(data_dir, tuning, tmp_path, capsys):
    command = ["reproduce", "table3", "--data", "seeds", "seeds", "--algorithms", "ABM", "abm*", "--quick"]
    assert main([*command, "--data-dir", data_dir, "--results", str(tmp_path)]) == 0
    out, folder = capsys.readouterr().out, tmp_path / "table3-correct-quick"
    assert len(tuning) == 1
    text = (folder / "table3.md").read_text(encoding="utf-8")
    assert text.startswith(out.partition("\nwritten: ")[0])
    for path in out.strip().rpartition("written: ")[2].split(", "):
        assert Path(path).parent == folder
        assert Path(path).stat().st_size > 100


@pytest.fixture
def request_of_both():
    return _request.Request("table3", ("bank",), ("CGAVI-IHB", "SVM"), 10, "published", False, None, 1, None)


def as_records(request):
    """The published runs in the form of ours."""
    extra = {"sparsity": 0.0, "mean_degree": 1.0, "score": 1.0, "seconds_fit": 0.1}
    return {
        (data, name, str(k)): {**run._asdict(), **extra}
        for data in request.data
        for name in request.algorithms
        for k, run in enumerate(published_runs()[data, name])
    }


def test_the_published_runs_agree_with_themselves(request_of_both):
    report = _table3.report(request_of_both, as_records(request_of_both))
    assert [int(number) for number in re.findall(r"\d+", report.findings[0])] == [20, 20, 20, 20]
    for row in report.tables[0].rows:
        shown = dict(
            zip(("name", "error", "their error", "time", "their time", "size", "their size"), row, strict=False)
        )
        for name in ("error", "time", "size"):
            assert shown[name] == shown[f"their {name}"]
        assert row[-1] == "10/10"


@pytest.mark.parametrize(
    ("change", "counts"), [({"C": 0.5}, (19, 19, 19)), ({"size": 1}, (20, 19, 19)), ({"error": 9.0}, (20, 20, 19))]
)
def test_a_run_that_differs_is_not_counted_as_the_same(request_of_both, change, counts):
    records = as_records(request_of_both)
    records["bank", "CGAVI-IHB", "3"].update(change)
    finding = _table3.report(request_of_both, records).findings[0]
    assert [int(number) for number in re.findall(r"\d+", finding)][1:] == list(counts)


# --- times


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("n_rows", [210, 1372, 17898, 245057, 2_000_000])
def test_numbers_of_rows_ascend_up_to_all_of_them(n_rows, quick):
    sizes = _timing._sizes(n_rows, quick=quick)
    assert len(sizes) == (4 if quick else 7)
    assert all(small < large for small, large in itertools.pairwise(sizes))
    assert sizes[0] >= 100
    assert sizes[-1] == (min(n_rows, 100_000) if quick else n_rows)
    steps = np.diff(np.log(sizes))
    np.testing.assert_allclose(steps, steps.mean(), rtol=0.1)


@pytest.mark.parametrize("name", ["fig1", "fig2", "fig3"])
def test_deciding_is_a_part_of_training_and_only_solvers_iterate(finished, name):
    for (_, algorithm, _), record in records_in(finished(name)[1]).items():
        assert record["sizes"] == _timing._sizes(210, quick=True)
        assert all(0.0 < part <= whole for part, whole in zip(record["deciding"], record["seconds"], strict=True))
        iterates = algorithm in ("PCGAVI", "BPCGAVI", "BPCGAVI-WIHB")
        assert all((iterations > 0) == iterates for iterations in record["iterations"])
        assert record["psi"] in (FEW_PSIS if name == "fig3" else (0.005,))


def test_boosting_changes_times_and_no_sizes(finished):
    records = records_in(finished("fig2")[1])
    for k in ("0", "1"):
        sizes = [records["seeds", name, k]["size"] for name in ("BPCGAVI", "BPCGAVI-WIHB", "CGAVI-IHB")]
        assert sizes[0] == sizes[1] == sizes[2]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_growth_is_the_power_of_the_number_of_rows(power):
    sizes = [100, 320, 1000, 3200, 10000]
    runs = [
        {"sizes": sizes, "seconds": [start, *(c * size**power for size in sizes[1:])]} for start, c in ((9, 1), (0, 3))
    ]
    assert _timing.growth(runs) == pytest.approx(power)


@pytest.mark.slow
def test_the_synthetic_data_need_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(
        _request, "make_synthetic", lambda random_state: make_synthetic(2000, random_state=random_state)
    )
    how = {"data": ["synthetic"], "data_dir": tmp_path, "results": tmp_path / "results"}
    report = reproduce("fig2", **how, algorithms=["CGAVI-IHB", "BPCGAVI-WIHB"], runs=1)
    assert [row[:3] for row in report.tables[0].rows] == [
        ["synthetic", 2000, "CGAVI-IHB"],
        ["synthetic", 2000, "BPCGAVI-WIHB"],
    ]
    assert [row[-2] for row in report.tables[0].rows] == ["17.0", "17.0"]  # 6 + 4 and 4 + 3
    assert re.search(r"BPCGAVI-WIHB over CGAVI-IHB here \(deciding alone\): synthetic \d", report.findings[0])


# --- the bound


def test_the_bound_holds_and_is_that_of_the_theorem(finished):
    report, folder = finished("bound")
    rows, lines = report.tables[0].rows, read_csv(folder / "bound.csv")
    assert len(rows) == len(lines) == 2 * len(_protocols.PSIS)
    for data, name, psi, degree, reached, bound, largest, by_class, total, _ in rows:
        record = records_in(folder)[data, name, f"{psi:g}"]
        sizes = [g + o for g, o in zip(record["n_generators"], record["n_basis"], strict=True)]
        assert (degree, bound) == (degree_bound(psi), size_bound(psi, 7))
        assert reached == record["degree"] <= degree
        assert largest == max(sizes) <= bound
        assert by_class == " / ".join(
            f"{g}+{o}" for g, o in zip(record["n_generators"], record["n_basis"], strict=True)
        )
        assert total == sum(sizes)
    assert report.findings[0].startswith(f"The bound on degree and size holds in {len(rows)} of {len(rows)} cases")


def test_the_published_sizes_beside_the_bound_are_those_of_table_3(finished):
    for _, name, psi, *_, shown in finished("bound")[0].tables[0].rows:
        sizes = [run.size for run in published_runs().get(("seeds", name), []) if run.psi == psi]
        if sizes:
            mean, count = re.fullmatch(r"(\S+) \(of (\d+)\)", shown).groups()
            assert (float(mean), int(count)) == (pytest.approx(np.mean(sizes), abs=0.05), len(sizes))
        else:
            assert shown is None
