-- Fill a kind's promoted fields whenever such a job is stored or its arguments change, whoever does it.
-- The condition stands outside of the function: a job of any other kind does not even call it.
DO $make$
BEGIN
    CREATE OR REPLACE FUNCTION windlass.<<name>>()
    RETURNS trigger
    LANGUAGE plpgsql
    AS $fill$
    BEGIN
        INSERT INTO windlass.<<table>> (
            job_id
-- for each field
            , "<<field>>"
-- end
        )
        VALUES (
            NEW.id
-- for each field
            , CAST(windlass.promoted_value(
                NEW.kind, '<<field>>', '<<type>>', '<<needs>>', NEW.args -> '<<field>>'
            ) AS {column <<type>>})
-- end
        )
        ON CONFLICT (job_id) DO UPDATE
        SET job_id = excluded.job_id
-- for each field
            , "<<field>>" = excluded."<<field>>"
-- end
        ;
        RETURN NULL;
    END
    $fill$;

    CREATE TRIGGER <<name>>
    AFTER <<event>> ON windlass.jobs
    FOR EACH ROW
    WHEN (NEW.kind = '<<kind>>')
    EXECUTE FUNCTION windlass.<<name>>();
END
$make$
