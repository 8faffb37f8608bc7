with mine as materialized (select * from typed where window_no = 3),
single as (select distinct "day", "app ""quoted""", "order", attr_dependency, "o'brien said ""hi""_events", "my event_revenue" from mine)
select
    'o''brien said "hi"_events' as metric,
    (select sum("o'brien said ""hi""_events")::varchar from mine) as sum,
    (select sum("o'brien said ""hi""_events")::varchar from single) as distinct_sum,
    (select coalesce(sum(abs("o'brien said ""hi""_events"::double)), 0) from mine) as magnitude
union all
select
    'my event_revenue' as metric,
    (select sum("my event_revenue")::varchar from mine) as sum,
    (select sum("my event_revenue")::varchar from single) as distinct_sum,
    (select coalesce(sum(abs("my event_revenue"::double)), 0) from mine) as magnitude
