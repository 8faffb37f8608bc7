-- The apps whose rows named, in a run, a link that was not known.
-- $1 as-of instant of the run
-- Returns app_token.
select distinct app_token
from ripen_internal.unlisted_links
where seen_at = $1::timestamp
