-- What the policy of one job may change, by the fields that policies have now.
CREATE OR REPLACE FUNCTION windlass.policy_schema()
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT '{
    "type": "object",
    "additionalProperties": false,
    "properties": {
        "max_attempts": {"$ref": "#/$defs/count"},
        "max_crashes": {"$ref": "#/$defs/count"},
        "backoff": {"$ref": "#/$defs/backoff"},
        "lease_seconds": {"type": "number", "minimum": 0.01, "maximum": 315619200},
        "renew_every_seconds": {"$ref": "#/$defs/positive"},
        "timeout_seconds": {"$ref": "#/$defs/positive"},
        "max_timeout_seconds": {"$ref": "#/$defs/positive"},
        "timeout_growth": {"type": "number", "minimum": 1, "maximum": 10},
        "priority": {"type": "integer", "minimum": 1, "maximum": 10},
        "ageing_step_seconds": {"$ref": "#/$defs/length"},
        "cancel_running": {"type": "boolean"},
        "retry_unknown": {"type": "boolean"},
        "exhausted_wins": {"type": "boolean"},
        "classes": {"type": "object", "additionalProperties": {"$ref": "#/$defs/rule"},
                    "propertyNames": {"pattern": "^[A-Za-z_]\\w*$", "description": "a name like rate_limit"}},
        "expires_after_seconds": {"anyOf": [{"$ref": "#/$defs/positive"}, {"type": "null"}]},
        "deadline_after_seconds": {"anyOf": [{"$ref": "#/$defs/positive"}, {"type": "null"}]},
        "keep_completed_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "keep_cancelled_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "keep_resolved_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "transaction_limit_seconds": {"$ref": "#/$defs/positive"},
        "max_result_bytes": {"type": "integer", "minimum": 1, "maximum": 1073741824},
        "max_payload_bytes": {"type": "integer", "minimum": 1, "maximum": 1073741824},
        "concurrency": {"type": "integer", "minimum": 1, "maximum": 10000},
        "poll_busy_seconds": {"$ref": "#/$defs/positive"},
        "poll_idle_seconds": {"$ref": "#/$defs/positive"},
        "shutdown_grace_seconds": {"$ref": "#/$defs/length"}
    },
    "$defs": {
        "count": {"type": "integer", "minimum": 1, "maximum": 1000},
        "positive": {"type": "number", "minimum": 0.001, "maximum": 315619200},
        "length": {"type": "number", "minimum": 0, "maximum": 315619200},
        "backoff": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "base_seconds": {"$ref": "#/$defs/length"},
                "multiplier": {"type": "number", "minimum": 1, "maximum": 100},
                "cap_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
                "jitter": {"type": "number", "minimum": 0, "maximum": 1}
            }
        },
        "rule": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "retry": {"type": "boolean"},
                "max_attempts": {"anyOf": [{"$ref": "#/$defs/count"}, {"type": "null"}]},
                "backoff": {"anyOf": [{"$ref": "#/$defs/backoff"}, {"type": "null"}]}
            }
        }
    }
}'::jsonb
$$;
