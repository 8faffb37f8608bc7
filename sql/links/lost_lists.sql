-- The lists of an app, of its networks or of a link's sub-links, that lack stored links which are staged nowhere. Of a
-- link that says it has none, sub-links are not listed.
-- $1 app token, $2 max level
-- Returns one row per list: listed, before (links stored of it), lost (of these, not staged).
with come as (
    select
        token,
        parent_token,
        has_subtrackers
    from ripen.staged_tree
    where app_token = $1
),
lists as (
    select
        parent_token,
        count(*) as before,
        count(*) filter (token not in (select token from come)) as lost
    from main.links
    where
        app_token = $1
        and level <= $2
        and (parent_token is null or parent_token in (select token from come where has_subtrackers))
    group by parent_token
)
select
    (select count(*) from come where come.parent_token is not distinct from lists.parent_token) as listed,
    lists.before,
    lists.lost
from lists
where lists.lost > 0
