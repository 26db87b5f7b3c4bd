"""Putting a flow together so that the code reads like the picture, before anything is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar, cast
from uuid import UUID

from backstay.client.time_left import TimeLeft
from backstay.context import Context
from backstay.errors import InvalidFlow
from backstay.handle import JobHandle
from backstay.handler import BoundHandler, Handler, JobArgs
from backstay.handlers.spec import HandlerSpec
from backstay.model import flows
from backstay.model.flows import Condition, Dependency, DependencyType, NewFlow, OnFailure
from backstay.model.job import JobId, NewJob
from backstay.options import JobOptions

if TYPE_CHECKING:
    from backstay.client.flows import FlowKeeper

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

WaitFor: TypeAlias = Literal["success", "completion"]
Policy: TypeAlias = Literal["cancel", "run", "hold"]

_NOT_IN_FLOWS = ("tx", "debounce", "debounce_limit", "throttle", "held_for")


class FlowNode(Generic[R_co]):
    """A job of a flow that is not stored yet; its id is known already."""

    def __init__(self, flow: Flow, job: NewJob, spec: HandlerSpec, number: int) -> None:
        self._flow, self.job, self.spec, self.number = flow, job, spec, number

    @property
    def id(self) -> JobId:
        """The id that its job will have."""
        return self.job.id

    @property
    def result(self) -> R_co:
        """A stand-in for what this job will return, to be given to a later job as an argument or inside of one."""
        return cast(R_co, Result(self.id, self))

    def when(self, at: str, operator: str, value: Any = None) -> Branch:
        """A condition on what this job returns: `after(check.when("/score", ">", 5))`.

        `at` is a JSON pointer into the result, '' for the whole. Operators are == != < <= > >= in contains exists.
        Where the condition does not hold, the jobs after it are cancelled.
        """
        return Branch(self, Condition(at, operator, value))

    def after(
        self, *parents: Parent, wait_for: WaitFor = "success", on_failure: Policy = "cancel"
    ) -> FlowNode[R_co]:
        """Let this job wait for others: earlier ones of the flow, jobs that are stored already, or conditions.

        With `wait_for="completion"` any end will do. `on_failure` says what becomes of this job when a parent is
        cancelled or given up: `cancel` it, `run` it all the same, or `hold` it for a person to decide. It holds for
        results that this job takes from the same parents, too.
        """
        for parent in _flat(parents):
            kind, policy, condition = _choice(DependencyType, wait_for), _choice(OnFailure, on_failure), None
            if isinstance(parent, Branch):
                kind, condition, parent = DependencyType.CONDITIONAL, parent.condition, parent.node
            self._flow.tie(self, parent, kind, policy, condition)
        return self

    def __repr__(self) -> str:
        return f"<job {self.number} of flow {self._flow.name!r}: {self.spec.kind}>"


@dataclass(frozen=True, slots=True)
class Branch:
    """A job together with a condition on what it returns."""

    node: FlowNode[Any]
    condition: Condition


@dataclass(frozen=True, slots=True)
class Result:
    """Stands in arguments for what another job returns."""

    job_id: JobId
    node: FlowNode[Any] | None = None


Parent: TypeAlias = "FlowNode[Any] | Branch | JobHandle[Any] | UUID | Sequence[Parent]"


def result_of(job: JobHandle[R]) -> R:
    """A stand-in for what a job that is stored already will return, to be given to a job of a flow."""
    return cast(R, Result(job.id))


@dataclass(frozen=True, slots=True)
class FlowHandle:
    """A flow that was stored: its id, and a handle for each of its jobs in the order they were added."""

    id: JobId
    name: str | None
    jobs: tuple[JobHandle[Any], ...] = field(repr=False)
    _monotonic: Callable[[], float] = field(repr=False, compare=False)

    @property
    def is_new(self) -> bool:
        """Whether anything was stored: where keys have found every job, there is no flow of this id."""
        return any(job.is_new for job in self.jobs)

    def of(self, node: FlowNode[R]) -> JobHandle[R]:
        """The handle of one job, typed."""
        return self.jobs[node.number]

    async def result(self, timeout: timedelta | float | None = None) -> tuple[Any, ...]:
        """Wait until every job has completed and return what each returned, in the order they were added.

        Raises JobDead or JobCancelled for the first that did not complete, a branch that was not taken included, and
        ResultTimeout when all of it takes longer than `timeout` (a float is seconds).
        """
        left = TimeLeft(timeout, self._monotonic)
        return tuple([await job.result(left()) for job in self.jobs])

    def result_sync(self, timeout: timedelta | float | None = None) -> tuple[Any, ...]:
        """Do what `result` does, blocking."""
        left = TimeLeft(timeout, self._monotonic)
        return tuple([job.result_sync(left()) for job in self.jobs])


class Flow:
    """Jobs tied by dependencies, stored together by `enqueue`.

    >>> flow = app.flow("monthly report")
    >>> pages = [flow.add(fetch, url=url) for url in urls]
    >>> merged = flow.add(merge, pages=[page.result for page in pages])
    >>> flow.add(mail, to="ada").after(merged)
    >>> await flow.enqueue()
    >>> *_, sent = await flow.result()

    A job can only wait for jobs that were added before it, so that no circle can come about.
    """

    def __init__(
        self, name: str | None, keeper: FlowKeeper, *, tenant: str = "", within: Context | None = None
    ) -> None:
        self.name, self.tenant, self._keeper, self._within = name, tenant, keeper, within
        self.id = JobId(keeper.new_id())
        self.nodes: list[FlowNode[Any]] = []
        self._ties: dict[tuple[JobId, JobId, str], Dependency] = {}
        self._places: dict[tuple[JobId, JobId], list[str]] = {}
        self._callback: FlowNode[Any] | None = None
        self._labels: dict[JobId, str] = {}
        self._stored: FlowHandle | None = None

    def add(
        self, handler: Handler[P, R] | BoundHandler[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> FlowNode[R]:
        """Add a job; an argument may be, or contain, the `result` of an earlier one, which it then waits for.

        Options go with the handler: `flow.add(fetch.options(queue="slow"), url=url)`.
        """
        given = handler.spec.by_name(args, kwargs)
        taken: list[tuple[str, Result]] = []
        plain = {name: _without_results(value, (name,), taken) for name, value in given.items()}
        open_names = {flows.parts(place)[0] for place, _ in taken}
        text = handler.spec.bind_open(plain, open_names)
        if open_names and handler.chosen.unique is True:
            raise InvalidFlow(
                f"unique=True makes a key from the arguments, but {', '.join(sorted(open_names))} is known only when "
                "the parents have ended: give the key as text"
            )
        node: FlowNode[R] = self._add_bound(handler.spec, text, handler.chosen)
        for place, result in taken:
            self.take(node, place, result.node or result.job_id)
        return node

    def add_call(self, call: JobArgs[R]) -> FlowNode[R]:
        """Add a job from a checked call, `handler.args(…)`."""
        return self._add_bound(call.spec, call.args_text, call.options)

    def chain(self, *calls: JobArgs[Any], after: Parent = ()) -> list[FlowNode[Any]]:
        """Add jobs that run one after another."""
        nodes: list[FlowNode[Any]] = []
        for call in calls:
            nodes.append(self.add_call(call).after(nodes[-1] if nodes else after))
        return nodes

    def fan_out(self, calls: Iterable[JobArgs[R]], *, after: Parent = ()) -> list[FlowNode[R]]:
        """Add jobs that run beside one another, all after the same."""
        return [self.add_call(call).after(after) for call in calls]

    def fan_in(
        self,
        call: JobArgs[R],
        *,
        after: Parent,
        wait_for: WaitFor = "success",
        on_failure: Policy = "cancel",
    ) -> FlowNode[R]:
        """Add a job that runs when all of these have ended."""
        return self.add_call(call).after(after, wait_for=wait_for, on_failure=on_failure)

    def on_complete(
        self, handler: Handler[P, R] | BoundHandler[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> FlowNode[R]:
        """Have one job run when every other job of the flow has ended, however; also those added while it runs."""
        if self._callback is not None:
            raise InvalidFlow(f"flow {self.name!r} has a callback already: {self._callback.spec.kind!r}")
        if self.name is None:
            raise InvalidFlow("jobs that are added to a flow share its callback: give them none of their own")
        text = handler.spec.bind(args, kwargs)
        self._callback = self._add_bound(handler.spec, text, handler.chosen)
        return self._callback

    def label(self, node: FlowNode[Any], text: str) -> None:
        """Give a job a name for those who look at the flow."""
        self._labels[node.id] = text

    async def enqueue(self, *, tx: object = None) -> FlowHandle:
        """Store all jobs and what they wait for, in one transaction; committed when this returns.

        With `tx` they become part of the caller's transaction, as for `options(tx=…)`. Raises InvalidFlow for a
        parent that is not there, and then nothing was stored.
        """
        return await self._keeper.store(self, tx=tx)

    def enqueue_sync(self, *, tx: object = None) -> FlowHandle:
        """Do what `enqueue` does, blocking; raises SyncOnLoop where an event loop runs."""
        return self._keeper.store_sync(self, tx=tx)

    async def result(self, timeout: timedelta | float | None = None) -> tuple[Any, ...]:
        """Wait for the flow that was enqueued, as `FlowHandle.result`."""
        return await self._handle().result(timeout)

    def result_sync(self, timeout: timedelta | float | None = None) -> tuple[Any, ...]:
        """Do what `result` does, blocking."""
        return self._handle().result_sync(timeout)

    def _handle(self) -> FlowHandle:
        if self._stored is None:
            raise InvalidFlow(
                f"flow {self.name!r} has no result before it is stored: await flow.enqueue() first"
            )
        return self._stored

    def tie(
        self,
        node: FlowNode[Any],
        parent: FlowNode[Any] | JobHandle[Any] | UUID,
        wait_for: DependencyType,
        policy: OnFailure,
        condition: Condition | None = None,
    ) -> None:
        """Let a job wait for one parent."""
        parent_id = self._id_of(node, parent)
        places = self._places.get((node.id, parent_id), [])
        for place in places:
            self.take(node, place, parent, policy)
        if places and wait_for is DependencyType.SUCCESS:
            return
        self._keep(
            Dependency(
                job_id=node.id, parent_id=parent_id, type=wait_for, on_failure=policy, condition=condition
            )
        )

    def _built(self) -> NewFlow:
        """The flow as a value, ready to be stored; a flow is stored once."""
        if self._stored is not None:
            raise InvalidFlow(f"flow {self.name!r} was enqueued already: make another one with app.flow(…)")
        if not self.nodes:
            raise InvalidFlow(f"flow {self.name!r} has no jobs: add some with flow.add(…)")
        if self._callback is not None:
            for node in self.nodes:
                if node is not self._callback:
                    end = DependencyType.COMPLETION
                    self._keep(Dependency(job_id=self._callback.id, parent_id=node.id, type=end))
        ties = list(self._ties.values())
        flows.check_sizes(len(self.nodes), ties, name=f"flow {self.name!r}")
        held = {tie.job_id for tie in ties}
        within = self._within
        return NewFlow(
            id=self.id,
            tenant=self.tenant,
            name=self.name,
            jobs=[_held(node.job) if node.id in held else node.job for node in self.nodes],
            dependencies=ties,
            labels=self._labels,
            callback_id=None if self._callback is None else self._callback.id,
            within=None if within is None else (within.job_id, within.lease_epoch),
        )

    def _was_stored(self, handle: FlowHandle) -> None:
        """Take no more jobs."""
        self._stored = handle

    def _add_bound(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> FlowNode[Any]:
        """Add a job whose arguments are checked and made JSON of."""
        if self._stored is not None:
            raise InvalidFlow(f"flow {self.name!r} was enqueued already: make another one with app.flow(…)")
        for name in _NOT_IN_FLOWS:
            if getattr(options, name) is not None:
                raise InvalidFlow(f"a job of a flow cannot have the option {name!r}: leave it out")
        if options.tenant is not None and options.tenant != self.tenant:
            raise InvalidFlow(
                f"the job is of tenant {options.tenant!r}, its flow of {self.tenant!r}: "
                "jobs of one flow belong to one tenant, so write app.flow(…, tenant=…)"
            )
        job = self._keeper.build(spec, args_text, options)
        parent = job.parent_id or (None if self._within is None else self._within.job_id)
        job = job._replace(tenant=self.tenant, parent_id=parent, is_plain=False)
        node: FlowNode[Any] = FlowNode(self, job, spec, len(self.nodes))
        self.nodes.append(node)
        return node

    def take(
        self,
        node: FlowNode[Any],
        place: str,
        parent: FlowNode[Any] | JobHandle[Any] | UUID,
        policy: OnFailure = OnFailure.CANCEL,
    ) -> None:
        """Let a job wait for a parent's result, which is put at a place of its arguments."""
        parent_id, data = self._id_of(node, parent), DependencyType.DATA
        self._keep(Dependency(job_id=node.id, parent_id=parent_id, type=data, place=place, on_failure=policy))

    def _keep(self, tie: Dependency) -> None:
        key = (tie.job_id, tie.parent_id, tie.place)
        if tie.place and key not in self._ties:
            self._places.setdefault(key[:2], []).append(tie.place)
        self._ties[key] = tie

    def _id_of(self, node: FlowNode[Any], parent: FlowNode[Any] | JobHandle[Any] | UUID) -> JobId:
        if isinstance(parent, FlowNode):
            if parent is node:
                raise InvalidFlow(f"{node!r} cannot wait for itself: name another job as its parent")
            if parent._flow is not self:
                raise InvalidFlow(
                    f"{parent!r} belongs to another flow: enqueue that one first and name its id"
                )
            if parent.number > node.number:
                raise InvalidFlow(
                    f"{node!r} cannot wait for {parent!r}, which was added later: add it before"
                )
            return parent.id
        return JobId(parent) if isinstance(parent, UUID) else parent.id


