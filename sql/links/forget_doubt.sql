-- Forgets the doubt about a list: what it holds now is believed, or is recorded anew.
-- $1 subject
-- Returns nothing.
delete from ripen_internal.doubted_lists
where subject = $1
