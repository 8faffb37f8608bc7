-- An audit: which totals changed after they were final, by more than 1 %, since the run before the last one?
-- Returns one row per slice, metric and period, the largest change first.
select
    r.slice,
    r.metric,
    r.period,
    r.before,
    r.after
from ripen.restatements as r
where
    r.after_final
    and r.seen_at > (select started_at from ripen.runs where command = 'sync' order by started_at desc limit 1 offset 1)
    and abs(coalesce(r.after, 0) - coalesce(r.before, 0)) > 0.01 * abs(coalesce(r.before, 0))
order by abs(coalesce(r.after, 0) - coalesce(r.before, 0)) / nullif(abs(r.before), 0) desc nulls first, r.slice, r.metric, r.period
