-- What the catalog as last seen says of some metrics and dimensions, in whatever lists they stand.
-- $1 their ids (JSON list)
-- Returns one row: items, a JSON list in order of filter name and id, NULL for none.
with listed as (
    select
        filter,
        id,
        name,
        short_name as shortName,
        section,
        formatting,
        description
    from ripen.catalog
    where id in (select unnest(from_json($1::json, '["VARCHAR"]')))
)

select to_json(list(l order by l.filter, l.id))::varchar as items
from listed as l
