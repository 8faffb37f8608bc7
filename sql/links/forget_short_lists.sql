-- Forgets by how much the lists of a subject were shorter than they said, to be recorded anew.
-- $1 subject
-- Returns nothing.
delete from ripen.short_lists
where subject = $1
