"""A proxy that fails on demand, in front of any TCP or HTTP server."""

from backstay_parts.faults.proxy import Answer, Fault, FaultProxy, Request, access_denied

__all__ = ["Answer", "Fault", "FaultProxy", "Request", "access_denied"]
