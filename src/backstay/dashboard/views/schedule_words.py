"""When a schedule fires, said as a person would."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from backstay.kit.words import count_of, exact_time
from backstay.model.schedules.cron import Cron, Days, Every, Once, Rule
from backstay.model.schedules.schedule import Definition

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
ORDINALS = {0: "last", 1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
MOST_TIMES = 6
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def words_of(definition: Definition) -> str:
    """Say when a schedule fires: "at 03:00 from Monday to Friday, Europe/Berlin"."""
    rule = definition.rule
    if isinstance(rule, Cron) and definition.zone != "UTC":
        return f"{rule_words(rule)}, {definition.zone}"
    return rule_words(rule)


def rule_words(rule: Rule) -> str:
    """Say when a rule fires."""
    match rule:
        case Every():
            return f"every {_span(rule.interval)}"
        case Once():
            return f"once, at {exact_time(rule.at)}"
        case Cron():
            return " ".join(part for part in (_times(rule), _days(rule.days), _months(rule.months)) if part)


def _span(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    for size, unit in _UNITS:
        if seconds and seconds % size == 0:
            return unit if seconds == size else count_of(seconds // size, unit)
    return f"{length.total_seconds():g} seconds"


def _times(rule: Cron) -> str:
    minutes, hours = list(rule.minutes), list(rule.hours)
    every_hour = len(hours) == 24
    if every_hour and len(minutes) == 60:
        return "every minute"
    if every_hour and (step := _step(minutes, 60)):
        return f"every {step} minutes"
    if minutes == [0] and every_hour:
        return "every hour"
    if minutes == [0] and (step := _step(hours, 24)):
        return f"every {step} hours"
    if len(minutes) * len(hours) <= MOST_TIMES:
        return "at " + listed([f"{hour:02}:{minute:02}" for hour in hours for minute in minutes])
    at = f"at {_plural('minute', minutes)} {listed(map(str, minutes))}"
    return f"{at} of every hour" if every_hour else f"{at} of {_plural('hour', hours)} {_runs(hours)}"


def _days(days: Days) -> str:
    of_month = len(days.of_month) < 31 or days.last or days.last_weekday
    of_week = len(days.of_week) < 7 or bool(days.nth)
    if not of_month and not of_week:
        return ""
    parts = [_month_days(days)] if of_month else []
    parts += [_week_days(days)] if of_week else []
    return (
        (" if it is " if days.both and len(parts) == 2 else " or ")
        .join(parts)
        .replace("if it is on", "if it is")
    )


def _month_days(days: Days) -> str:
    if days.last:
        return "on the last day of the month"
    if days.last_weekday:
        return "on the last weekday of the month"
    numbers = sorted(days.of_month)
    return f"on {_plural('day', numbers)} {_runs(numbers)} of the month"


def _week_days(days: Days) -> str:
    if days.nth:
        named = [f"the {ORDINALS[which]} {WEEKDAYS[day]}" for day, which in sorted(days.nth)]
        return f"on {listed(named)} of the month"
    numbers = sorted(days.of_week)
    if numbers == [1, 2, 3, 4, 5]:
        return "from Monday to Friday"
    if numbers == [0, 6]:
        return "on Saturday and Sunday"
    # A week begins on Monday for people who read a list of days.
    ordered = sorted(numbers, key=lambda day: (day - 1) % 7)
    return "on " + listed([WEEKDAYS[day] for day in ordered])


def _months(months: Sequence[int] | frozenset[int]) -> str:
    numbers = sorted(months)
    return "" if len(numbers) == 12 else "in " + listed([MONTHS[number - 1] for number in numbers])


def _step(numbers: Sequence[int], whole: int) -> int | None:
    """Return the step of numbers that begin at 0 and divide the whole evenly; None if they do not."""
    if len(numbers) < 2 or numbers[0] != 0 or whole % len(numbers):
        return None
    step = whole // len(numbers)
    return step if list(numbers) == list(range(0, whole, step)) else None


def _runs(numbers: Sequence[int]) -> str:
    """Write numbers with runs as "1 to 5"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return listed([f"{run[0]} to {run[-1]}" if len(run) > 2 else listed(map(str, run)) for run in found])


def _plural(noun: str, numbers: Sequence[int]) -> str:
    return noun if len(numbers) == 1 else f"{noun}s"


def listed(names: Iterable[str]) -> str:
    """Write names as a list: "a, b and c"."""
    texts = list(names)
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
