-- The apps whose rows, loaded in a run, named a link that is not stored.
-- $1 as-of instant of the run
-- Returns app_token.
select distinct app_token
from ripen_internal.unlisted_links
where seen_at = $1::timestamp
