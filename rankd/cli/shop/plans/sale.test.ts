// sale.test.ts: tests of the plan sale: which prices count as a saving.
import { defineTests, Key } from "@rankd/plan";

export default defineTests("sale", ({ store, test }) => {
  store.set("sale", ["mug", "hat", "pot", "tent"]);
  for (const [id, price, reduced] of [
    ["mug", 10, 9],
    ["hat", 20, 10],
    ["pot", 30, 30],
  ] as const) {
    store.hash(`product:${id}`, { title: id, price, stock: 1 });
    store.string(`sale_price:${id}`, reduced);
  }
  store.hash("product:tent", { title: "tent", price: 200, stock: 1 });

  test("the largest saving comes first, and what is not cheaper is left out", ({ request, expect }) => {
    request({});
    expect.ids(["hat", "mug"]);
    expect.every(Key.score > 0 && Key.score <= 0.5);
  });
});
