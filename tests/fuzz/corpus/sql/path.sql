/* a /* b */ c */ SELECT ALL SUM(ALL x.a) FROM 'some where/it''s.parquet' AS x -- why
;