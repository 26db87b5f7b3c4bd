"""What services ask of a store about applications' profiles."""

from __future__ import annotations

from typing import Protocol

from backstay.model.policy.told_profile import ToldProfile


class Profiles(Protocol):
    """What an application calls things, where plain SQL can see it."""

    async def tell(self, profile: ToldProfile) -> bool:
        """Replace what is stored of this profile, and make its view; False if nothing has changed."""
        ...

    async def known(self, name: str) -> ToldProfile | None:
        """What was told last of the profile of this name."""
        ...
