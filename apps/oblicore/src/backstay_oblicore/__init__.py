"""Environmental-permit compliance: duties, dates, evidence and packs, kept by durable jobs."""
