create or replace view main."daily_final" as
select
    s."day",
    s."app ""quoted""",
    s."order",
    case when p.sound_at >= p.ends_at + to_seconds(608400) and not coalesce(list_contains(p.immature, 'o''brien said "hi"_events'), false) then s."o'brien said ""hi""_events" end as "o'brien said ""hi""_events",
    case when p.sound_at >= p.ends_at + to_seconds(1213200) and not coalesce(list_contains(p.immature, 'my event_revenue'), false) then s."my event_revenue" end as "my event_revenue",
    case when false then s."value" end as "value",
    s.attr_dependency,
    s."_extra",
    s."_load_id"
from main."daily" as s
left join ripen.periods as p
    on p.slice = 'daily' and p.fingerprint = 'f' and p.start_day = s."day"
