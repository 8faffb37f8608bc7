-- Deletes what filters-data listed before; runs before `insert_items`.
-- Returns nothing.
delete from ripen.catalog
