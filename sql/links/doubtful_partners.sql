-- The list of partners, where it lacks stored ones.
-- $1 as-of instant
-- Returns one row, or none where it lacks nothing: list (empty), is_asked, listed, before (partners stored as listed), lost (of
-- these, not staged), known (of these, missed on an earlier night), all_listed, all_before (the same).
with held as (
    select
        p.partner_id not in (select partner_id from ripen.staged_partners) as is_lost,
        u.seen_at is not null
        and (not u.list_was_empty or (select count(*) from ripen.staged_partners) = 0) as is_known
    from main.partners as p
    left join ripen.unlisted_items as u on
        u.subject = 'partners'
        and u.item = p.partner_id
        and u.seen_at <= $1::timestamp - interval 6 hour
    where p.is_listed
)
select
    '' as list,
    true as is_asked,
    (select count(*) from ripen.staged_partners) as listed,
    count(*) as before,
    count(*) filter (is_lost) as lost,
    count(*) filter (is_lost and is_known) as known,
    (select count(*) from ripen.staged_partners) as all_listed,
    before as all_before
from held
having lost > 0
