import { definePlan, EP, Key } from "@rankd/plan";

// [fallbacks]
const endpoint = EP.redis_default;

export default definePlan({
  name: "fallbacks",
  fallbackPlan: { plan: "first", on: ["deadline_exceeded"], reserveMs: 15 },
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint });
    const recommended = viewer
      .recommendation({ endpoint, fanout: 100, timeoutMs: 40, retries: 1 })
      .orElse({ on: ["store_*", "node_timeout"], use: "empty" })
      .atLeast({ count: 10 })
      .orElse({
        on: ["too_few_rows"],
        use: viewer.follow({ endpoint, fanout: 50, as: "followed" }),
      });
    return recommended
      .fetchFeatures({ endpoint, keys: [Key.title], hash: "user", hedgeMs: 8 })
      .orElse({ on: ["store_*"], use: "input", nulls: [Key.title] })
      .take({ count: 20 });
  },
});
// [/fallbacks]
