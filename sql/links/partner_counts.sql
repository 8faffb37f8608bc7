-- What replacing the partners by the staged list amounts to.
-- Returns one row: before (partners stored as listed), lost (of these, not staged).
select
    count(*) as before,
    count(*) filter (where partner_id not in (select partner_id from ripen.staged_partners)) as lost
from main.partners
where is_listed
