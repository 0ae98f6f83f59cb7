// recent.test.ts: tests of the plan recent: which viewed products are shown.
import { defineTests } from "@rankd/plan";

export default defineTests("recent", ({ store, test }) => {
  store.list("viewed:ana", ["mug", "tent", "mug", "hat"]);
  store.set("bought:ana", ["tent"]);

  test("each product once, in the order of the list, without what was bought", ({ request, expect }) => {
    request({ context: { member: "ana" } });
    expect.ids(["mug", "hat"]);
  });
});
