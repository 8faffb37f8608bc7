insert into main."daily" ("day", "app ""quoted""", "order", "attr_dependency", cohort, metric, age, age_days, "value", "_load_id")
select
    "day", "app ""quoted""", "order", "attr_dependency",
    ['o''brien said "hi"_events', 'my event_revenue', 'c'][place],
    ['o''brien said "hi"_events', 'my event_revenue', 'value'][place],
    ['', '', 'd7'][place],
    [0, 0, 7][place],
    "value",
    load_id
from (
    select
        "day", "app ""quoted""", "order", "attr_dependency",
        [null, 41, null, 42]["window," + 1]::bigint as load_id,
        unnest(range(1, 4)) as place,
        unnest([cast("o'brien said ""hi""_events" as DECIMAL(18,6)), cast("my event_revenue" as DECIMAL(18,6)), cast(cast("value" as VARCHAR) as DECIMAL(18,6))]) as "value"
    from (
select *
from (
select * from there
)
    )
)
where "value" is not null
order by "day"
