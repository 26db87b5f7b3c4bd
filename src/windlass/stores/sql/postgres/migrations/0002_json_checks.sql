-- What a JSON value must look like, for programs that enqueue with SQL alone: the same rules as in Python.
-- None of these functions relies on the caller's search path: tables and functions of ours are always qualified.

-- The JSON pointer of a member (RFC 6901).
CREATE FUNCTION windlass.pointer_to(pointer text, member text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT pointer || '/' || replace(replace(member, '~', '~0'), '/', '~1')
$$;

-- A moment written with its offset, or NULL for any other text. Without the offset it would depend on the session.
CREATE FUNCTION windlass.moment(written text)
RETURNS timestamptz
LANGUAGE plpgsql
STABLE
AS $$
BEGIN
    IF written !~* '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$' THEN
        RETURN NULL;
    END IF;
    RETURN written::timestamptz;
EXCEPTION
    WHEN data_exception THEN
        RETURN NULL;
END
$$;

-- What is wrong with a key: idempotency, unique and correlation keys, tenants, tags, names. NULL when nothing is.
CREATE FUNCTION windlass.key_problem(key text)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF length(key) NOT BETWEEN 1 AND 255 THEN
        RETURN format('has %s characters, not 1 to 255', length(key));
    ELSIF key ~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' THEN
        RETURN 'contains a control character';
    ELSIF key ~ '[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]' THEN
        RETURN 'contains a character that changes the direction of text';
    ELSIF key IS NOT NFC NORMALIZED THEN
        RETURN 'is not in Unicode normal form C, so a look-alike would be another key';
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with a text that should have this format; formats nobody knows here are left to the handler.
CREATE FUNCTION windlass.format_problem(format text, written text)
RETURNS text
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    number CONSTANT text := '^[+-]?(\d+([.]\d*)?|[.]\d+)(e[+-]?\d+)?$|^[+-]?(nan|inf|infinity)$';
    seconds CONSTANT text := '(\d+([.]\d+)?h)?(\d+([.]\d+)?m)?(\d+([.]\d+)?s)?';
BEGIN
    CASE format
        WHEN 'name' THEN
            IF written !~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$' THEN
                RETURN 'must have 1 to 128 of A-Z a-z 0-9 . _ : - and start with a letter or digit';
            END IF;
        WHEN 'key' THEN
            RETURN windlass.key_problem(written);
        WHEN 'uuid' THEN
            IF written !~* '^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$' THEN
                RETURN 'must be a UUID such as 0190163d-8694-739b-aea5-966c26f8ad91';
            END IF;
        WHEN 'date-time' THEN
            IF windlass.moment(written) IS NULL THEN
                RETURN 'must be a moment with its offset, such as 2026-05-04T09:30:00+00:00';
            END IF;
        WHEN 'date' THEN
            IF written !~ '^\d{4}-\d\d-\d\d$' OR windlass.moment(written || 'T00:00Z') IS NULL THEN
                RETURN 'must be a date such as 2026-05-04';
            END IF;
        WHEN 'time' THEN
            IF written !~* '^([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.]\d+)?(Z|[+-]\d\d:\d\d)?$' THEN
                RETURN 'must be a time of day such as 09:30:00';
            END IF;
        WHEN 'duration' THEN
            IF written !~* ('^[+-]?P(?=.)(\d+([.]\d+)?d)?(T(?=.)' || seconds || ')?$') THEN
                RETURN 'must be an ISO 8601 duration in days, hours, minutes and seconds, such as PT1H30M';
            END IF;
        WHEN 'decimal' THEN
            IF written !~* number THEN
                RETURN 'must be a decimal number written as text';
            END IF;
        ELSE
            RETURN NULL;
    END CASE;
    RETURN NULL;
END
$$;

-- Whether a text has this pattern in it. A pattern that only Python understands is left to the handler.
CREATE FUNCTION windlass.fits_pattern(pattern text, written text)
RETURNS boolean
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN written ~ pattern;
EXCEPTION
    WHEN invalid_regular_expression THEN
        RETURN TRUE;
END
$$;

-- What is wrong with a text, by its schema.
CREATE FUNCTION windlass.text_problem(schema jsonb, written text)
RETURNS text
LANGUAGE plpgsql
STABLE
AS $$
BEGIN
    IF length(written) < (schema ->> 'minLength')::integer THEN
        RETURN format('must have at least %s characters', schema ->> 'minLength');
    ELSIF length(written) > (schema ->> 'maxLength')::integer THEN
        RETURN format('must have at most %s characters', schema ->> 'maxLength');
    ELSIF schema ? 'contentEncoding'
        AND written !~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' THEN
        RETURN 'must be bytes in base64';
    ELSIF schema ? 'format' THEN
        RETURN windlass.format_problem(schema ->> 'format', written);
    ELSIF schema ? 'pattern' AND NOT windlass.fits_pattern(schema ->> 'pattern', written) THEN
        RETURN format('must match %s', COALESCE(schema ->> 'description', schema ->> 'pattern'));
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with a number, by its schema.
CREATE FUNCTION windlass.number_problem(schema jsonb, number numeric)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF number < (schema ->> 'minimum')::numeric THEN
        RETURN format('must be at least %s', schema ->> 'minimum');
    ELSIF number > (schema ->> 'maximum')::numeric THEN
        RETURN format('must be at most %s', schema ->> 'maximum');
    ELSIF number <= (schema ->> 'exclusiveMinimum')::numeric THEN
        RETURN format('must be more than %s', schema ->> 'exclusiveMinimum');
    ELSIF number >= (schema ->> 'exclusiveMaximum')::numeric THEN
        RETURN format('must be less than %s', schema ->> 'exclusiveMaximum');
    ELSIF number % (schema ->> 'multipleOf')::numeric <> 0 THEN
        RETURN format('must be a multiple of %s', schema ->> 'multipleOf');
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with the type of a value. 1.0 is no whole number, as for the handler that will read it.
CREATE FUNCTION windlass.type_problem(allowed text, value jsonb)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    found CONSTANT text := jsonb_typeof(value);
    words CONSTANT jsonb := '{"string": "text", "object": "an object", "array": "an array", "integer": "a whole number",
        "number": "a number", "boolean": "true or false", "null": "null"}';
