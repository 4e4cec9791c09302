"""How much CPU time tests take: pytest hooks that report it, and assert nothing."""

from __future__ import annotations

import os

import pytest

QUICK = 1.0  # seconds; more is worth a look in a test that is not marked as slow
_KEY = "cpu seconds of a quick test"
_start = pytest.StashKey[float]()


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[_start] = cpu_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Add the CPU seconds, fixtures included, to the last report of a quick test; reports travel between processes."""
    report = yield
    if call.when == "teardown" and not any(item.get_closest_marker(name) for name in ("slow", "cluster")):
        report.user_properties.append((_KEY, cpu_seconds() - item.stash[_start]))
    return report


def longest_quick_tests(reports):
    """``(seconds, name)`` of the quick tests that took more than a second, the longest first."""
    taken = [(dict(report.user_properties).get(_KEY, 0.0), report.nodeid) for report in reports]
    return sorted((entry for entry in taken if entry[0] > QUICK), reverse=True)


def pytest_terminal_summary(terminalreporter):
    reports = [report for kind in terminalreporter.stats.values() for report in kind if hasattr(report, "nodeid")]
    longest = longest_quick_tests(report for report in reports if getattr(report, "when", None) == "teardown")
    if longest:
        terminalreporter.section(f"quick tests that took more than {QUICK:g} s of CPU time (information only)")
        for seconds, name in longest:
            terminalreporter.write_line(f"{seconds:5.1f} s  {name}")
