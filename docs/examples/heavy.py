"""Handlers that compute, in a module that another process can import."""

from backstay import Backstay

app = Backstay()


@app.job(runs_in="process", timeout="1s", max_attempts=1)
def count_primes(below: int) -> int:
    """Busy for long, and nothing in it ever asks whether to stop."""
    return sum(all(n % divisor for divisor in range(2, int(n**0.5) + 1)) for n in range(2, below))
