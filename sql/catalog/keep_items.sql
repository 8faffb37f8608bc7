-- Keeps what filters-data listed before, to compare with; runs before `delete_items`.
-- Returns nothing.
create or replace temp table catalog_before as
select
    filter,
    id,
    name,
    short_name,
    section,
    formatting,
    description,
    attributes,
    seen_at
from ripen.catalog
