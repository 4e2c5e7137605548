"""What a fork waits for, and for whom it does not."""

import contextvars
import threading

import pytest

from minitriton.host import locks
from minitriton.host.locks import close, finished_before_forks, open_in_parent


def test_a_fork_waits_for_the_work_of_another_thread() -> None:
    begun, go_on, events = threading.Event(), threading.Event(), list[str]()

    def work() -> None:
        with finished_before_forks():
            begun.set()
            go_on.wait()
            events.append("worked")

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    threading.Timer(0.1, go_on.set).start()
    close()
    events.append("forked")
    open_in_parent()
    worker.join()
    assert events == ["worked", "forked"]


def test_work_that_begins_during_a_fork_waits_for_it() -> None:
    events = list[str]()

    def work() -> None:
        with finished_before_forks():
            events.append("worked")

    close()
    worker = threading.Thread(target=work)
    worker.start()
    worker.join(0.1)
    events.append("forked")
    open_in_parent()
    worker.join()
    assert events == ["forked", "worked"]


def test_a_fork_does_not_wait_for_work_that_it_is_part_of() -> None:
    with finished_before_forks(), finished_before_forks():
        close()
        open_in_parent()
        helper = threading.Thread(target=contextvars.copy_context().run, args=(close,))
        helper.start()
        helper.join(5)
        assert not helper.is_alive()
        open_in_parent()


def test_a_fork_gives_up_on_work_that_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE_SECONDS", 0.05)
    begun, forked = threading.Event(), threading.Event()

    def work() -> None:
        with finished_before_forks():
            begun.set()
            forked.wait()

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    close()
    forked.set()
    open_in_parent()
    worker.join()
