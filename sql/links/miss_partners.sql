-- Records which stored partners the staged list lacks, and since when, in place of what was recorded before.
-- $1 as-of instant
-- Returns nothing.
merge into ripen.unlisted_items as u
using (
    select
        partner_id as item,
        not exists (select 1 from ripen.staged_partners) as list_is_empty
    from main.partners
    where is_listed and partner_id not in (select partner_id from ripen.staged_partners)
) as lost
on u.subject = 'partners' and u.item = lost.item
when matched then update set
    list_was_empty = lost.list_is_empty,
    seen_at = case
        when u.list_was_empty and not lost.list_is_empty then $1::timestamp
        else least(u.seen_at, $1::timestamp)
    end
when not matched then insert values ('partners', lost.item, lost.list_is_empty, $1::timestamp)
when not matched by source and u.subject = 'partners' then delete
