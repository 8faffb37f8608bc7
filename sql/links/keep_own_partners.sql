-- Gives staged sub-links the partner that is stored as their own, where the lists of the app name none of any sub-link: they do
-- not say then which ones have one.
-- $1 app token
-- Returns nothing.
update ripen.staged_links as l
set partner_id = s.partner_id
from main.links as s
where
    l.app_token = $1
    and s.app_token = $1
    and s.token = l.token
    and s.partner_id is not null
    and l.parent_token is not null
    and s.parent_token is not null
    and not exists (
        select 1
        from ripen.staged_links as other
        where other.app_token = $1 and other.parent_token is not null and other.seen > 0 and other.partner_id is not null
    )
