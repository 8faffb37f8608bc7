insert into "ripen documents"
select filename, rows, totals::varchar, warnings::varchar, data_warnings::varchar, pagination::varchar, error::varchar, errors::varchar, error_code::varchar, detail::varchar, immature_cohorts::varchar, debug::varchar
from read_json(['/spool/it''s here.json', '/spool/b.json.gz'], format = 'unstructured', records = true, auto_detect = false, filename = 'filename',
        maximum_object_size = 16777216, columns = {rows: 'JSON[]', totals: 'JSON', warnings: 'JSON', data_warnings: 'JSON', pagination: 'JSON', error: 'JSON', errors: 'JSON', error_code: 'JSON', detail: 'JSON', immature_cohorts: 'JSON', debug: 'JSON'})
