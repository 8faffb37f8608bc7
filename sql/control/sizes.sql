-- How many days of control totals one request may cover.
-- $1 since which instant a size counts (UTC)
-- Returns one row per control: control, max_days (null: any number).
select
    t.slice as control,
    case when t.sized_at > $1::timestamp then t.max_days end as max_days
from ripen.slice_tables as t
where t.state = 'control'
