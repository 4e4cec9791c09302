"""The pages of the site: their code runs, their links lead somewhere, and everything is near the start page."""

import importlib
import re
from collections import deque
from pathlib import Path

import pytest
from website.blocks import agrees, run_page
from website.sentences import long_sentences, n_words, pages, sentences

from vanishing.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = {"made/commands.md", "made/changelog.md", "made/contributing.md"}
PAGES = {
    str(path.relative_to(DOCS))
    for path in DOCS.rglob("*.md")
    if not {"_build", "made", "gallery", "reference"} & set(path.relative_to(DOCS).parts)
}
QUICK = {"choosing.md", "certificates.md", "files.md"}
WITH_CODE = sorted(page for page in PAGES if re.search(r"^```(python|console)$", (DOCS / page).read_text(), re.M))
PUBLIC = [
    "vanishing", "vanishing.exports", "vanishing.plots", "vanishing.datasets", "vanishing.detection", "vanishing.rules",
    "vanishing.experiments", "vanishing.solvers",
]  # fmt: skip


@pytest.fixture(autouse=True)
def closed_figures(monkeypatch):
    import matplotlib as mpl

    mpl.use("Agg")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"), prepend=":")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page in QUICK else pytest.mark.slow) for page in [*WITH_CODE, "../README.md"]],
)
def test_code_runs_and_prints_what_the_page_shows(page, tmp_path):
    if page == "scale.md":
        pytest.importorskip("torch")
    for block, shown, printed in run_page(DOCS / page, tmp_path):
        assert printed.strip()
        assert block.varies or agrees(shown, printed), f"{page} shows\n{shown}\nbut prints\n{printed}"


def test_the_readme_is_short():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    snippets = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert len(snippets) == 4
    assert all(len(snippet.splitlines()) <= 6 for snippet in snippets)
    assert all(f"\nmake {target} " in text for target in ("demo", "test"))


def test_pages_have_no_long_sentences():
    found = {page.name: long_sentences(page.read_text(encoding="utf-8")) for page in pages()}
    assert len(found) >= len(PAGES)
    assert not {page: sentences for page, sentences in found.items() if sentences}


def test_the_words_of_a_sentence_are_counted():
    text = """# A heading of five words

One two `three words of code`, [four five](https://a.link/that/does/not/count) six.
Is this a second one? It is; e.g. this

- item one. Item two
| a | table | is | no | sentence |

```text
Neither is code. Nor is this.
```

A formula $a + b + c$ is one word - dashes are none."""
    counts = [n_words(sentence) for sentence in sentences(text)]
    assert counts == [6, 5, 4, 2, 2, 9]
    assert long_sentences(text, 5) == [sentence for sentence in sentences(text) if n_words(sentence) > 5]


def links_of(page):
    """Pages and places that a page links to, as (page, place); links out of the site are left out."""
    text = (DOCS / page).read_text()
    text = re.sub(r"^```(?!\{toctree\}).*?^```$", "", text, flags=re.M | re.S)
    found = [*re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", text)]
    for body in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.M | re.S):
        lines = [line for line in body.splitlines() if line and not line.startswith(":") and "*" not in line]
        found += [re.sub(r".*<(.*)>", r"\1", line) + ".md" for line in lines]
    for target in found:
        if "://" not in target:
            path, _, place = target.partition("#")
            yield (str((DOCS / page).parent.joinpath(path).resolve()) if path else str(DOCS / page)), place


def name_of(path):
    """A page by its name in the site; pages that are made of other files by theirs."""
    path = Path(path)
    if path.is_relative_to(DOCS):
        return str(path.relative_to(DOCS))
    return f"made/{path.relative_to(ROOT)}".lower().replace(".md.md", ".md")


def source_of(name):
    """The file that a page is made from; None for those that are made by a program."""
    if name.startswith("made/benchmarks/"):
        return ROOT / "benchmarks" / Path(name).name
    if name in ("made/changelog.md", "made/contributing.md"):
        return ROOT / f"{Path(name).stem.upper()}.md"
    return None if name in MADE or name.startswith("gallery/") else DOCS / name


def slugs(text):
    """Names of the places of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"`", "", heading).lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_somewhere(page):
    for path, place in links_of(page):
        name = name_of(path)
        if name.startswith("gallery/"):
            stem = name.removeprefix("gallery/").removesuffix(".md")
            assert stem == "index" or (ROOT / "examples" / f"{stem}.py").exists(), f"{page}: {name}"
            continue
        source = source_of(name)
        assert source is None or source.exists(), f"{page} links to {name}"
        assert not place or place in slugs(source.read_text()), f"{page} links to {name}#{place}"


def distances_from_start():
    """Clicks from the start page to every other one."""
    clicks, waiting = {"index.md": 0}, deque(["index.md"])
    while waiting:
        page = waiting.popleft()
        for path, _ in links_of(page):
            name = name_of(path)
            if name not in clicks:
                clicks[name] = clicks[page] + 1
                if name in PAGES:
                    waiting.append(name)
    return clicks


def test_every_page_is_two_clicks_from_the_start_page():
    clicks = distances_from_start()
    far = {page: clicks.get(page) for page in PAGES | MADE if clicks.get(page, 9) > 2}
    assert not far


def test_every_command_stands_in_the_table_of_commands():
    table = [line for line in (DOCS / "command-line.md").read_text().splitlines() if line.startswith("| `")]
    first = " ".join(line.split("|")[1] for line in table)
    assert not [command for command in COMMANDS if not re.search(rf"`{command}\b", first)]


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("What does psi mean?", "choosing.md"),
        ("Can it say that there is no law?", "laws.md"),
        ("My data are in Parquet. Now what?", "scale.md"),
        ("My data do not fit into memory.", "tutorials/rows.md"),
        ("My columns have units. Does it know?", "tutorials/physics.md"),
        ("Why did the classifier decide like this?", "tutorials/table.md"),
        ("Which sensor is broken?", "tutorials/plant.md"),
        ("I have categories and missing values.", "command-line.md"),
        ("How do I save a model, and use it without Python?", "files.md"),
        ("Does it work in a scikit-learn pipeline, with GridSearchCV and set_output?", "scikit-learn.md"),
        ("How do I know that a generator is right?", "certificates.md"),
        ("When should I use something else?", "comparison.md"),
        ("How do I reproduce the paper?", "reproduction.md"),
        ("How do I cite it?", "cite.md"),
    ],
)
def test_questions_lead_to_their_pages(question, page):
    section = (DOCS / "faq.md").read_text().split(f"## {question}\n")[1].split("\n## ")[0]
    assert f"]({page}" in section
    assert "faq.md" in {name_of(path) for path, _ in links_of("index.md")}


def test_the_reference_has_every_public_name():
    text = (DOCS / "api.md").read_text()
    listed = set()
    for module, body in re.findall(r"currentmodule:: (\S+)\n.*?:toctree: reference\n(.*?)```", text, re.S):
        listed |= {f"{module}.{name}" for name in body.split()}
    public = {
        f"{module}.{name}"
        for module in PUBLIC
        for name in importlib.import_module(module).__all__
        if isinstance(getattr(importlib.import_module(module), name), type) or callable_in(module, name)
    }
    again = {f"vanishing.detection.{name}" for name in importlib.import_module("vanishing").__all__}  # listed once
    assert public - listed - again == set()


def callable_in(module, name):
    """Whether a name is a function of the package, not a constant or a type alias."""
    value = getattr(importlib.import_module(module), name)
    return callable(value) and getattr(value, "__module__", "").startswith("vanishing")
