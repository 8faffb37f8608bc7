-- How many stored partners are not staged: neither listed, nor carried by the rows looked at so far.
-- Returns one row: partners.
select count(*) as partners
from main.partners
where partner_id not in (select partner_id from ripen.staged_partners)
