-- Forgets the links that are staged.
-- Returns nothing.
delete from ripen.staged_links
