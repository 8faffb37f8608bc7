-- The columns of slices that hold a cohort metric, and what each is called in long form.
-- Returns one row per slice and column, in the order of the slice's metrics: slice, metric (the column), cohort_metric, age_days.
select
    slice,
    metric,
    cohort_metric,
    age_days
from ripen.slice_metrics
where cohort_metric is not null
order by slice, position
