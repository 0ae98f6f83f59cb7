// recent.test.ts: tests of the plan recent: which viewed products are shown.
import { defineTests } from "@rankd/plan";

export default defineTests("recent", ({ store, test }) => {
  store.list("viewed:ana", ["mug", "tent", "mug", "hat"]);
  store.set("bought:ana", ["tent"]);
  store.list("viewed:ben", ["mug"]);
  store.sortedSet("trending:FR", { spork: 1, stove: 2 });

  test("each product once, in the order of the list, without what was bought", ({ request, expect }) => {
    request({ context: { member: "ana" } });
    expect.ids(["mug", "hat"]);
    expect.degraded([]);
  });

  test("what is trending, if the member has seen too little", ({ request, expect }) => {
    request({ context: { member: "ben", country: "FR" } });
    expect.ids(["stove", "spork"]);
    expect.degraded(["enough"]);
  });
});
