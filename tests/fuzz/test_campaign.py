"""A run of many kernels: what kills a process, or holds it up, is a finding and no more."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from dying_kernels import DIFFERS, ENDS, HANGS, TRITON_HANGS, run_or_die

from minitriton.commands.cli import main
from minitriton.fuzz import kinds
from minitriton.fuzz.running import campaign
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.running.campaign import as_json, as_text


def test_a_run_survives_kernels_that_kill_or_hold_up_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(campaign, "MOST_SECONDS", 3.0)
    seen: list[int] = []
    summary = campaign.run(1, range(45), ["a", "b"], 2, lambda report: seen.append(report.number), work=run_or_die)
    assert sorted(seen) == list(range(45))
    assert {(f.kind, tuple(numbers)) for f, numbers in summary.findings.items()} == {
        ("crash", (ENDS,)), ("timeout", (HANGS,)), ("difference", (DIFFERS,)),
    }  # fmt: skip
    assert summary.count == 45 and not summary.ok
    assert summary.compared[("a", "b")] == summary.agreeing[("a", "b")] == 43
    assert [path for path in tmp_path.iterdir() if not path.name.startswith("pymp-")] == []  # multiprocessing's own


def test_where_a_pass_of_triton_does_not_end_the_other_oracles_run_without_it() -> None:
    numbers, oracles = range(TRITON_HANGS - 2, TRITON_HANGS + 3), ["interpreter", "emulator", "triton"]
    summary = campaign.run(1, numbers, oracles, 1, lambda report: None, work=run_or_die)
    assert summary.ok and summary.count == 5
    assert summary.known == {campaign.ENDLESS_IN_TRITON: [TRITON_HANGS]}


def test_findings_alike_are_counted_together() -> None:
    summary = campaign.Summary(1, ("a", "b"))
    for number in range(3):
        summary.add(campaign.failed(number, FuzzFinding("crash", "the same", f"text {number}")))
    assert list(summary.findings.values()) == [[0, 1, 2]]
    assert "crash: the same: kernels 0, 1, 2" in as_text(summary)
    assert as_json(summary)["findings"][0]["kernels"] == [0, 1, 2]


def test_what_the_fuzzer_itself_fails_at_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "kernel_seed", lambda seed, number: 1 / 0)
    (finding,) = kinds.fuzz_kernel("tiles", 1, 2, ["interpreter", "ttgir"]).findings
    assert finding.kind == "crash" and "ZeroDivisionError" in finding.signature


def test_the_command_prints_tables_and_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "fuzz",
        "--count",
        "3",
        "--seed",
        "1",
        "--jobs",
        "0",
        "--oracles",
        "interpreter,ttgir",
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "3 kernels of seed 1 by interpreter, ttgir" in shown and "findings: 0" in shown
    written = json.loads((tmp_path / "summary.json").read_text())
    assert (written["seed"], written["count"], written["findings"]) == (1, 3, [])
    assert written["pairs"] == {"interpreter = ttgir": {"compared": 3, "agreeing": 3}}


def test_one_kernel_of_a_run_can_be_seen_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--seed", "1", "--only", "2", "--oracles", "interpreter,ttgir"]) == 0
    shown = capsys.readouterr().out
    assert "@triton.jit\ndef kernel(" in shown and "all oracles agree" in shown


@pytest.mark.parametrize("oracles", ["interpreter,nvcc", "interpreter"])
def test_wrong_oracles_are_an_error(oracles: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--count", "1", "--oracles", oracles]) == 1
    assert "nvcc" in (error := capsys.readouterr().err) or "two oracles" in error


def test_the_command_is_listed() -> None:
    shown = subprocess.run([sys.executable, "-m", "minitriton", "--help"], capture_output=True, text=True, check=True)
    assert "fuzz" in shown.stdout


def test_a_run_ends_in_time() -> None:
    summary = campaign.run(1, range(100, 10**6), ["a", "b"], 0, lambda report: None, most_seconds=0.2, work=run_or_die)
    assert 0 < summary.count < 10**6
