// again.test.ts: tests of the plan again: which products members need again.
import { defineTests } from "@rankd/plan";

export default defineTests("again", ({ store, test }) => {
  store.set("bought:ana", ["tent", "gas-230", "bar-oat", "batteries-aaa", "gas-10"]);
  store.hash("product:tent", { title: "Tent", category: "tents", price: 200, stock: 1 });
  store.hash("product:gas-230", { title: "Gas", category: "cooking", price: 6, stock: 1 });
  store.hash("product:gas-10", { title: "A little gas", category: "cooking", price: 1, stock: 1 });
  store.hash("product:bar-oat", { title: "Bar", category: "food", price: 2, stock: 1 });
  store.hash("product:batteries-aaa", { title: "Batteries", category: "lights", price: 7, stock: 0 });

  test("only what is used up, by the bytes of the ids", ({ request, expect }) => {
    request({ context: { member: "ana" } });
    expect.ids(["bar-oat", "gas-10", "gas-230"]);
    expect.excludes(["tent", "batteries-aaa"]);
  });
});
