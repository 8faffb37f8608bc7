select p::varchar as start_day, batch, coalesce(sum(answered), 0) as answered, sum(stored) as stored
from (
select "day" as p, unnest(range(2)) as batch, unnest([count_if("o'brien said ""hi""_events" <> 0 or "value" <> 0), count_if("my event_revenue" <> 0)]) as stored
from main."daily"
where "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'
group by 1
union all by name
select "day" as p, unnest(range(2)) as batch, unnest([count_if("o'brien said ""hi""_events" <> 0 or "value" <> 0), count_if("my event_revenue" <> 0)]) as stored
from main."daily"
where "day" >= DATE '2026-01-15' and "day" < DATE '2026-01-16'
group by 1
union all by name
select "day" as p, unnest(range(2)) as batch, unnest([count_if("rejected," is not null or "o'brien said ""hi""_events" <> 0 or "value" <> 0), count_if("rejected," is not null or "my event_revenue" <> 0)]) as answered
from "ripen typed"
where "window," in (1, 3)
group by 1
)
group by all
having coalesce(sum(answered), 0) < $1 * sum(stored)
order by coalesce(sum(answered), 0) / sum(stored) desc
