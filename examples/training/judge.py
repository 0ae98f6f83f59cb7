"""judge.py: turns rows of training data into judgements, so that `rankd eval` can tell which of two plans is better.

python3 judge.py ROWS.csv EXPOSURES DAY > JUDGEMENTS   a visit of that day is judged if it ended with a purchase"""
import csv
import glob
import json
import sys


def main():
    bought = {}
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["label.bought"] == "1" and row["request_id"].startswith(sys.argv[3]):
                bought.setdefault(row["request_id"], {})[row["id"]] = 1
    for path in sorted(glob.glob(sys.argv[2] + "/*.ndjson")):
        with open(path, encoding="utf-8") as file:
            for line in map(json.loads, file):
                if line["request_id"] in bought:
                    request = {"user_id": line["user_id"], **line["request"]}
                    print(json.dumps({"request": request, "relevance": bought[line["request_id"]]}))


if __name__ == "__main__":
    main()
