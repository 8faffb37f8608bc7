-- What moved since Monday, night by night: totals that the service states differently now, values that became final, and what came,
-- went or failed an audit. Final totals come first, then the largest changes.
-- Returns one row per item, as described in the comments of ripen.news.
select
    found_at,
    kind,
    slice,
    name,
    label,
    periods,
    first_period,
    last_period,
    before,
    after,
    round(100 * share, 2) as change_percent
from ripen.news
where found_at >= date_trunc('week', now() at time zone 'UTC')
order by kind <> 'final total moved', abs(share) desc nulls last, found_at, kind, slice, name
