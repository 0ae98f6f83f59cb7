// [near]
import { arg, defineFragment, EP, Key } from "@rankd/plan";

export default defineFragment({
  name: "near",
  version: "2.1.0",
  args: {
    from: arg.set(),
    fanout: arg.int({ min: 1, max: 500, default: 100 }),
    score: arg.expr(),
  },
  build: (ctx, { from, fanout, score }) =>
    from
      .follow({ endpoint: EP.redis_default, fanout })
      .vm({ outKey: Key.final_score, expr: score, as: "scored" })
      .sort({ by: Key.final_score, order: "desc" }),
});
// [/near]
