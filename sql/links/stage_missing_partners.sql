-- Stages the stored partners that are not staged: as they are stored, or as not listed.
-- $1 whether listed ones stay listed
-- Returns nothing.
insert into ripen_internal.staged_partners
select
    partner_id,
    display_name,
    case when $1 then supports_cost_data end as supports_cost_data,
    is_listed and $1 as is_listed
from main.partners
where partner_id not in (select partner_id from ripen_internal.staged_partners)
