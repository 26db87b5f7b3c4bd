"""Which pages the reference of the API has, and what is on each."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import backstay
import backstay.dashboard
import backstay.http
import backstay.kit
import backstay.notifications
import backstay.outgoing
import backstay.testing
from api import entries
from api.entries import joined
from api.signatures import class_node, fields_of
from backstay import errors, records
from backstay.client.sync import SyncClient

WRITTEN = "<!-- Written by tools/write_reference.py from the code; do not edit. -->"


class Page(NamedTuple):
    """A page: its file, its title, a sentence or two, and the names on it; `app.jobs` is a noun of an application."""

    file: str
    title: str
    about: str
    names: str


PAGES = (
    Page(
        "application",
        "The application",
        "Everything begins with `app = Backstay()`: handlers are registered on it, and every noun is one of its "
        "attributes. See [Configure](../../guides/configuration.md) and [Run workers](../../guides/workers.md).",
        "Backstay Worker WorkerFields Migrations MigrationFile Emit configure_logging __version__",
    ),
    Page(
        "handlers",
        "Handlers",
        "What `@app.job` makes of a function, and how its jobs are enqueued. "
        "See [Write handlers](../../guides/handlers.md) and [Enqueue jobs](../../guides/enqueue.md).",
        "Handler AsyncHandler PlainHandler BoundHandler JobArgs JobOptions Options JobDecorator KindFields "
        "BatchHandler BatchDecorator BatchItem ItemFailed JobEnded Tasks Task period_start period_lock_id",
    ),
    Page(
        "context",
        "Inside a handler",
        "What a running handler can ask and do. See [Write handlers](../../guides/handlers.md), "
        "[Remember steps](../../guides/steps-and-progress.md) and [Write exactly once](../../guides/exactly-once.md).",
        "Context current Transacting Transaction SyncTransaction Locking Phase Retry Snooze Hopeless Cancel",
    ),
    Page(
        "jobs",
        "Jobs",
        "Find jobs, look at them, act on them, await them. See [Enqueue jobs](../../guides/enqueue.md) "
        "and [States of a job](../../explanation/states.md).",
        "app.jobs JobHandle Job JobId State JobFilter StateMatch Page QueueCount Attempt Step Progress",
    ),
    Page(
        "dead-letters",
        "Dead letters",
        "What people do about jobs that failed for good. "
        "See [Retries and dead letters](../../guides/retries-and-dead-letters.md).",
        "app.dead_letters DeadLetter DeadLetterFilter DeadLetterGroup DeadLetterHour BulkDecision",
    ),
    Page(
        "flows",
        "Flows",
        "Jobs that wait for other jobs. See [Let jobs wait for other jobs](../../guides/flows.md).",
        "Flow FlowNode FlowHandle Branch Condition result_of app.flows FlowRecord FlowJob DependencyRecord "
        "DependencyType OnFailure",
    ),
    Page(
        "schedules",
        "Schedules and locks",
        "Jobs at certain times, and one at a time. See [Run jobs at certain times](../../guides/schedules.md) "
        "and [Locks](../../guides/locks-and-tasks.md).",
        "app.schedules Timing Definition Schedule ScheduleOverride BackFill HistoryEntry app.locks Lock",
    ),
    Page(
        "signals",
        "Signals",
        "What a job waits for from outside. See [Wait for something outside](../../guides/signals.md).",
        "app.signals Signal",
    ),
    Page(
        "policies",
        "Policies and profiles",
        "Numbers for retries, times and limits, and an application's own words. "
        "See [The policy](../policy.md) and [Policies and profiles](../../guides/policies-and-profiles.md).",
        "Backoff ClassRule ErrorClass ErrorRules Profile PriorityScale Policy PolicyChange PolicyFields "
        "app.overrides Override",
    ),
    Page(
        "queues",
        "Queues, limits and quotas",
        "Pause, limit and share. See [Limit how many jobs run](../../guides/limits.md) and "
        "[Share queues fairly](../../guides/fairness.md).",
        "app.queues Pause Limit Rate app.limits LimitRecord PermitHolder app.quotas Quota",
    ),
    Page(
        "promoted-fields",
        "Promoted fields",
        "Arguments that are also columns. See [Find jobs by their arguments](../../guides/promoted-fields.md).",
        "PromotedField References app.promoted Promotion Filled",
    ),
    Page(
        "operating",
        "Workers, doctor and figures",
        "Who works, what is wrong, how much is done in what time. "
        "See [Why is my job not running?](../../guides/why-is-my-job-not-running.md) and "
        "[See what is done in what time](../../guides/metrics.md).",
        "app.workers WorkerRecord Vitals KindRecord app.doctor Finding Severity app.metrics Depth Figures FiguresAt "
        "KindFigures Period app.health HealthReport HealthStatus app.archive Archived ArchiveFile "
        "ArchiveCheck Restored",
    ),
    Page(
        "people",
        "People, keys and trails",
        "Act for somebody, see who did what, let programs in, tell others. "
        "See [Act for somebody](../../guides/acting.md) and [The HTTP API](../../guides/http-api.md).",
        "Acting app.audit AuditEntry AuditFilter app.audit_chain ChainReport ChainHead BrokenLink app.api_keys ApiKey "
        "CreatedApiKey app.api_requests StoredRequest app.webhooks Webhook CreatedWebhook app.alerts Alert AlertCheck "
        "AlertMute AlertSituation",
    ),
)
MODULES: tuple[tuple[str, str, str, ModuleType], ...] = (
    (
        "testing",
        "`backstay.testing`",
        "Tools for tests. See [Test your jobs](../../guides/testing.md) and the [overview](../testing.md).",
        backstay.testing,
    ),
    (
        "http",
        "`backstay.http`",
        "The HTTP API to mount. See [The HTTP API](../../guides/http-api.md).",
        backstay.http,
    ),
    (
        "dashboard",
        "`backstay.dashboard`",
        "The dashboard to mount. See [See and act](../../guides/dashboard.md).",
        backstay.dashboard,
    ),
    (
        "kit",
        "`backstay.kit`",
        "The ground under web pages and APIs. See [Build web pages and APIs](../../guides/web-pages.md).",
        backstay.kit,
    ),
    (
        "outgoing",
        "`backstay.outgoing`",
        "Requests to addresses that other people chose. "
        "See [Send requests to other people's addresses](../../guides/outgoing-http.md).",
        backstay.outgoing,
    ),
    (
        "notifications",
        "`backstay.notifications`",
        "Messages to people. See [Notify people](../../guides/notifications.md).",
        backstay.notifications,
    ),
)


@cache
def public_classes() -> frozenset[type]:
    """Every class that users may import."""
    modules = [backstay, errors, records, *(module for *_, module in MODULES)]
    found = (getattr(module, name) for module in modules for name in names_of(module))
    return frozenset(one for one in found if inspect.isclass(one))


def names_of(module: ModuleType) -> list[str]:
    """The names of a module that are for users."""
    return list(getattr(module, "__all__", None) or [name for name in dir(module) if name[0].isupper()])


def written() -> dict[str, str]:
    """Every page by its path below docs/reference, the index included."""
    pages = {f"api/{page.file}.md": text_of(page) for page in PAGES}
    if others := names_without_a_page():
        pages["api/more.md"] = text_of(
            Page("more", "More values", "What calls take and return besides.", " ".join(others))
        )
    pages["api/errors.md"] = of_errors()
    for file, title, about, module in MODULES:
        found = (entries.of_name(name, getattr(module, name)) for name in names_of(module))
        pages[f"api/{file}.md"] = f"{joined(WRITTEN, f'# {title}', about, *found)}\n"
    return {**pages, "api/README.md": index(pages)}


def names_without_a_page() -> list[str]:
    placed = {name for page in PAGES for name in page.names.split()} | set(vars(errors))
    every = [*names_of(backstay), *names_of(records), *(f"app.{noun}" for noun in nouns())]
    return [name for name in every if name not in placed]


def text_of(page: Page) -> str:
    found = joined(
        WRITTEN, f"# {page.title}", page.about.replace(" See ", "\nSee "), *map(entry, page.names.split())
    )
    return f"{found}\n"


def entry(name: str) -> str:
    """One name of a page."""
    if name.startswith("app."):
        noun = name.removeprefix("app.")
        kind, about = nouns()[noun]
        return entries.of_noun(noun, kind, about, has_twin=f"self.{noun} = " in inspect.getsource(SyncClient))
    if name == "Backstay":
        return joined(entries.of_class(name, backstay.Backstay), "### Nouns", list_of_nouns())
    home = backstay if name in backstay.__all__ else records
    return entries.of_name(name, getattr(home, name))


def list_of_nouns() -> str:
    """The nouns of an application, each with the page that it is on."""
    where = {name: page.file for page in PAGES for name in page.names.split()}
    rows = [
        [f"[app.{noun}]({where.get(f'app.{noun}', 'more')}.md#app{noun})", about]
        for noun, (_, about) in nouns().items()
    ]
    return entries.table(("noun", "what it is for"), rows)


@cache
def nouns() -> dict[str, tuple[type, str]]:
    """The nouns of an application: their class, and the sentence below them."""
    found = {}
    for owner in backstay.Backstay.__mro__:
        told = dict(_sentences(owner)) if owner.__module__.startswith("backstay") else {}
        for name, attribute in vars(owner).items():
            arguments = getattr(getattr(attribute, "__orig_class__", None), "__args__", ())
            if arguments and not name.startswith("_"):
                found[name] = (arguments[0], told.get(name, ""))
    return found


def _sentences(owner: type) -> Iterator[tuple[str, str]]:
    for one, after in pairwise(class_node(owner).body):
        if (
            isinstance(one, ast.Assign)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            target = one.targets[0]
            if isinstance(target, ast.Name):
                yield target.id, str(after.value.value)


def of_errors() -> str:
    """Every exception with its signature and its attributes."""
    kinds = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, Exception)]
    about = (
        "What can go wrong, with the attributes that a caller can act on. "
        "The [page on errors](../errors.md) draws the tree and tells the story of each."
    )
    found = (entries.of_class(kind.__name__, kind) for kind in kinds)
    return f"{joined(WRITTEN, '# Errors', about, *found)}\n"


def index(pages: dict[str, str]) -> str:
    """The list of every page with the names on it."""
    rows = []
    for path, text in pages.items():
        lines = text.splitlines()
        title = next(line for line in lines if line.startswith("# ")).removeprefix("# ")
        file = path.removeprefix("api/")
        names = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
        links = ", ".join(f"[{name}]({file}#{anchor(name)})" for name in names)
        rows.append([f"[{title}]({file})", links])
    head = (
        "Every public class, method and function with its signature, written from the code.\n"
        "The names of a first day are in `backstay`, exceptions in `backstay.errors`, values that calls take and "
        "return in `backstay.records`: [Public names](../public.md) lists them in one sentence each.\n"
        "In signatures `R` is what a handler returns and `P` are its parameters, "
        'a `Duration` is a text such as `"5m"`, a `timedelta` or a number of seconds, '
        "and `**options: Options` stands for the fields of `Options` as keywords.\n"
        "Every noun of an application, such as `app.jobs`, is for code on an event loop; "
        "`app.sync.jobs` is its [blocking twin](../../guides/sync.md)."
    )
    return f"{joined(WRITTEN, '# The API', head, entries.table(('page', 'what is on it'), rows))}\n"


def anchor(heading: str) -> str:
    """The part of an address that leads to a heading."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in "_- ")
    return kept.replace(" ", "-")


def missing_words() -> list[str]:
    """The public fields that nobody has written a line for."""
    found = []
    for kind in sorted(public_classes(), key=lambda one: (one.__module__, one.__name__)):
        for field in fields_of(kind):
            if kind.__name__ not in entries.TWINS and not entries.meaning(kind.__name__, field):
                found.append(f"{kind.__name__}.{field.name}")
    return found


def all_members() -> dict[str, Any]:
    """Every public method by its full name, for tests."""
    found = {}
    for kind in public_classes():
        for name, member in entries.public_members(kind):
            found[f"{kind.__name__}.{name}"] = member
    for noun, (kind, _) in nouns().items():
        for name, member in entries.public_members(kind):
            found[f"app.{noun}.{name}"] = member
    return found
