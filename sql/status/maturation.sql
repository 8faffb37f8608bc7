-- How much of the final totals of one slice was known at each age.
-- $1 slice
-- Returns one row per metric and age, in configured order; none with too little history.
select
    r.metric,
    r.age_days,
    r.periods,
    r.share_q25,
    r.share_median,
    r.share_q75
from ripen_internal.maturation as r
left join ripen.slice_metrics as m on m.slice = r.slice and m.metric = r.metric
where r.slice = $1
order by m.position, r.metric, r.age_days
