-- Inserts the current row of every link of an app that is new or changed; runs after `delete_links`.
-- $1 app token
-- Returns nothing.
insert into main.links
from ripen_internal.staged_links
except
from main.links where app_token = $1
