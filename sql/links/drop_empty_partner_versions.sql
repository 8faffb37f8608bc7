-- Drops versions that were replaced at the very instant they began, as no instant lies inside them.
-- Returns nothing.
delete from main.partners_history
where valid_to <= valid_from
