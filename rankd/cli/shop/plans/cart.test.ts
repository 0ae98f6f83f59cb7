// cart.test.ts: tests of the plan cart: which products are offered for a cart.
import { defineTests, Key } from "@rankd/plan";

export default defineTests("cart", ({ store, test }) => {
  store.list("cart:ana", ["stove", "pot", "stove"]);
  store.sortedSet("similar:stove", { gas: 6, pot: 9, mug: 4 });
  store.sortedSet("similar:pot", { mug: 5, stove: 8 });
  for (const id of ["gas", "pot", "mug", "stove"]) store.hash(`product:${id}`, { title: id, price: 5, stock: 1 });

  test("what goes with several products comes first, and nothing of the cart", ({ request, expect }) => {
    request({ context: { member: "ana" } });
    expect.ids(["mug", "gas"]);
    expect.every(Key.score >= 6);
  });

  test("a visitor has no cart", ({ request, expect }) => {
    request({});
    expect.count(0);
  });
});
