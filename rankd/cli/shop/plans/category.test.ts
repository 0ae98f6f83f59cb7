// category.test.ts: tests of the plan category: the order of products, and the price limit.
import { defineTests, Key } from "@rankd/plan";

export default defineTests("category", ({ store, test }) => {
  store.sortedSet("rank:tents", { "tent-2": 90, "tent-4": 120, tarp: 120, awning: 5 });
  store.hash("product:tent-2", { title: "Tent for two", price: 249, stock: 2 });
  store.hash("product:tent-4", { title: "Tent for four", price: 399, stock: 1 });
  store.hash("product:tarp", { title: "Tarp", price: 59, stock: 4 });
  store.hash("product:awning", { title: "Awning", price: 89, stock: 0 });

  test("the sales rank decides, and of equal ranks the bytes of the ids", ({ request, expect }) => {
    request({ context: { category: "tents" } });
    expect.ids(["tent-4", "tarp", "tent-2"]);
    expect.sorted(Key.interest, "desc");
  });

  test("a visitor may name the highest price", ({ request, expect }) => {
    request({ context: { category: "tents" }, param_overrides: { max_price: 250 } });
    expect.ids(["tarp", "tent-2"]);
  });

  test("a category that does not exist is empty", ({ request, expect }) => {
    request({ context: { category: "boats" } });
    expect.count(0);
  });
});
