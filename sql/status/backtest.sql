-- What projections of each slice would have said in the past, compared with what became final.
-- Returns one row per slice, metric and age, in configured order: medians of the error as a share of the final total, the
-- share of totals inside the interval, and what is projected, or why it is not.
select
    e.slice,
    e.metric,
    e.age_days,
    e.cohorts,
    e.median_abs_error,
    e.median_abs_error_as_is,
    e.coverage,
    e.basis
from ripen.projection_errors as e
left join ripen.slice_metrics as m on m.slice = e.slice and m.metric = e.metric
order by e.slice, m.position, e.metric, e.age_days
