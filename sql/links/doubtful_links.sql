-- The lists of an app that lack stored links, which are staged nowhere. Of a link that says it has none, or is not listed itself,
-- sub-links are not asked for.
-- $1 app token, $2 max level, $3 as-of instant, $4 subject
-- Returns one row per list: list (token of the link above; empty for the networks), is_asked, listed, before (links stored of
-- it), lost (of these, not staged), known (of these, missed on an earlier night), all_listed, all_before (of all lists).
with come as (
    select
        token,
        coalesce(parent_token, '') as list,
        has_subtrackers
    from ripen.staged_tree
    where app_token = $1 and level <= $2
),
named as (
    select
        list,
        count(*) as listed
    from come
    group by list
),
held as (
    select
        coalesce(l.parent_token, '') as list,
        l.token not in (select token from ripen.staged_tree where app_token = $1) as is_lost,
        u.seen_at is not null as is_known
    from main.links as l
    left join named as n on n.list = coalesce(l.parent_token, '')
    left join ripen.unlisted_items as u on
        u.subject = $4
        and u.item = l.token
        and u.seen_at <= $3::timestamp - interval 6 hour
        and (n.list is null or not u.list_was_empty)
    where l.app_token = $1 and l.level <= $2
)
select
    list,
    list = '' or list in (select token from come where has_subtrackers) as is_asked,
    coalesce((select n.listed from named as n where n.list = held.list), 0) as listed,
    count(*) as before,
    count(*) filter (is_lost) as lost,
    count(*) filter (is_lost and is_known) as known,
    (select count(*) from come) as all_listed,
    sum(count(*)) over () as all_before
from held
group by list
qualify lost > 0
