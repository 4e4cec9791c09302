"""Reports in a real browser: no errors, no requests, controls that work, and no scrolling sideways on a phone."""

import json
import shutil

import pytest

KINDS = pytest.mark.parametrize("kind", ["ideal", "laws", "detector", "classifier", "per class", "rules"])
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install '.[test]'")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in [*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield started
    started.quit()


def resize(browser, width):
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@KINDS
def test_it_loads_without_errors_or_requests_and_fits_a_phone(browser, pages, kind):
    page = pages[kind].as_uri()
    resize(browser, 1280)
    browser.get(page)
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    asked = [event["request"]["url"] for event in sent if event["documentURL"] == page]
    assert [url for url in asked if not url.startswith("data:")] == [page]
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.querySelectorAll('section').length") >= 5
    resize(browser, 390)
    assert browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]") == [390, 390]


def test_tables_sort_and_search_and_the_theme_changes(browser, pages):
    resize(browser, 1280)
    browser.get(pages["classifier"].as_uri())
    table = "[...document.querySelectorAll('.table')].find((box) => box.dataset.name === 'generators')"
    values = f"return [...{table}.querySelector('tbody').rows].map((row) => Number(row.cells[3].dataset.v))"
    button = f"{table}.querySelectorAll('th button')[3].click()"
    browser.execute_script(button)
    assert browser.execute_script(values) == sorted(browser.execute_script(values))
    browser.execute_script(button)
    falling = browser.execute_script(values)
    assert falling == sorted(falling, reverse=True)
    assert falling[0] > falling[-1]

    field = browser.execute_script(f"return {table}.querySelector('input')")
    field.send_keys("outer")
    shown = (
        f"return [...{table}.querySelector('tbody').rows].filter((r) => !r.hidden).map((r) => r.cells[1].textContent)"
    )
    assert set(browser.execute_script(shown)) == {"outer"}
    assert browser.execute_script(f"return {table}.querySelector('output').textContent").endswith("generators")

    colour = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(colour)
    browser.find_element("id", "theme").click()
    assert browser.execute_script(colour) != before
    browser.find_element("id", "theme").click()
    assert browser.execute_script(colour) == before


def test_hostile_names_never_run(browser, pages):
    browser.get(pages["classifier"].as_uri())
    assert browser.execute_script("return document.querySelectorAll('img, main script').length") == 0
    assert "<img src=x onerror=alert(1)>" in browser.find_element("tag name", "main").text
