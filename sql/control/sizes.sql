-- How far control totals were read, and how many days of them one request may cover.
-- $1 since which instant a size counts (UTC)
-- Returns one row per control: control, max_days (null: any number), read_at (null before the first reading).
select
    t.slice as control,
    case when t.sized_at > $1::timestamp then t.max_days end as max_days,
    (select max(r.read_at) from ripen.control_readings as r where r.control = t.slice) as read_at
from ripen.slice_tables as t
where t.state = 'control'
