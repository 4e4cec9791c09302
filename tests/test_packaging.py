"""What is released: wheel, source distribution, metadata, workflows, citation, version."""

import email
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import vanishing

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel, built from the source distribution, and that: as pip and PyPI see them."""
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source") / "vanishing"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("needs the files that git tracks")
    for name in tracked.stdout.split("\0")[:-1]:
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
        metadata = email.message_from_bytes(wheel.read(next(n for n in names if n.endswith("/METADATA"))))
    package = {name for name in names if ".dist-info/" not in name}
    source = ROOT / "src"
    kinds = (".py", ".csv", ".css", ".js")
    expected = {str(path.relative_to(source)) for path in source.rglob("*") if path.suffix in kinds}
    assert package == expected | {"vanishing/py.typed"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert metadata["Version"] == vanishing.__version__
    assert {"docs", "parquet", "plots", "test"} <= set(metadata.get_all("Provides-Extra"))
    assert "Programming Language :: Python :: 3.14" in metadata.get_all("Classifier")


@pytest.mark.slow
def test_the_source_distribution_can_be_tested_and_documented(built):
    with tarfile.open(built[1]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CITATION.cff", "Makefile", "tests/conftest.py", "docs/conf.py"} <= names
    assert "examples/laws/gas_law.py" in names
    tops = {name.split("/")[0] for name in names}
    assert not tops & {".github", ".ci", ".venv", "dist", "build"}
    assert not [name for name in names if "__pycache__" in name or "_build" in name]


@pytest.mark.slow
def test_the_version_is_known_without_installed_metadata():
    code = "import importlib.metadata as m; m.version = None; import vanishing; print(vanishing.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == vanishing.__version__


def test_the_citation_names_this_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == vanishing.__version__
    paper = citation["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Wirth", "Kera", "Pokutta"]
    assert paper["url"].endswith("2207.01236")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_complete(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["name"] == path.stem
    assert workflow[True]  # YAML reads the key "on" as a boolean
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["runs-on"], name
        needed = job.get("needs", [])
        assert {needed} if isinstance(needed, str) else set(needed) <= set(workflow["jobs"])
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "uses" not in step or "@" in step["uses"]


def test_workflows_test_every_python_that_the_metadata_names_on_three_systems():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [entry.split(" :: ")[-1] for entry in project["classifiers"] if "Python :: 3." in entry]
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert [system.split("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_publishing_needs_a_tag_and_no_password():
    publish = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["publish"]
    assert publish["if"] == "github.ref_type == 'tag'"
    assert publish["permissions"] == {"id-token": "write"}
    assert all("password" not in str(step) for step in publish["steps"])
