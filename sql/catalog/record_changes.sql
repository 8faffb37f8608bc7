-- Records, at once, what came, went or changed in the catalog: a new catalog may differ in thousands of items.
-- $1 the changes (JSON list), $2 run id
-- Returns nothing.
insert into ripen.schema_changes
select
    $2 as run_id,
    'catalog' as object,
    c.name,
    c.change,
    c.before,
    c.after,
    now() at time zone 'UTC' as seen_at
from (
    select
        unnest(
            from_json($1::json, '[{"name":"VARCHAR","change":"VARCHAR","before":"VARCHAR","after":"VARCHAR"}]'),
            recursive := true
        )
) as c
