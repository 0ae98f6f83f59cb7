// [plan]
import { definePlan, EP, Key } from "@rankd/plan";

export default definePlan({
  name: "named",
  build: (ctx) => {
    const endpoint = EP.redis_default;
    const known = ctx.list({
      endpoint,
      key: "follow:1",
      count: 2,
      as: "known",
    });
    return ctx
      .viewer({ endpoint })
      .list({ endpoint, key: "follow:{id}", count: 20 })
      .join({ rhs: known, how: "anti" })
      .hash({ endpoint, key: "user:{id}", keys: [Key.title, Key.country] })
      .filter({ pred: Key.country != null })
      .take({ count: 3 });
  },
});
// [/plan]
