"""Reads a flow that is described by plain values, as a file or another program has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from backstay.errors import InvalidFlow
from backstay.handlers.spec import HandlerSpec
from backstay.model import flows
from backstay.model.flows import Condition, DependencyType, OnFailure
from backstay.options import NO_OPTIONS, JobOptions

if TYPE_CHECKING:
    from backstay.client.flow_building import Flow

_OF_A_JOB = frozenset({"name", "kind", "args", "after", "queue", "priority"})
_OF_A_PARENT = frozenset({"job", "wait_for", "on_failure", "place", "when"})


def built_from(flow: Flow, jobs: Sequence[Mapping[str, Any]], specs: Mapping[str, HandlerSpec]) -> None:
    """Add the jobs to a flow, each after its parents; raises InvalidFlow that names what does not fit."""
    by_name = _by_name(jobs)
    parents = {name: [_parent(name, given) for given in _after(job)] for name, job in by_name.items()}
    order = flows.in_order({name: [one["job"] for one in needed] for name, needed in parents.items()})
    nodes: dict[str, Any] = {}
    for name in order:
        job = by_name[name]
        places = {flows.parts(one["place"])[0] for one in parents[name] if "place" in one}
        spec = specs[str(job["kind"])]
        given = spec.by_name((), dict(job.get("args") or {}))
        nodes[name] = node = flow._add_bound(spec, spec.bind_open(given, places), _options(job))
        flow.label(node, name)
        for one in parents[name]:
            _tie(flow, node, nodes[one["job"]], one)


def _by_name(jobs: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    by_name: dict[str, Mapping[str, Any]] = {}
    for number, job in enumerate(jobs):
        if not isinstance(job.get("name"), str) or not isinstance(job.get("kind"), str):
            raise InvalidFlow(
                f"job {number} needs a name and a kind: {{'name': 'fetch', 'kind': 'fetch_page'}}"
            )
        unknown = sorted(set(job) - _OF_A_JOB)
        if unknown:
            raise InvalidFlow(
                f"job {job['name']!r} has an unknown field {unknown[0]!r}: it may have {_known(_OF_A_JOB)}"
            )
        if job["name"] in by_name:
            raise InvalidFlow(f"two jobs are called {job['name']!r}: give one of them another name")
        by_name[job["name"]] = job
    return by_name


def _after(job: Mapping[str, Any]) -> list[Any]:
    given = job.get("after") or []
    return [given] if isinstance(given, str | Mapping) else list(given)


def _parent(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        return {"job": given}
    if not isinstance(given, Mapping) or not isinstance(given.get("job"), str):
        raise InvalidFlow(f"{name!r} waits for {given!r}: write the name of a job, or an object with 'job'")
    unknown = sorted(set(given) - _OF_A_PARENT)
    if unknown:
        raise InvalidFlow(
            f"{name!r}: {unknown[0]!r} is not known beside 'job': it may have {_known(_OF_A_PARENT)}"
        )
    return dict(given)


def _tie(flow: Flow, node: Any, parent: Any, given: Mapping[str, Any]) -> None:
    policy = _chosen(OnFailure, given.get("on_failure", "cancel"))
    wait_for = _chosen(DependencyType, given.get("wait_for", "success"))
    if "place" in given:
        flow.take(node, given["place"], parent, policy)
    elif "when" in given:
        condition = given["when"]
        if not isinstance(condition, list | tuple) or len(condition) not in (2, 3):
            raise InvalidFlow(f"when cannot be {condition!r}: write ['/score', '>', 5]")
        at, operator, *value = condition
        flow.tie(node, parent, DependencyType.CONDITIONAL, policy, Condition(at, operator, *value))
    else:
        flow.tie(node, parent, wait_for, policy)


def _chosen(kind: Any, value: object) -> Any:
    allowed = [one.value for one in kind if one.value not in ("data", "conditional")]
    if value not in allowed:
        raise InvalidFlow(f"{value!r} is not known here: use one of {', '.join(map(repr, allowed))}")
    return kind(value)


def _options(job: Mapping[str, Any]) -> JobOptions:
    if "queue" not in job and "priority" not in job:
        return NO_OPTIONS
    return JobOptions(queue=job.get("queue"), priority=job.get("priority"))


def _known(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
