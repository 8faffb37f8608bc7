insert into main."daily" ("day", "app ""quoted""", "order", "attr_dependency", cohort, metric, age, age_days, "value", "_load_id")
select
    "day", "app ""quoted""", "order", "attr_dependency",
    ['o''brien said "hi"_events', 'my event_revenue', 'c'][place],
    ['o''brien said "hi"_events', 'my event_revenue', 'value'][place],
    ['', '', 'd7'][place],
    [0, 0, 7][place],
    "value",
    "load,"
from (
    select
        "day", "app ""quoted""", "order", "attr_dependency",
        "load,",
        unnest(range(1, 4)) as place,
        unnest([cast("o'brien said ""hi""_events" as DECIMAL(18,6)), cast("my event_revenue" as DECIMAL(18,6)), cast(cast("value" as VARCHAR) as DECIMAL(18,6))]) as "value"
    from (
select *, (case when "window," = 1 and "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08' then 41 when "window," = 3 and "day" >= DATE '2026-01-15' and "day" < DATE '2026-01-16' then 42 end)::bigint as "load,"
from (
select * from there
)
where "rejected," is null and "load," is not null
    )
)
where "value" is not null
order by "day"
