-- Stages the partners of the list.
-- $1 the partners as a JSON list
-- Returns nothing.
insert into ripen_internal.staged_partners
select
    p.partner_id,
    p.display_name,
    p.supports_cost_data,
    true as is_listed
from (
    select
        unnest(
            from_json($1::json, '[{"partner_id":"VARCHAR","display_name":"VARCHAR","supports_cost_data":"BOOLEAN"}]'),
            recursive := true
        )
) as p
