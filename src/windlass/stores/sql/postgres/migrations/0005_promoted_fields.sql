-- What promoted fields need: arguments of a kind that are columns of a side table as well. The side table itself and
-- what fills it are made by 'windlass db migrate' for what an application declares.

-- A promoted field as text that its column's type can read; raises for any other value, so that nothing is stored.
-- The value itself is not repeated in what is said: arguments may be secret.
CREATE FUNCTION windlass.promoted_value(kind text, field text, type text, needs text, value json)
RETURNS text
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    written CONSTANT text := value #>> ARRAY[]::text[];
    given CONSTANT text := json_typeof(value);
BEGIN
    IF written IS NULL OR COALESCE(
        CASE type
            WHEN 'text' THEN given = 'string'
            WHEN 'integer' THEN
                given = 'number'
                AND written ~ '^-?\d{1,19}$'
                AND written::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
            WHEN 'number' THEN given = 'number' AND abs(written::numeric) < 1.7e308
            WHEN 'boolean' THEN given = 'boolean'
            WHEN 'timestamp' THEN
                given = 'string'
                AND written ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.]\d{1,6})?(Z|[+-]\d\d:\d\d)$'
                AND windlass.moment(written) IS NOT NULL
            WHEN 'date' THEN given = 'string' AND windlass.format_problem('date', written) IS NULL
            WHEN 'uuid' THEN
                given = 'string'
                -- Not one pattern for both ways of writing it: a reference back within it is slow.
                AND (
                    written ~ '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
                    OR written ~ '^[0-9a-fA-F]{32}$'
                )
        END,
        FALSE
    ) THEN
        RETURN written;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = '22023',
        MESSAGE = format('promoted field %s of %s %s', field, kind, needs),
        DETAIL = windlass.pointer_to('/args', field),
        COLUMN = field,
        CONSTRAINT = 'promoted_field';
END
$$;
