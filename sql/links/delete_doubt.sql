-- Deletes the doubt about a list: the list is now believed, or the doubt is recorded again.
-- $1 subject
-- Returns nothing.
delete from ripen_internal.doubted_lists
where subject = $1
