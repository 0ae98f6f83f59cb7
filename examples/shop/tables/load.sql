-- Writes the tables of a shop as lines for `rankd load`: duckdb < load.sql
COPY (
  SELECT 'product:' || id AS hash,
         json_merge_patch('{}', json_object('title', title, 'price', price, 'stock', stock)) AS fields
  FROM read_csv('products.csv', all_varchar = true, allow_quoted_nulls = false) ORDER BY id
) TO 'products.ndjson' (FORMAT json);

COPY (
  SELECT 'trending:' || country AS sorted_set, json_group_object(id, score::DOUBLE) AS scores
  FROM read_csv('trending.csv', all_varchar = true) GROUP BY country ORDER BY country
) TO 'trending.ndjson' (FORMAT json);

COPY (
  SELECT 'similar:' || id AS sorted_set, json_group_object(other, score::DOUBLE) AS scores
  FROM read_csv('similar.csv', all_varchar = true) GROUP BY id ORDER BY id
) TO 'similar.ndjson' (FORMAT json);

COPY (
  SELECT 'bought:' || customer AS "set", list(id::BIGINT ORDER BY id::BIGINT) AS members
  FROM read_csv('orders.csv', all_varchar = true) GROUP BY customer ORDER BY customer
) TO 'bought.ndjson' (FORMAT json);
