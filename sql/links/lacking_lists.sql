-- The lists of an app that should hold stored links which are staged nowhere: those of the networks, and of the sub-links of links
-- that are staged and say that they have some.
-- $1 app token, $2 max level
-- Returns parent_token (NULL for the networks), level (of the links it lists).
select distinct
    l.parent_token,
    l.level
from main.links as l
where
    l.app_token = $1
    and l.level <= $2
    and l.token not in (select token from ripen.staged_links where app_token = $1)
    and (
        l.parent_token is null
        or l.parent_token in (select token from ripen.staged_links where app_token = $1 and has_subtrackers)
    )
