with odd as materialized (
    select "o'brien said ""hi""_events", "my event_revenue", "value"
    from "ripen staged"
    where (not regexp_full_match("o'brien said ""hi""_events", '-?[0-9]{1,18}(\.[0-9]{0,0}0*)?') and trim("o'brien said ""hi""_events") <> '')
        or (not regexp_full_match("my event_revenue", '-?[0-9]{1,12}(\.[0-9]{0,6}0*)?') and trim("my event_revenue") <> '')
        or (not regexp_full_match("value", '[-+]?[0-9]{1,200}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?') and trim("value") <> '')
)
select
    'o''brien said "hi"_events' as metric,
    "o'brien said ""hi""_events" as text
from odd
where not regexp_full_match("o'brien said ""hi""_events", '-?[0-9]{1,18}(\.[0-9]{0,0}0*)?') and trim("o'brien said ""hi""_events") <> ''
group by all
union all
select
    'my event_revenue' as metric,
    "my event_revenue" as text
from odd
where not regexp_full_match("my event_revenue", '-?[0-9]{1,12}(\.[0-9]{0,6}0*)?') and trim("my event_revenue") <> ''
group by all
union all
select
    'value' as metric,
    "value" as text
from odd
where not regexp_full_match("value", '[-+]?[0-9]{1,200}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?') and trim("value") <> ''
group by all
