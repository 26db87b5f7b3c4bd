"""The client for somebody who acts: scoped by tenant, limited by rights, signed."""
