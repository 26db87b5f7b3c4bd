"""The example does what its page says."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from backstay import State
from backstay_example.cli import main
from backstay_example.domain.letters import NobodyToRemind, Reminder, letter
from backstay_example.jobs import Reminders

DUE = date(2030, 5, 1)


@pytest.mark.parametrize(
    ("today", "when"),
    [
        (date(2030, 4, 28), "is due in 3 days"),
        (DUE, "is due today"),
        (date(2030, 5, 3), "was due 2 days ago"),
    ],
)
def test_a_letter_says_when_it_is_due(today: date, when: str) -> None:
    assert letter(Reminder("Ada", "the report", DUE), today=today) == f"Dear Ada, the report {when}."


def test_a_reminder_for_nobody_is_refused() -> None:
    with pytest.raises(NobodyToRemind, match="give it a name"):
        letter(Reminder(" ", "the report", DUE), today=DUE)


async def test_a_reminder_becomes_one_letter(tmp_path: Path) -> None:
    reminders = Reminders(tmp_path / "jobs.db")

    job = await reminders.remind.enqueue("Ada", "the report", DUE)
    async with reminders.app.working():
        await job.result(timeout=30)

    assert len(reminders.letters()) == 1
    assert (await job.get()).state is State.COMPLETED
    await reminders.app.close()


def test_the_demonstration_ends_well() -> None:
    done = CliRunner().invoke(main, ["demo"])

    assert done.exit_code == 0, done.output
    assert done.output.count("Dear ") == 3
