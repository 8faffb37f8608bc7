select
    'o''brien said "hi"_events' as metric,
    "o'brien said ""hi""_events" as text
from staged
where not ("o'brien said ""hi""_events" is null or trim("o'brien said ""hi""_events") = '') and not regexp_full_match("o'brien said ""hi""_events", '-?[0-9]{1,18}(\.0*)?')
group by all
union all
select
    'my event_revenue' as metric,
    "my event_revenue" as text
from staged
where not ("my event_revenue" is null or trim("my event_revenue") = '') and not regexp_full_match("my event_revenue", '-?[0-9]{1,12}(\.[0-9]{0,6}0*)?')
group by all
union all
select
    'value' as metric,
    "value" as text
from staged
where not ("value" is null or trim("value") = '') and not regexp_full_match("value", '[-+]?[0-9]{1,200}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?')
group by all
