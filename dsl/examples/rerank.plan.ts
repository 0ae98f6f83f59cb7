// [plan]
import { definePlan, Key } from "@rankd/plan";

export default definePlan({
  name: "rerank",
  build: (ctx) =>
    ctx
      .candidates({ keys: [Key.model_score_1, Key.country] })
      .vm({ outKey: Key.final_score, expr: Key.model_score_1 * 2 })
      .filter({ pred: Key.country != null })
      .sort({ by: Key.final_score, order: "desc" })
      .take({ count: 3 }),
});
// [/plan]
