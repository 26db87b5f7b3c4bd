"""Hints that there is work: losing every one of them costs a poll, never a job."""
