// [page]
import { definePlan, EP, Key, P } from "@rankd/plan";

export default definePlan({
  name: "page",
  build: (ctx) =>
    ctx
      .viewer({ endpoint: EP.redis_default })
      .follow({
        endpoint: EP.redis_default,
        fanout: P.page_size.within(1, 1000),
      })
      .sort({ by: Key.id, order: "desc" })
      .take({ count: P.page_size.within(1, 500) }),
});
// [/page]