def _without_results(value: Any, path: tuple[str | int, ...], taken: list[tuple[str, Result]]) -> Any:
    """The value with null where results belong, noting each place."""
    if isinstance(value, Result):
        taken.append((flows.pointer_of(path), value))
        return None
    if isinstance(value, dict):
        return {key: _without_results(item, (*path, key), taken) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_results(item, (*path, index), taken) for index, item in enumerate(value)]
    return value


def _held(job: NewJob) -> NewJob:
    return job._replace(held_for=flows.WAITS)


def _flat(parents: Iterable[Parent]) -> Iterable[FlowNode[Any] | Branch | JobHandle[Any] | UUID]:
    for parent in parents:
        if isinstance(parent, FlowNode | Branch | JobHandle | UUID):
            yield parent
        elif isinstance(parent, Result):
            raise InvalidFlow(
                "a result is an argument, not a parent: write after(node), or give it to flow.add(…)"
            )
        elif isinstance(parent, list | tuple):
            yield from _flat(parent)
        else:
            raise InvalidFlow(
                f"a job cannot wait for {parent!r}: give a job of this flow, a condition, a handle or an id"
            )


C = TypeVar("C", DependencyType, OnFailure)


def _choice(kind: type[C], value: str) -> C:
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(repr(one.value) for one in kind if one not in ("data", "conditional"))
        raise InvalidFlow(f"{value!r} is not known here: use one of {allowed}") from None
