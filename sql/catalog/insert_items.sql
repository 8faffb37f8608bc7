-- Stores what filters-data listed, piece by piece; what it listed before was deleted.
-- $1 the items (JSON list), $2 when they were fetched
-- Returns nothing.
insert into ripen.catalog
select
    i.filter,
    i.id,
    i.name,
    i."shortName" as short_name,
    i.section,
    i.formatting,
    i.description,
    i.attributes,
    $2::timestamp as seen_at
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"filter":"VARCHAR","id":"VARCHAR","name":"VARCHAR","shortName":"VARCHAR","section":"VARCHAR","formatting":"VARCHAR","description":"VARCHAR","attributes":"VARCHAR"}]'
            ),
            recursive := true
        )
) as i
