"""visitors.py: made-up members of the shop, who look at a page and buy something.

python3 visitors.py URL DAY   each member visits the page `for_you` five times; the same DAY repeats the same visits"""
import json
import math
import random
import sys
import urllib.request

MEMBERS = ["ana", "ben", "carla", "dmitri", "emre", "zoë", "li.wei", "fatou@club"]
COUNTRIES = ["DE", "FR", "US"]


def post(path, body):
    request = urllib.request.Request(sys.argv[1] + path, json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def chance(row):
    """How likely a member buys a product. Members care about price more, and about sales less, than the model says."""
    wish = 1.2 * row.get("rating", 3) + 1.5 * row["likes"] - 2.5 * row["over_budget"] - 6.5
    return 1 / (1 + math.exp(-wish))


def visit(name, member, country, dice):
    request = {"request_id": name, "plan": "for_you", "user_id": member, "context": {"country": country},
               "param_overrides": {"page_size": 20}}
    events = []
    for place, row in enumerate(post("/v1/rank", request)["candidates"]):
        for kind, limit in (("view", 0.3), ("purchase", chance(row["fields"]))):
            if dice.random() < limit:
                events.append({"event_id": f"{name}-{place}-{kind}", "type": kind, "user_id": member,
                               "item_id": row["id"], "request_id": name})
    if events:
        post("/v1/events", {"events": events})
    return len(events)


def main():
    day = sys.argv[2]
    dice = random.Random(day)
    sent = sum(visit(f"{day}-{round}-{number}", member, dice.choice(COUNTRIES), dice)
               for round in range(5) for number, member in enumerate(MEMBERS))
    print(f"{day}: 40 visits, {'some' if sent else 'no'} events")


if __name__ == "__main__":
    main()
