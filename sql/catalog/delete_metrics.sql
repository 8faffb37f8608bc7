-- Deletes the metrics of the listing before; runs before `insert_metrics`.
-- Returns nothing.
delete from main.metrics
