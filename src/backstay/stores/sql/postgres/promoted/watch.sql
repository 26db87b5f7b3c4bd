-- Fill a kind's promoted fields whenever such a job is stored or its arguments change, whoever does it.
-- The condition stands outside of the function: a job of any other kind does not even call it.
DO $make$
BEGIN
    CREATE OR REPLACE FUNCTION backstay.<<name>>()
    RETURNS trigger
    LANGUAGE plpgsql
    AS $fill$
    BEGIN
        INSERT INTO backstay.<<table>> (
            job_id
-- for each argument_field
            , "<<field>>"
-- end
-- for each option_field
            , "<<field>>"
-- end
        )
        VALUES (
            NEW.id
-- for each argument_field
            , CAST(backstay.promoted_value(
                NEW.kind, '<<field>>', '<<type>>', '<<needs>>', NEW.args -> '<<field>>'
            ) AS {column <<type>>})
-- end
-- for each option_field
            , NEW."<<field>>"
-- end
        )
        ON CONFLICT (job_id) DO UPDATE
        SET job_id = excluded.job_id
-- for each field
            , "<<field>>" = excluded."<<field>>"
-- end
        ;
-- for each choice_field
        IF (NEW.args ->> '<<field>>') <> ALL (string_to_array('<<choices>>', ' ')) THEN
            PERFORM backstay.refuse_field(NEW.kind, '<<field>>', '<<must>>');
        END IF;
-- end
-- for each chosen_option
        IF NEW."<<field>>" <> ALL (string_to_array('<<choices>>', ' ')) THEN
            PERFORM backstay.refuse_field(NEW.kind, '<<field>>', '<<must>>');
        END IF;
-- end
-- for each bounded_field
        IF (NEW.args ->> '<<field>>')::numeric NOT BETWEEN <<minimum>> AND <<maximum>> THEN
            PERFORM backstay.refuse_field(NEW.kind, '<<field>>', '<<must>>');
        END IF;
-- end
        RETURN NULL;
    END
    $fill$;

    CREATE TRIGGER <<name>>
    AFTER <<event>> ON backstay.jobs
    FOR EACH ROW
    WHEN (NEW.kind = '<<kind>>')
    EXECUTE FUNCTION backstay.<<name>>();
END
$make$
