"""Types, lanes, categories and priorities, as pure rules."""

from itertools import product

import pytest

from backstay_exora.domain.failures import RULES, FinalFailure, PassingFailure, failure
from backstay_exora.domain.kinds import (
    JobType,
    Lane,
    ai_lane,
    document_priority,
    file_lane,
)

ALLOWED = {
    ("shell_file_processing", "fast_queue"),
    ("shell_file_processing", "standard_queue"),
    ("ai_processing", "ai_queue_simple"),
    ("ai_processing", "ai_queue_complex"),
    *(
        (kind.value, None)
        for kind in JobType
        if kind not in {JobType.SHELL_FILE_PROCESSING, JobType.AI_PROCESSING}
    ),
}
MATRIX = list(product([kind.value for kind in JobType], [None, *(lane.value for lane in Lane)]))


def test_there_are_eleven_types_and_no_other() -> None:
    """EXO-001"""
    assert len(JobType) == 11


@pytest.mark.parametrize(
    ("pages", "size", "is_picture", "lane"),
    [
        (1, 999_999, True, Lane.FAST),
        (1, 1_000_000, True, Lane.STANDARD),
        (2, 10, True, Lane.STANDARD),
        (1, 10, False, Lane.STANDARD),
    ],
)
def test_small_pictures_of_one_page_go_fast(pages: int, size: int, is_picture: bool, lane: Lane) -> None:
    """EXO-004"""
    assert file_lane(pages=pages, size_bytes=size, is_picture=is_picture) is lane


@pytest.mark.parametrize(
    ("tokens", "lane"), [(0, Lane.AI_SIMPLE), (8000, Lane.AI_SIMPLE), (8001, Lane.AI_COMPLEX)]
)
def test_long_texts_take_the_complex_lane(tokens: int, lane: Lane) -> None:
    """EXO-004"""
    assert ai_lane(tokens) is lane


def test_urgent_comes_before_premium_before_the_rest() -> None:
    """EXO-005"""
    assert document_priority() == 5
    assert document_priority(plan="premium") == 3
    assert document_priority(plan="premium", is_urgent=True) == 2


def test_each_code_is_tried_again_or_final_as_the_table_says() -> None:
    """EXO-036"""
    final = {code for code, rule in RULES.items() if not rule.is_retried}

    assert {"AI_REFUSED", "FILE_MISSING", "BAD_FILE"} <= final
    assert not final & {
        "AI_TRUNCATED",
        "AI_EMPTY",
        "AI_RATE_LIMIT",
        "AI_HTTP_5XX",
        "AI_BAD_JSON",
        "OCR_FAILED",
    }
    for code in RULES:
        error = failure(code, "x")
        assert isinstance(error, FinalFailure if code in final else PassingFailure)
        assert error.code == code
