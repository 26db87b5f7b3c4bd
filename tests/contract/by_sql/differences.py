"""What the functions for working from SQL do in another way than workers of the engine."""

EPOCHS = "a reported end raises the epoch by two, and what maintenance decides by one more"
SUSPECTS = "a suspect is handed out alone, and only when there is no other job"
PLACES = "there is no place in the line to begin at"
ELSE = {
    "test_the_epoch_is_odd_while_a_job_runs_and_even_while_it_does_not": EPOCHS,
    "test_every_failed_attempt_leaves_a_row": EPOCHS,
    "test_the_budget_and_the_runs_are_counted_apart": EPOCHS,
    "test_a_claim_may_begin_where_another_has_ended": PLACES,
    "test_a_claim_of_one_pair_begins_where_it_is_told": PLACES,
    "test_at_most_one_suspect_is_claimed_beside_the_others": SUSPECTS,
    "test_no_suspect_is_claimed_where_none_is_asked_for": SUSPECTS,
    "test_a_suspect_is_claimed_beside_the_limit_and_also_without_one": SUSPECTS,
    "test_claims_whose_reply_was_lost_are_found_by_their_worker": "what was lost comes back with its lease",
    "test_a_claim_with_an_epoch_that_no_claim_ever_had_is_refused": "the database refuses it with its own error",
    "test_the_end_of_an_awaited_job_is_told": "the function tells it",
}
"""The tests of what the functions do in another way, and which."""
