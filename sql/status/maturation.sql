-- How much of the final totals of each slice was known at each age.
-- Returns one row per slice, metric and age, in configured order; none with too little history.
select
    r.slice,
    r.metric,
    r.age_days,
    r.periods,
    r.share_q25,
    r.share_median,
    r.share_q75
from ripen_internal.maturation as r
left join ripen.slice_metrics as m on m.slice = r.slice and m.metric = r.metric
order by r.slice, m.position, r.metric, r.age_days
