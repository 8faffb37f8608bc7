select
    filename,
    len(rows) as row_count,
    to_json(list_distinct(list_transform(rows, lambda r: json_keys(r))))::varchar as key_sets,
    totals,
    warnings,
    data_warnings,
    pagination,
    error,
    errors,
    error_code,
    detail,
    immature_cohorts,
    debug
from "ripen documents"
