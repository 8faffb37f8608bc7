-- What was told of the list of a subject that was shorter than it said, in the newest sync that left nothing of that subject as
-- it was. A repeated run of an instant does not read again what was stored then.
-- $1 as-of instant, $2 how the summary tells that it was left as it was, $3 how the warning of a short list begins
-- Returns message, in no row where the list was whole then, or there was no such sync.
with believed as (
    select
        run_id,
        as_of
    from ripen.runs
    where
        command = 'sync'
        and status in ('succeeded', 'partial')
        and as_of <= $1::timestamp
        and not contains(summary::varchar, $2)
)
select w.message
from ripen.warnings as w
join believed as r on r.run_id = w.run_id
where
    w.code = 'LIST_SHORT'
    and starts_with(w.message, $3)
    and r.as_of = (select max(as_of) from believed)
order by w.seen_at desc
limit 1
