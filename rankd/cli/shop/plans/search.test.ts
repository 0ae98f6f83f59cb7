// search.test.ts: tests of the plan search: the order of the hits.
import { defineTests, Key } from "@rankd/plan";

export default defineTests("search", ({ store, test }) => {
  store.hash("product:A%2F7", { title: "Red mug", price: 9, stock: 4, sold: 3 });
  store.hash("product:007", { title: "Blue mug", price: 9, stock: 0, sold: 900 });
  store.hash("product:7", { title: "Mug", price: 9, stock: 1, sold: 1 });

  test("hits that are sold out stand last, and 007 is not 7", ({ request, expect }) => {
    request({ candidates: { id: ["007", "7", "A/7"], relevance: [0.9, 0.8, 0.8] } });
    expect.ids(["A/7", "7", "007"]);
    expect.sorted(Key.score, "desc");
  });

  test("hits that the shop does not know are left out", ({ request, expect }) => {
    request({ candidates: { id: ["7", "no such product"], relevance: [0.1, 0.9] } });
    expect.ids(["7"]);
  });
});
