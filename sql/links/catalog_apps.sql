-- The apps the catalog lists.
-- Returns app_token.
select distinct id as app_token
from ripen.catalog
where filter = 'apps'
order by id
