-- Stages, as not listed, the stored partners that the list lacks; whether rows still carry them is judged once the run's
-- rows are loaded.
-- Returns nothing.
insert into ripen.staged_partners
select
    p.partner_id,
    p.display_name,
    null as supports_cost_data,
    false as is_listed
from main.partners as p
where p.partner_id not in (select partner_id from ripen.staged_partners)
