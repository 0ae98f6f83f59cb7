// similar.test.ts: tests of the plan similar: which products are shown below a product.
import { defineTests, Key } from "@rankd/plan";

export default defineTests("similar", ({ store, test }) => {
  store.sortedSet("similar:stove", { gas: 9, pot: 5, mug: 7 });
  for (const [id, stock] of Object.entries({ gas: 3, pot: 1, mug: 0 }))
    store.hash(`product:${id}`, { title: id, price: 5, stock });

  test("the nearest comes first, without what is sold out", ({ request, expect }) => {
    request({ context: { product: "stove" } });
    expect.ids(["gas", "pot"]);
    expect.sorted(Key.interest, "desc");
  });

  test("without a product there is nothing", ({ request, expect }) => {
    request({});
    expect.count(0);
  });
});
