-- Forgets by how much the lists of a subject were shorter than they said, to be recorded anew; but for those that were not asked for,
-- as they lie below the level that was crawled.
-- $1 subject, $2 max level
-- Returns nothing.
delete from ripen.short_lists
where
    subject = $1
    and (list = '' or list not in (select token from main.links where app_token = $1 and level >= $2 and has_subtrackers))
