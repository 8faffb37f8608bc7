-- Stores metrics with ripen's own reading of them, piece by piece; those of before were deleted.
-- $1 the metrics, by id (JSON list)
-- Returns nothing.
insert into main.metrics
select
    m.id,
    m.name,
    m.short_name,
    m.section,
    m.formatting,
    m.description,
    m.kind,
    m.horizon_from,
    m.horizon_days,
    m.additive,
    m.type
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"id":"VARCHAR","name":"VARCHAR","short_name":"VARCHAR","section":"VARCHAR","formatting":"VARCHAR","description":"VARCHAR","kind":"VARCHAR","horizon_from":"VARCHAR","horizon_days":"DOUBLE","additive":"BOOLEAN","type":"VARCHAR"}]'
            ),
            recursive := true
        )
) as m
