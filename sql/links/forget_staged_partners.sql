-- Forgets whatever partners are staged.
-- Returns nothing.
delete from ripen_internal.staged_partners
