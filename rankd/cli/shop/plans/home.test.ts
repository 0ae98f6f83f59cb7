// home.test.ts: tests of the plan home on a shop of six products. `dslc test` compiles and runs them.
import { defineTests, EP, Key } from "@rankd/plan";

export default defineTests("home", ({ store, test }) => {
  for (const [id, category, price, stock] of [
    ["tent", "tents", 200, 3],
    ["tarp", "tents", 60, 3],
    ["awning", "tents", 90, 3],
    ["stove", "cooking", 40, 0],
    ["mug", "cooking", 12, 9],
    ["hat", "clothing", 22, 9],
  ] as const)
    store.hash(`product:${id}`, { title: id, category, price, stock });
  store.sortedSet("trending:FR", { tent: 9, tarp: 8, awning: 7, stove: 7.5, mug: 2 });
  store.sortedSet("similar:stove", { mug: 9, hat: 4 });
  store.set("bought:zo%C3%AB", ["stove", "tarp"]); // the key of the member zoë: see "Keys of your own"

  test("a visitor sees what is trending, without what is sold out", ({ request, expect }) => {
    request({ context: { country: "FR" } });
    expect.ids(["tarp", "awning", "mug", "tent"]);
    expect.every(Key.stock > 0 && Key.source == "trending");
  });

  test("a member sees what goes with earlier purchases, and none of these again", ({ request, expect }) => {
    request({ context: { country: "FR", member: "zoë" } });
    expect.ids(["mug", "awning", "tent", "hat"]);
    expect.excludes(["stove", "tarp"]);
  });

  test("a cheaper product comes first where the price counts more", ({ request, expect }) => {
    request({ context: { country: "FR" }, param_overrides: { price_weight: 1, page_size: 2 } });
    expect.ids(["mug", "tarp"]);
  });

  test("of four products in a row no more than two have one category", ({ request, expect }) => {
    request({ context: { country: "FR" } });
    expect.atMost(2, Key.category, { window: 3 });
  });

  test("without a store there is no page", ({ request, fault, expect }) => {
    fault(EP.shop, "store_unreachable", { keys: "trending:" });
    request({ context: { country: "FR" } });
    expect.error("store_unreachable", { node: "trending" });
  });
});
