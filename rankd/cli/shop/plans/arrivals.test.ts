// arrivals.test.ts: tests of the plan arrivals: which products count as new.
import { defineTests, Key } from "@rankd/plan";

const now = 1_795_000_000;
const day = 86400;

export default defineTests("arrivals", ({ store, test }) => {
  const ages = { mug: 1, hat: 2, pot: 3, tarp: 4, tent: 200 };
  store.sortedSet("arrivals", Object.fromEntries(Object.entries(ages).map(([id, days]) => [id, now - days * day])));
  for (const [id, days] of Object.entries(ages))
    store.hash(`product:${id}`, {
      title: id,
      brand: id == "tarp" ? "Moss" : "Fell",
      price: 5,
      added: now - days * day,
    });

  test("the newest comes first, and two of a brand are followed by another", ({ request, expect }) => {
    request({ context: { now } });
    expect.ids(["mug", "hat", "tarp", "pot"]);
    expect.atMost(2, Key.brand, { window: 3 });
  });

  test("a product grows old", ({ request, expect }) => {
    request({ context: { now: now + 88 * day } });
    expect.ids(["mug"]);
  });
});
