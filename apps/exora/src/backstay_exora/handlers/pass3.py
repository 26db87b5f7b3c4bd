"""Pass 3: a narrative of the stored facts; nothing in it that is not among them."""

import json
import re
from uuid import UUID

from backstay import Context
from backstay_exora.domain import messages
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Lane
from backstay_exora.handlers.asking import Question, ask
from backstay_exora.handlers.outcome import PassCall, PassOutcome
from backstay_exora.handlers.schemas import NARRATIVE, NARRATIVE_SYSTEM
from backstay_exora.settings import Settings
from backstay_exora.store.connections import Connection, connect
from backstay_exora.store.documents import set_status
from backstay_exora.store.facts import facts_of
from backstay_exora.store.passes import write_narrative

_SHOWN = ("kind", "name", "dose", "frequency", "reaction")


async def run(ctx: Context, settings: Settings, call: PassCall) -> PassOutcome:
    """Ask for a summary of what is stored, and keep it only if it adds no figure."""
    assert call.narrative_id is not None, "Pass 2 made it"
    narrative_id = call.narrative_id
    async with connect(settings.database_url) as connection:
        facts = await facts_of(connection, document_id=call.document_id)
    told = [{name: fact[name] for name in _SHOWN} for fact in facts]
    question = Question(
        3, call.document_id, call.session, call.correlation_id, "narrative", NARRATIVE, NARRATIVE_SYSTEM
    )
    sent = f"FACTS\n{json.dumps(told)}"
    answers = await ask(ctx, settings, question, lane=Lane(call.lane), divide=lambda parts: [sent])
    text = str(answers.parts[0].get("text", ""))
    if _figures(text) - _figures(json.dumps(told)):
        details = {"reason": "the narrative has a figure that is in no fact"}
        raise failure("AI_BAD_JSON", messages.pass_failed(3, messages.BAD_JSON_RESPONSE, details))

    async def write(connection: Connection, next_job: UUID | None) -> None:
        await write_narrative(connection, narrative_id, text)
        await set_status(connection, call.document_id, "done")

    return PassOutcome(write, {"pass": 3, "facts": len(facts), "letters": len(text)})


def _figures(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)?", text))
