-- Forgets the links that a killed run left staged, of whatever app.
-- Returns nothing.
delete from ripen.staged_links
