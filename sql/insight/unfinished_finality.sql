-- Whether there are audits that are not recorded yet, and final totals that ever changed: on most nights neither, and looking
-- closer takes ten times as long.
-- Returns one row: audited, changed.
select
    exists (
        select 1
        from ripen.loads as l
        where list_contains(l.reasons, 'audit') and l.load_id not in (select load_id from ripen.audits)
    ) as audited,
    exists (select 1 from ripen.restatements as r where r.after_final) as changed
