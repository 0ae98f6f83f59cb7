// [caches]
import { definePlan, EP, Key, P } from "@rankd/plan";

export default definePlan({
  name: "caches",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint: EP.redis_default });
    // By user and page size: half a minute old at most, or a minute more while
    // they are read again.
    const near = viewer.follow({
      endpoint: EP.redis_default,
      fanout: P.page_size.within(1, 200),
      cache: { ttlMs: 30_000, staleMs: 60_000, by: ["user", P.page_size] },
    });
    return near
      .vm({ outKey: Key.final_score, expr: 1000 - Key.id * 0.5 })
      .sort({ by: Key.final_score, order: "desc" })
      .take({ count: 10 });
  },
});
// [/caches]
