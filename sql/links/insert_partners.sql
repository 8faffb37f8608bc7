-- Inserts the current row of every partner that is new or changed; runs after `delete_partners`.
-- Returns nothing.
insert into main.partners
from ripen_internal.staged_partners
except
from main.partners