BEGIN
    IF found = allowed OR (allowed = 'integer' AND found = 'number' AND value::text ~ '^-?[0-9]+$') THEN
        RETURN NULL;
    END IF;
    RETURN format('must be %s, not %s', COALESCE(words ->> allowed, allowed), words ->> found);
END
$$;

-- The first place where a value does not fit a JSON schema, as the JSON pointer and what is wrong there; NULL when it
-- fits. Values are never repeated in what is said: arguments may be secret. Knows what handlers' signatures produce.
CREATE FUNCTION windlass.argument_problem(schema jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    found text[];
    problem text;
    choice jsonb;
BEGIN
    -- Most values have a type and no further rule; they need not be held against every rule there is.
    IF jsonb_typeof(value) = schema ->> 'type'
        AND NOT schema ?| ARRAY[
            'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'properties', 'required', 'additionalProperties',
            'propertyNames', 'minProperties', 'maxProperties', 'items', 'prefixItems', 'minItems', 'maxItems',
            'minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'minimum', 'maximum',
            'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'
        ] THEN
        RETURN NULL;
    ELSIF jsonb_typeof(schema) = 'boolean' THEN
        RETURN CASE WHEN schema = 'false' THEN ARRAY[pointer, 'is not allowed'] END;
    ELSIF schema = '{}' THEN
        RETURN NULL;
    END IF;
    -- A class of another library brings its own definitions, and its references mean those.
    IF schema ? '$defs' THEN
        root := schema;
    END IF;
    IF schema ? '$ref' THEN
        RETURN windlass.argument_problem(
            COALESCE(root #> string_to_array(substr(schema ->> '$ref', 3), '/'), 'true'), value, root, pointer
        );
    END IF;
    IF jsonb_typeof(schema -> 'type') = 'string' THEN
        problem := windlass.type_problem(schema ->> 'type', value);
        -- The handler's reader takes a number for a decimal as well.
        IF problem IS NOT NULL
            AND (schema ->> 'format' IS DISTINCT FROM 'decimal' OR jsonb_typeof(value) <> 'number') THEN
            RETURN ARRAY[pointer, problem];
        END IF;
    END IF;
    IF schema ? 'enum' AND NOT (schema -> 'enum') @> jsonb_build_array(value) THEN
        RETURN ARRAY[pointer, format('must be one of %s', left(schema ->> 'enum', 200))];
    ELSIF schema ? 'const' AND schema -> 'const' <> value THEN
        RETURN ARRAY[pointer, format('must be %s', schema -> 'const')];
    END IF;
    IF schema ?| ARRAY['anyOf', 'oneOf'] THEN
        RETURN windlass.choice_problem(COALESCE(schema -> 'anyOf', schema -> 'oneOf'), value, root, pointer);
    END IF;
    IF schema ? 'allOf' THEN
        FOR choice IN SELECT element FROM jsonb_array_elements(schema -> 'allOf') AS element LOOP
            found := windlass.argument_problem(choice, value, root, pointer);
            IF found IS NOT NULL THEN
                RETURN found;
            END IF;
        END LOOP;
    END IF;
    CASE jsonb_typeof(value)
        WHEN 'string' THEN
            problem := windlass.text_problem(schema, value #>> ARRAY[]::text[]);
        WHEN 'number' THEN
            problem := windlass.number_problem(schema, value::numeric);
        WHEN 'array' THEN
            RETURN windlass.array_problem(schema, value, root, pointer);
        WHEN 'object' THEN
            RETURN windlass.object_problem(schema, value, root, pointer);
        ELSE
            problem := NULL;
    END CASE;
    RETURN CASE WHEN problem IS NOT NULL THEN ARRAY[pointer, problem] END;
END
$$;

-- The problem of a value that may have one of several forms. With one form besides null, it is that form's problem.
CREATE FUNCTION windlass.choice_problem(choices jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    choice jsonb;
    found text[];
    last text[];
    forms integer := 0;
BEGIN
    FOR choice IN SELECT element FROM jsonb_array_elements(choices) AS element LOOP
        found := windlass.argument_problem(choice, value, root, pointer);
        IF found IS NULL THEN
            RETURN NULL;
        ELSIF choice ->> 'type' IS DISTINCT FROM 'null' THEN
            forms := forms + 1;
            last := found;
        END IF;
    END LOOP;
    RETURN CASE forms
        WHEN 1 THEN last
        ELSE ARRAY[pointer, format('fits none of the %s forms it may have', jsonb_array_length(choices))]
    END;
END
$$;

CREATE FUNCTION windlass.array_problem(schema jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    size CONSTANT integer := jsonb_array_length(value);
    fixed CONSTANT integer := COALESCE(jsonb_array_length(schema -> 'prefixItems'), 0);
    item jsonb;
    item_schema jsonb;
    index bigint;
    found text[];
BEGIN
    IF size < (schema ->> 'minItems')::integer THEN
        RETURN ARRAY[pointer, format('must have at least %s items', schema ->> 'minItems')];
    ELSIF size > (schema ->> 'maxItems')::integer THEN
        RETURN ARRAY[pointer, format('must have at most %s items', schema ->> 'maxItems')];
    ELSIF fixed = 0 AND COALESCE(schema -> 'items', '{}') IN ('{}', 'true') THEN
        RETURN NULL;
    END IF;
    FOR item, index IN
        SELECT given.element, given.number - 1
        FROM jsonb_array_elements(value) WITH ORDINALITY AS given (element, number)
    LOOP
        item_schema := CASE
            WHEN index < fixed THEN schema -> 'prefixItems' -> index::integer
            ELSE schema -> 'items'
        END;
        IF item_schema IS NOT NULL THEN
            found := windlass.argument_problem(item_schema, item, root, pointer || '/' || index);
            IF found IS NOT NULL THEN
                RETURN found;
            END IF;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- The names of an object's members, for messages.
CREATE FUNCTION windlass.names_of(value jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT COALESCE(string_agg(name, ', ' ORDER BY name), 'none')
FROM jsonb_object_keys(value) AS name
$$;

CREATE FUNCTION windlass.object_problem(schema jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    known CONSTANT jsonb := COALESCE(schema -> 'properties', '{}');
    further CONSTANT jsonb := schema -> 'additionalProperties';
    member text;
    member_pointer text;
    inner_value jsonb;
    found text[];
BEGIN
    IF schema ? 'required' THEN
        FOR member IN
            SELECT needed.name
            FROM jsonb_array_elements_text(schema -> 'required') AS needed (name)
            WHERE NOT object_problem.value ? needed.name
            LIMIT 1
        LOOP
            RETURN ARRAY[windlass.pointer_to(pointer, member), 'is missing'];
        END LOOP;
    END IF;
    FOR member, inner_value IN SELECT each.key, each.value FROM jsonb_each(value) AS each LOOP
        member_pointer := windlass.pointer_to(pointer, member);
        IF known ? member THEN
            found := windlass.argument_problem(known -> member, inner_value, root, member_pointer);
        ELSIF further = 'false' THEN
            RETURN ARRAY[member_pointer, format('is unknown; known are: %s', windlass.names_of(known))];
        ELSIF further IS NOT NULL THEN
            found := windlass.argument_problem(further, inner_value, root, member_pointer);
        END IF;
        IF found IS NULL AND schema ? 'propertyNames' THEN
            found := windlass.argument_problem(schema -> 'propertyNames', to_jsonb(member), root, member_pointer);
        END IF;
        IF found IS NOT NULL THEN
            RETURN found;
        END IF;
    END LOOP;
    IF schema ?| ARRAY['minProperties', 'maxProperties'] THEN
        RETURN windlass.member_count_problem(schema, value, pointer);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION windlass.member_count_problem(schema jsonb, value jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    size CONSTANT bigint := (SELECT count(*) FROM jsonb_object_keys(value));
BEGIN
    IF size < (schema ->> 'minProperties')::integer THEN
        RETURN ARRAY[pointer, format('must have at least %s members', schema ->> 'minProperties')];
    ELSIF size > (schema ->> 'maxProperties')::integer THEN
        RETURN ARRAY[pointer, format('must have at most %s members', schema ->> 'maxProperties')];
    END IF;
    RETURN NULL;
END
$$;

-- The first number or nesting in a JSON value that Python could not give back as it was. Takes json, not jsonb,
-- because only its text tells 1e30, a float, from a whole number of thirty-one digits.
CREATE FUNCTION windlass.walk_problem(value json, depth integer, pointer text)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    found text[];
    inner_value json;
    member text;
BEGIN
    CASE json_typeof(value)
        WHEN 'number' THEN
            IF value::text !~ '[.eE]'
                AND value::text::numeric NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
                RETURN ARRAY[pointer, 'is a whole number beyond 64 bits: write it as text'];
            ELSIF abs(value::text::numeric) > 1.7976931348623157e308 THEN
                RETURN ARRAY[pointer, 'is too large for a float: write it as text'];
            END IF;
            RETURN NULL;
        WHEN 'array', 'object' THEN
            IF depth > 64 THEN
                RETURN ARRAY[pointer, 'is nested deeper than 64 levels'];
            END IF;
        ELSE
            RETURN NULL;
    END CASE;
    FOR member, inner_value IN SELECT inside.member, inside.value FROM windlass.members(value) AS inside LOOP
        found := windlass.walk_problem(inner_value, depth + 1, windlass.pointer_to(pointer, member));
        IF found IS NOT NULL THEN
            RETURN found;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- What an array or object holds, under the names that a JSON pointer uses.
CREATE FUNCTION windlass.members(json)
RETURNS TABLE (member text, value json)
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT (item.number - 1)::text, item.element
FROM json_array_elements(CASE json_typeof($1) WHEN 'array' THEN $1 END) WITH ORDINALITY AS item (element, number)
UNION ALL
SELECT each.key, each.value
FROM json_each(CASE json_typeof($1) WHEN 'object' THEN $1 END) AS each
$$;

-- What is wrong with a JSON value before its meaning is looked at: size, depth, numbers.
-- Text without long numbers and with few brackets cannot have such a problem, which is told without a walk.
CREATE FUNCTION windlass.payload_problem(value json, max_bytes integer, pointer text)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    written CONSTANT text := value::text;
BEGIN
    IF octet_length(written) > max_bytes THEN
        RETURN ARRAY[
            pointer, format('has %s bytes of JSON, more than the %s allowed', octet_length(written), max_bytes)
        ];
    ELSIF length(written) - length(translate(written, '[{', '')) > 64
        OR written ~ '[0-9]{19}|[0-9][eE][+]?[0-9]{3}' THEN
        RETURN windlass.walk_problem(value, 1, pointer);
    END IF;
    RETURN NULL;
END
$$;
