-- Records the rows of a window that could not be stored exactly, as the service sent them: with the load if the other rows are
-- loaded, alone if the window failed.
-- $1 run_id, $2 the rows (JSON list)
insert into ripen.rejected_rows
select
    $1,
    r.slice,
    r.start_day,
    r.end_day,
    r.reason,
    r.row_text::json,
    now() at time zone 'UTC'
from (
    select
        unnest(
            from_json(
                $2::json,
                '[{"slice":"VARCHAR","start_day":"DATE","end_day":"DATE","reason":"VARCHAR","row_text":"VARCHAR"}]'
            ),
            recursive := true
        )
) as r
