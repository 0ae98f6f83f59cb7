// [captures]
import { definePlan, EP, Key } from "@rankd/plan";

export default definePlan({
  name: "captures",
  build: (ctx) =>
    ctx
      .viewer({ endpoint: EP.redis_default })
      .follow({ endpoint: EP.redis_default, fanout: 100 })
      .vm({ outKey: Key.final_score, expr: 1000 - Key.id * 0.5 })
      .filter({
        pred: Key.final_score > 990,
        capture: {
          sample: 0.01,
          keys: [Key.final_score, Key.country],
          maxRows: 200,
          side: "both",
        },
      })
      .sort({ by: Key.final_score, order: "desc" })
      .take({ count: 10 }),
});
// [/captures]
