// [plan]
import { definePlan, EP, Key } from "@rankd/plan";

export default definePlan({
  name: "first",
  build: (ctx) =>
    ctx
      .viewer({ endpoint: EP.redis_default })
      .follow({ endpoint: EP.redis_default, fanout: 20 })
      .vm({ outKey: Key.final_score, expr: 1000 - Key.id * 0.5 })
      .filter({
        pred: Key.final_score > 990 && Key.country in ["US", "CA", "MX"],
      })
      .sort({ by: Key.final_score, order: "desc" })
      .take({ count: 3 }),
});
// [/plan]
