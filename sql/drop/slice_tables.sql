-- The tables that hold one slice, and how many of its periods end on or before a day.
-- $1 slice, $2 day; null for every period
-- Returns one row per table, the live one first: its quoted name with its schema, the periods, and the day
-- before which its rows are those of the periods (null for every period).
select
    t.table_name,
    count(distinct p.start_day) filter ($2::date is null or p.end_day <= $2::date) as periods,
    least($2::date, min(p.start_day) filter (p.end_day > $2::date))::varchar as end_day
from ripen.slice_tables as t
left join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint
where t.slice = $1
group by t.table_name, t.state
order by t.state = 'live' desc
