-- Forgets what lists of a subject lacked that were not believed: they are now.
-- $1 subject
-- Returns nothing.
delete from ripen.unlisted_items
where subject = $1
