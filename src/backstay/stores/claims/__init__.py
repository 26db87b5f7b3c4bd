"""The life of a claim, once for both databases: plain, limited and fair claims, renewing, settling."""
