"""Makes `manage.py backstay …` known, with "backstay.integrations.django" in INSTALLED_APPS."""

from __future__ import annotations

from django.apps import AppConfig


class BackstayConfig(AppConfig):  # type: ignore[misc]  # Django ships no types
    """Jobs of the project; it has no models, because Backstay makes its own tables."""

    name = "backstay.integrations.django"
    label = "backstay"
    verbose_name = "Backstay"
