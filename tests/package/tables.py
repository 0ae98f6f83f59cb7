# tests/package/tables.py: what docs/rankd.md says of CSV and Parquet. The tables of examples/shop become the records of its
# data, and each type, null, list and id of a harder table, read from CSV and from Parquet, is in the store as it was.
#
#   python3 tests/package/tables.py RANKD
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import python_tools
from checks import must
from python_tools import SOURCES

SHOP = SOURCES / "examples" / "shop"
HARD_CSV = """id,title,price,stock,sold
007,"Stove, ""big"" and
red",39.5,9223372036854775807,true
8,"",,-9223372036854775808,false
é9,,1e20,0,
"""
HARD_CSV_SQL = """COPY (
  SELECT 'product:' || id AS hash,
         json_merge_patch('{}', json_object('title', title, 'price', price, 'stock', stock, 'sold', sold)) AS fields
  FROM read_csv('hard.csv', all_varchar = true, allow_quoted_nulls = false)
) TO 'hard.ndjson' (FORMAT json)"""
HARD_CSV_RECORDS = {
    "product:007": {"title": 'Stove, "big" and\nred', "price": "39.5", "stock": "9223372036854775807", "sold": "true"},
    "product:8": {"title": "", "stock": "-9223372036854775808", "sold": "false"},
    "product:é9": {"price": "1e20", "stock": "0"},
}


def run(words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False)
    must(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def run_sql(text, folder):
    """Each statement, in a folder, as `duckdb < FILE` runs them."""
    import duckdb

    before = Path.cwd()
    os.chdir(folder)
    try:
        duckdb.connect().execute(text)
    finally:
        os.chdir(before)


def dumped(rankd, folder, files):
    """What a store has after a load of the files, by key."""
    run([rankd, "load", "--replace", *files], folder)
    return [json.loads(line) for line in run([rankd, "dump"], folder).splitlines()]


def check_shop(rankd, folder):
    shutil.copytree(SHOP, folder)
    tables = folder / "tables"
    run_sql((tables / "load.sql").read_text(encoding="utf-8"), tables)
    made = dumped(rankd, folder, sorted(tables.glob("*.ndjson")))
    must(made == dumped(rankd, folder, [folder / "data" / "shop.ndjson"]), "the tables of the shop are other data")


def page_sql():
    """The statement of the page that reads Parquet."""
    page = (SOURCES / "docs" / "rankd.md").read_text(encoding="utf-8")
    begin = page.index("COPY (\n  SELECT 'item:'")
    return page[begin:page.index("```", begin)]


def check_csv(rankd, folder):
    (folder / "hard.csv").write_text(HARD_CSV, encoding="utf-8")
    run_sql(HARD_CSV_SQL, folder)
    records = {each["hash"]: each["fields"] for each in dumped(rankd, folder, ["hard.ndjson"])}
    must(records == HARD_CSV_RECORDS, f"CSV: {records}")


def check_parquet(rankd, folder):
    import pyarrow
    import pyarrow.parquet

    columns = {
        "id": pyarrow.array(["007", "8"]),
        "title": pyarrow.array(['a "b"\n\té', None]),
        "price": pyarrow.array([1e-300, float("nan")]),
        "stock": pyarrow.array([2**63 - 1, None], pyarrow.int64()),
        "sold": pyarrow.array([True, False]),
        "added": pyarrow.array([1706922123000, None], pyarrow.timestamp("ms")),
        "embedding": pyarrow.array([[0.5, -0.25], None], pyarrow.list_(pyarrow.float32())),
        "follows": pyarrow.array([[3, 2**53 + 1], []], pyarrow.list_(pyarrow.int64())),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "items.parquet")
    run_sql(page_sql(), folder)
    records = {each["hash"]: each["fields"] for each in dumped(rankd, folder, ["items.ndjson"])}
    must(records == {
        "item:007": {"title": 'a "b"\n\té', "price": "1e-300", "stock": "9223372036854775807", "sold": "true",
                     "added": "1706922123000", "embedding": [0.5, -0.25]},
        "item:8": {"sold": "false"},
    }, f"Parquet: {records}")
    run_sql("""COPY (SELECT 'follow:' || id AS list, follows AS "values" FROM 'items.parquet') TO 'follows.ndjson' (FORMAT json)""", folder)
    lists = {each["list"]: each["values"] for each in dumped(rankd, folder, ["follows.ndjson"])}
    must(lists == {"follow:007": [3, 2**53 + 1], "follow:8": []}, f"lists: {lists}")


def main():
    python_tools.run_with("pyarrow", "duckdb")
    rankd = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="rankd_tables_") as scratch:
        check_shop(rankd, Path(scratch) / "shop")
        folder = Path(scratch) / "hard"
        shutil.copytree(SHOP, folder)
        keys = folder / "registry" / "keys.toml"
        keys.write_text(keys.read_text(encoding="utf-8") + '\n[[key]]\nkey_id = 50\nname = "embedding"\ntype = "vector"\ndimensions = 2\nnullable = true\n',
                        encoding="utf-8")
        check_csv(rankd, folder)
        check_parquet(rankd, folder)
    print("tables become the records that they are")


if __name__ == "__main__":
    main()
