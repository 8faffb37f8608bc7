-- The newest change to any partner.
-- Returns one row: changed_at, NULL before the first refresh.
select max(greatest(valid_from, valid_to)) as changed_at
from main.partners_history
