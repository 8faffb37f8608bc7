-- Stages, as they are stored, links of an app that are not staged, so that they stay: all of them, or those that are below the
-- level that was crawled and in a network that is staged.
-- $1 app token, $2 whether all, $3 max level
-- Returns nothing.
insert into ripen_internal.staged_links
from main.links
where
    app_token = $1
    and token not in (select token from ripen_internal.staged_links)
    and ($2 or (level > $3 and root_token in (select token from ripen_internal.staged_links)))
