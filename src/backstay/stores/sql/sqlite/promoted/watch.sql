-- Fill a kind's promoted fields whenever such a job is stored or its arguments change, whoever does it.
-- Every type of field has lines of its own: SQLite makes room for a trigger before it asks whether it is to run, so a
-- short one is cheap for the jobs of other kinds. The references are looked up here as well: SQLite names no field when
-- it refuses one, and a caller's own connection may not check them at all. What RAISE says must be constant before
-- SQLite 3.47.
CREATE TRIGGER <<name>>
AFTER <<event>> ON backstay.jobs
WHEN NEW.kind = '<<kind>>'
BEGIN
-- for each text_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<needs>>')
    WHERE json_type(NEW.args, '$."<<field>>"') NOT IN ('null', 'text');
-- end
-- for each integer_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<needs>>')
    WHERE json_type(NEW.args, '$."<<field>>"') NOT IN ('null', 'integer');
-- end
-- for each number_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<needs>>')
    WHERE json_type(NEW.args, '$."<<field>>"') NOT IN ('null', 'integer', 'real');
-- end
-- for each boolean_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<needs>>')
    WHERE json_type(NEW.args, '$."<<field>>"') NOT IN ('null', 'true', 'false');
-- end
-- for each date_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<needs>>')
    WHERE json_type(NEW.args, '$."<<field>>"') NOT IN ('null', 'text')
       OR date(NEW.args ->> '<<field>>', '+0 days') IS NOT NEW.args ->> '<<field>>';
-- end
-- for each uuid_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<needs>>')
    FROM (SELECT json_type(NEW.args, '$."<<field>>"') AS kind, NEW.args ->> '<<field>>' AS value) AS given
    WHERE given.kind NOT IN ('null', 'text')
       OR NOT (given.value GLOB '????????-????-????-????-????????????' OR length(given.value) = 32)
       OR length(replace(given.value, '-', '')) <> 32
       OR lower(replace(given.value, '-', '')) GLOB '*[^0-9a-f]*';
-- end
-- for each timestamp_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<needs>>')
    FROM (SELECT json_type(NEW.args, '$."<<field>>"') AS kind, NEW.args ->> '<<field>>' AS value) AS given
    WHERE given.kind NOT IN ('null', 'text')
       OR (
        given.value IS NOT NULL
        AND NOT COALESCE(
            date(substr(given.value, 1, 10), '+0 days') = substr(given.value, 1, 10)
            AND substr(given.value, 11, 1) IN ('T', ' ')
            AND time(substr(given.value, 12, 8)) = substr(given.value, 12, 8)
            AND (
                substr(given.value, 20) = 'Z'
                OR substr(given.value, 20) GLOB '[+-][0-9][0-9]:[0-9][0-9]'
                OR (
                    substr(given.value, 20) GLOB '.[0-9]*Z'
                    AND substr(given.value, 21) NOT GLOB '*[^0-9]*Z'
                    AND length(given.value) <= 27
                )
                OR (
                    substr(given.value, 20) GLOB '.[0-9]*[+-][0-9][0-9]:[0-9][0-9]'
                    AND substr(given.value, 21, length(given.value) - 26) NOT GLOB '*[^0-9]*'
                    AND length(given.value) <= 32
                )
            ),
            FALSE
        )
    );
-- end
-- for each choice_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<must>>')
    WHERE instr(NEW.args ->> '<<field>>', ' ') > 0
       OR instr(' <<choices>> ', ' ' || (NEW.args ->> '<<field>>') || ' ') = 0;
-- end
-- for each chosen_option
    SELECT RAISE(ABORT, 'promoted field <<field>> <<must>>')
    WHERE instr(NEW."<<field>>", ' ') > 0
       OR instr(' <<choices>> ', ' ' || NEW."<<field>>" || ' ') = 0;
-- end
-- for each bounded_field
    SELECT RAISE(ABORT, 'promoted field <<field>> <<must>>')
    WHERE (NEW.args ->> '<<field>>') NOT BETWEEN <<minimum>> AND <<maximum>>;
-- end
    INSERT INTO backstay.<<table>> (
        job_id
-- for each option_field
        , "<<field>>"
-- end
-- for each simple_field
        , "<<field>>"
-- end
-- for each uuid_field
        , "<<field>>"
-- end
-- for each timestamp_field
        , "<<field>>"
-- end
    )
    SELECT
        NEW.id
-- for each option_field
        , NEW."<<field>>"
-- end
-- for each simple_field
        , NEW.args ->> '<<field>>'
-- end
-- for each uuid_field
        , (
            SELECT
                substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-' || substr(hex, 13, 4) || '-'
                || substr(hex, 17, 4) || '-' || substr(hex, 21)
            FROM (SELECT lower(replace(NEW.args ->> '<<field>>', '-', '')) AS hex)
        )
-- end
-- for each timestamp_field
        -- Whole microseconds, as all times are kept here; SQLite's own functions end at milliseconds.
        , (
            SELECT
                strftime('%s', substr(value, 1, 19) || zone) * 1000000
                + CASE substr(value, 20, 1)
                    WHEN '.' THEN
                        CAST(substr(substr(value, 21, length(value) - 20 - length(zone)) || '00000', 1, 6) AS integer)
                    ELSE 0
                END
            FROM (
                SELECT
                    NEW.args ->> '<<field>>' AS value,
                    CASE WHEN NEW.args ->> '<<field>>' LIKE '%Z' THEN 'Z' ELSE substr(NEW.args ->> '<<field>>', -6) END
                        AS zone
            )
        )
-- end
    WHERE TRUE
    ON CONFLICT (job_id) DO UPDATE
    SET job_id = excluded.job_id
-- for each field
        , "<<field>>" = excluded."<<field>>"
-- end
    ;
-- for each reference
    SELECT RAISE(ABORT, 'promoted field <<field>> must exist in <<target>>.<<target_column>> before the job is stored')
    FROM backstay.<<table>> AS side
    WHERE side.job_id = NEW.id
      AND side."<<field>>" IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM <<target>> AS referred WHERE referred."<<target_column>>" = side."<<field>>");
-- end
END
