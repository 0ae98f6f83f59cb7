import { definePlan, EP, Key } from "@rankd/plan";

const endpoint = EP.redis_default;

// [diverse]
export default definePlan({
  name: "diverse",
  build: (ctx) =>
    ctx
      .viewer({ endpoint })
      .follow({ endpoint, fanout: 50 })
      .sort({ by: Key.id, order: "desc" })
      .diversify({ strategy: "window", by: Key.country, atMost: 10, overflow: "drop", as: "ten_of_each" })
      .diversify({ strategy: "window", by: Key.country, atMost: 2, window: 5, as: "apart" })
      .diversify({ strategy: "quota", by: Key.country, values: ["CA"], everyNth: 4, first: 2, as: "slots" })
      .take({ count: 20 }),
});
// [/diverse]
