select count(*) as rows from typed where "_odd"
