"""What the functions do in another way is a short list, and each of its lines is about a test that there is."""

from __future__ import annotations

from differences import ELSE

from backstay.testing.contract import cancelling, claims, rescue, settling


def test_each_exception_names_a_test_of_the_contract() -> None:
    known = {name for module in (cancelling, claims, rescue, settling) for name in vars(module)}

    assert set(ELSE) <= known
    assert len(ELSE) < 12
