"""The CPU time of quick tests is reported, and nothing depends on it."""

from types import SimpleNamespace

import cpu_seconds
import pytest


def finished(name, *, when="teardown", slow=False, seconds=0.0):
    """The report that the hooks make of a test that took ``seconds``, and a bit for the hooks themselves."""
    item = SimpleNamespace(stash=pytest.Stash(), get_closest_marker=lambda mark: mark if slow else None)
    cpu_seconds.pytest_runtest_setup(item)
    item.stash[cpu_seconds._start] -= seconds
    hook = cpu_seconds.pytest_runtest_makereport(item, SimpleNamespace(when=when))
    next(hook)
    with pytest.raises(StopIteration) as stopped:
        hook.send(SimpleNamespace(nodeid=name, when=when, user_properties=[]))
    return stopped.value.value


def summary(*reports):
    lines = []
    terminal = SimpleNamespace(
        stats={"": reports, "warnings": [object()]}, section=lines.append, write_line=lines.append
    )
    cpu_seconds.pytest_terminal_summary(terminal)
    return lines


def test_quick_tests_of_more_than_a_second_are_listed_from_the_longest():
    title, *lines = summary(finished("some", seconds=2.2), finished("none"), finished("more", seconds=11.2))
    assert "more than 1 s of CPU time (information only)" in title
    assert [line.split()[0].partition(".")[0] for line in lines] == ["11", "2"]
    assert [line.split()[1:] for line in lines] == [["s", "more"], ["s", "some"]]


def test_slow_tests_and_other_phases_than_the_last_are_not_listed():
    assert summary(finished("slow", slow=True, seconds=9.0), finished("phase", when="call", seconds=9.0)) == []
    assert summary() == []


def test_the_time_of_children_that_have_ended_counts(monkeypatch):
    times = SimpleNamespace(user=1.0, system=2.0, children_user=4.0, children_system=8.0)
    monkeypatch.setattr(cpu_seconds.os, "times", lambda: times)
    assert cpu_seconds.cpu_seconds() == 15.0
