-- Records which stored links the staged ones of an app lack, and since when, in place of what was recorded before.
-- $1 app token, $2 max level, $3 as-of instant, $4 subject
-- Returns nothing.
merge into ripen.unlisted_items as u
using (
    select
        token as item,
        not exists (
            select 1
            from ripen.staged_tree as t
            where t.app_token = $1 and t.parent_token is not distinct from l.parent_token
        ) as list_is_empty
    from main.links as l
    where
        l.app_token = $1
        and l.level <= $2
        and l.token not in (select token from ripen.staged_tree where app_token = $1)
) as lost
on u.subject = $4 and u.item = lost.item
when matched then update set
    list_was_empty = lost.list_is_empty,
    seen_at = case
        when u.list_was_empty and not lost.list_is_empty then $3::timestamp
        else least(u.seen_at, $3::timestamp)
    end
when not matched then insert values ($4, lost.item, lost.list_is_empty, $3::timestamp)
when not matched by source and u.subject = $4 then delete
