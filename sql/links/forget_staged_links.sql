-- Forgets the links that are staged.
-- Returns nothing.
delete from ripen_internal.staged_links
