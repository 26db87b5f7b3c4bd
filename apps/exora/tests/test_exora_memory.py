"""What a job uses stands in its row: a picture that takes 200 MB more to open shows it."""

import io

from PIL import Image

from conftest import Practice

MORE_MB = 200


def _blank(width: int) -> bytes:
    """A white strip in three colours; a small file, and width × 1,200 × 3 bytes when it is opened."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, 1200), "white").save(buffer, "PNG")
    return buffer.getvalue()


async def _used(practice: Practice, content: bytes) -> tuple[int, float]:
    from backstay_exora.documents import upload

    sent = await upload(practice.name, practice.patients[0], "blank.png", content, by="reception")
    job = await practice.wait_for(
        "SELECT id FROM exora.job_queue WHERE shell_file_id = $1"
        # What it used is noted right after its end.
        " AND job_type = 'shell_file_processing' AND status = 'completed' AND memory_usage_mb IS NOT NULL",
        sent.id,
    )
    sql = "SELECT memory_usage_mb, cpu_usage_percent FROM exora.job_queue WHERE id = $1"
    row = (await practice.rows(sql, job))[0]
    return row["memory_usage_mb"], float(row["cpu_usage_percent"])


async def test_two_hundred_megabytes_more_are_seen_in_the_row(practice: Practice) -> None:
    """EXO-024"""
    small, _ = await _used(practice, _blank(900))
    large, cpu = await _used(practice, _blank(70_000))

    assert small > 20
    assert large - small >= MORE_MB, (small, large)
    assert 0 < cpu < 999
