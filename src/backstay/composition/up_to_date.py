"""Brings a database up to date with what an application's code declares."""

from __future__ import annotations

from backstay.client.code_schedules import CodeSchedules
from backstay.client.enqueue.building import Builder
from backstay.client.promoted import PromotedFields
from backstay.composition.connect import Connections
from backstay.handlers.registry import Registry
from backstay.model.events import Emit
from backstay.model.policy.told_profile import told


async def bring_up_to_date(
    connections: Connections, registry: Registry, builder: Builder, schedules: CodeSchedules, *, emit: Emit
) -> list[str]:
    """Apply migrations, the profile, promoted fields, views and schedules, in this order; returns what was done."""
    done = await connections.migrate()
    stores = connections.stores("schema")
    profile = told(builder.profile, (spec.kind for spec in registry))
    if profile is not None and await stores.profiles.tell(profile):
        done.append(f"profile {profile.name}")
    # Not through the client's promoted fields, which would ask for everything to be up to date first.
    done += await PromotedFields(stores, registry, builder).migrate()
    done += await connections.refresh_own_views()
    await schedules.store(stores, emit)
    return done
