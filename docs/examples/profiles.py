"""An application's own numbers and words."""

import asyncio

from backstay import Backoff, Backstay, ClassRule, PriorityScale, Profile, State

profile = Profile(
    name="shop",
    # For every job of this application …
    policy={"max_attempts": 6, "timeout": "2m"},
    # … for those of a queue …
    queues={"mail": {"backoff": Backoff("1s", cap="1m", jitter=0.2)}},
    words={
        (State.SCHEDULED, "retrying"): "trying again",
        (State.DEAD, "exhausted"): "given up",
    },
    priority=PriorityScale(names={"urgent": 1, "normal": 5, "whenever": 9}),
)
app = Backstay(profile=profile)


# … and for one kind, where an error of one class has numbers of its own.
@app.job(
    queue="mail",
    timeout="30s",
    classes={"rate_limit": ClassRule(max_attempts=20, backoff=Backoff.fixed("1m"))},
)
async def send(to: str) -> str:
    return f"sent to {to}"


async def main() -> None:
    # For a single job at last.
    job = await send.options(max_attempts=1, priority="urgent").enqueue(to="ada@example.org")

    stored = await job.get()
    print(stored.priority, stored.policy)
    print(profile.word_for(State.DEAD, reason="exhausted"), profile.word_for(stored.state))
    await app.close()


asyncio.run(main())
