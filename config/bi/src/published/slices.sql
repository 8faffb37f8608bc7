-- How much of each slice is final, up to which period does it reach, and when was it fetched last?
-- Returns one row per slice, in alphabetical order.
select
    slice,
    count(*)::double as cells,
    (count(*) filter (where is_final))::double as final_cells,
    strftime(max(period), '%Y-%m-%d') as newest_period,
    strftime(max(fetched_at), '%Y-%m-%d %H:%M') as fetched_at
from ripen.finality
group by slice
order by slice
