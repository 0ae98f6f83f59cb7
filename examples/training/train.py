"""train.py: fits a linear model to the rows that `rankd events join` wrote, and writes it as a model of rankd.

python3 train.py ROWS.csv MODEL.json   a logistic regression without any package; always gives the same model"""
import csv
import json
import math
import sys

FEATURES = ["rating", "log_sold", "over_budget", "likes"]
WHEN_NULL = {"rating": 3.0}


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [([float(row[name] or WHEN_NULL[name]) for name in FEATURES], int(row["label.bought"]))
                for row in csv.DictReader(file)]


def predict(weights, values):
    return 1 / (1 + math.exp(-weights[0] - sum(w * x for w, x in zip(weights[1:], values))))


def fit(rows, rounds=1500, rate=0.5):
    """Gradient descent on features of mean 0 and deviation 1; the weights are those of the features themselves."""
    columns = list(zip(*(values for values, _ in rows)))
    means = [sum(column) / len(rows) for column in columns]
    scales = [math.sqrt(sum((x - mean) ** 2 for x in column) / len(rows)) or 1.0
              for column, mean in zip(columns, means)]
    scaled = [([(x - m) / s for x, m, s in zip(values, means, scales)], label) for values, label in rows]
    weights = [0.0] * (1 + len(FEATURES))
    for _ in range(rounds):
        slope = [0.0] * len(weights)
        for values, label in scaled:
            error = predict(weights, values) - label
            for at, x in enumerate([1.0, *values]):
                slope[at] += error * x
        weights = [w - rate * s / len(rows) for w, s in zip(weights, slope)]
    own = [w / s for w, s in zip(weights[1:], scales)]
    return [weights[0] - sum(w * m for w, m in zip(own, means)), *own]


def main():
    rows = read(sys.argv[1])
    if not rows:
        sys.exit(f"{sys.argv[1]} has no rows: the windows of the labels are still open, or nothing was shown")
    weights = [round(each, 3) for each in fit(rows)]
    model = {"schema_version": 1, "kind": "linear", "sigmoid": True, "intercept": weights[0],
             "doc": "How likely a member buys a product of a page, fitted by train.py.",
             "weights": [{"key": name, "weight": weight, **({"when_null": WHEN_NULL[name]} if name in WHEN_NULL else {})}
                         for name, weight in zip(FEATURES, weights[1:])]}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(model, file, indent=2)
    bought = sum(label for _, label in rows)
    print(f"{len(rows)} rows, {bought} bought; over_budget counts {dict(zip(FEATURES, weights[1:]))['over_budget']}")


if __name__ == "__main__":
    main()
