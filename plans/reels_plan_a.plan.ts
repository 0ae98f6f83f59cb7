// reels_plan_a: whom the viewer follows, scored by id, the best few.
import { coalesce, definePlan, EP, Key, P } from "@rankd/plan";

export default definePlan({
  name: "reels_plan_a",
  build: (ctx) =>
    ctx
      .viewer({ endpoint: EP.redis_default })
      .follow({ endpoint: EP.redis_default, fanout: 10 })
      .vm({ as: "score", outKey: Key.final_score, expr: Key.id * coalesce(P.media_age_penalty_weight, 0.2) })
      .filter({ as: "cutoff", pred: Key.final_score >= 0.6 })
      .vm({ as: "final", outKey: Key.final_score, expr: Key.final_score })
      .take({ count: 5 }),
});
