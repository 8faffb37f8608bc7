-- Stages the listed partners as they are stored, for a refresh that does not ask for the list again.
-- Returns nothing.
insert into ripen.staged_partners
from main.partners where is_listed
