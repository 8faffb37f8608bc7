-- Forgets whatever partners are staged.
-- Returns nothing.
delete from ripen.staged_partners
