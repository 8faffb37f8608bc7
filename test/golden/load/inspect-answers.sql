select
    filename,
    len(rows) as row_count,
    to_json(list_distinct(list_transform(rows, lambda r: json_keys(r))))::varchar as key_sets,
    totals::varchar as totals,
    warnings::varchar as warnings,
    data_warnings::varchar as data_warnings,
    pagination::varchar as pagination
from read_json(['/spool/it''s here.json', '/spool/b.json.gz'], format = 'unstructured', records = true, auto_detect = false, filename = true,
        maximum_object_size = 16777216, columns = {rows: 'JSON[]', totals: 'JSON', warnings: 'JSON', data_warnings: 'JSON', pagination: 'JSON'})
