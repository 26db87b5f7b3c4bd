"""The demonstration: documents in, passports out, things broken on purpose, everything checked."""

from __future__ import annotations

import asyncio

from backstay_parts.demo import Demo, run_demo
from backstay_passport.demo.acts import Acts
from backstay_passport.demo.stage import Stage
from backstay_passport.demo.tampering import tamper

COLUMNS = ["model", "documents", "facts", "snapshot", "compiled", "signed", "codes", "active", "exports"]


def play(*, keep: bool, units: int, port: int, postgres: bool) -> int:
    """Play and return the exit code, 0 only if everything held."""
    stages: list[Stage] = []

    async def story(demo: Demo) -> None:
        stage = Stage(demo.folder, port=port, postgres=postgres)
        stages.append(stage)
        await asyncio.to_thread(tell, demo, stage, units)
        if not keep:
            await asyncio.to_thread(stage.close)

    try:
        return run_demo("Battery passports", COLUMNS, story, argv=["--keep"] if keep else [])
    finally:
        for stage in stages:
            stage.close()


def tell(demo: Demo, stage: Stage, units: int) -> None:
    """The story, one act after the other."""
    acts = Acts(demo, stage, units)
    acts.set_up()
    acts.upload_documents()
    acts.prepare_rules()
    acts.make_passports()
    acts.export_all()
    acts.show_page()
    tamper(demo, stage, acts)
    acts.replay_elsewhere()
    acts.count()
