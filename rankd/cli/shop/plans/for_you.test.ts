// for_you.test.ts: tests of the plan for_you: which inputs the model gets.
import { defineTests, Key } from "@rankd/plan";

export default defineTests("for_you", ({ store, test }) => {
  store.hash("user:fatou%40club", { country: "DE", budget: 50, favourite: "shoes" });
  store.sortedSet("trending:DE", { tent: 9, boots: 5, socks: 1 });
  for (const [id, category, price] of [
    ["tent", "tents", 150],
    ["boots", "shoes", 150],
    ["socks", "shoes", 15],
  ] as const)
    store.hash(`product:${id}`, { title: id, category, price, rating: 4, sold: 10 });

  test("what fits taste and budget comes first", ({ request, expect }) => {
    request({ user_id: "fatou@club" });
    expect.ids(["socks", "boots", "tent"]);
    expect.every(Key.likes == 1 || Key.category != "shoes");
  });

  test("of a member of whom nothing is known, the price decides", ({ request, expect }) => {
    request({ user_id: "nobody" });
    expect.firstIds(["socks"]);
    expect.every(Key.likes == 0);
  });

  test("the page is for somebody", ({ request, expect }) => {
    request({});
    expect.error("missing_field");
  });
});
