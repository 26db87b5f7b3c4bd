"""A registry of providers as a process of its own: `python -m backstay_exora.demo.registry --port N --folder F`.

It answers GET /providers?number=… from `providers.json` in its folder, 404 for numbers it does not hold.
"""

import json
from pathlib import Path
from typing import Any

from backstay_parts.optional import need
from backstay_parts.serving import serve


def make(folder: Path) -> Any:
    """The application."""
    answers = need("starlette.responses", extra="servers")

    async def look_up(request: Any) -> Any:
        known = json.loads((folder / "providers.json").read_text(encoding="utf-8"))
        name = known.get(request.query_params.get("number", ""))
        return answers.JSONResponse({"name": name}, status_code=200 if name else 404)

    route = need("starlette.routing", extra="servers").Route
    return need("starlette.applications", extra="servers").Starlette(routes=[route("/providers", look_up)])


if __name__ == "__main__":
    serve(make, description="A registry of providers.")
