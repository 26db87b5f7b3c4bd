-- What the engine was told of a schedule, so that telling it again changes nothing.
ALTER TABLE aeon.schedule_rows ADD COLUMN applied jsonb;
