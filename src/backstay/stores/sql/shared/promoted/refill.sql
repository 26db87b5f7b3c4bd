-- Have jobs' promoted fields filled once more: writing the arguments as they are sets off what fills them.
UPDATE backstay.jobs
SET args = args
WHERE {any_of id :ids uuid}
RETURNING id
