insert into documents
select filename, rows, totals::varchar, warnings::varchar, data_warnings::varchar, pagination::varchar
from read_json(['/spool/it''s here.json', '/spool/b.json.gz'], format = 'unstructured', records = true, auto_detect = false, filename = true,
        maximum_object_size = 16777216, columns = {rows: 'JSON[]', totals: 'JSON', warnings: 'JSON', data_warnings: 'JSON', pagination: 'JSON'})
