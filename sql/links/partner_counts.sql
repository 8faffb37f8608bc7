-- How the staged partners compare with the stored ones.
-- Returns one row: open (partners stored as listed), missing (of these, not staged).
select
    count(*) as open,
    count(*) filter (partner_id not in (select partner_id from ripen_internal.staged_partners)) as missing
from main.partners
where is_listed
