-- Drops the weekday that was learned from the service's labels: the setting week_starts_on replaces it.
alter table ripen.slice_tables drop column week_starts_on;
