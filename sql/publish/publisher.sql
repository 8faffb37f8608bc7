-- Which warehouse a database is, or is a copy of, and its publishes.
-- Returns one row: id, publishes (a JSON list of number and atMs in order; atMs in milliseconds since 1970).
select
    id::varchar as id,
    (
        select coalesce(to_json(list({number: p.number, atMs: epoch_ms(p.published_at)} order by p.number)), '[]')::varchar
        from ripen_internal.publishes as p
    ) as publishes
from ripen_internal.warehouse_identity
