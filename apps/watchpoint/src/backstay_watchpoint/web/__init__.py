"""The platform over HTTP: tenants' API, events and callbacks, operations pages."""
