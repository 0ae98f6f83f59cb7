import { coalesce, definePlan, EP, Key, P } from "@rankd/plan";

// [helpers]
const endpoint = EP.redis_default;

/** A formula with a hole: what a helper returns is an expression. */
const aged = (start: number, loss: number) =>
  start - Key.id * coalesce(P.media_age_penalty_weight, loss);

const near = Key.country == "US" || Key.country == "CA";
// [/helpers]

// [branches]
export default definePlan({
  name: "branches",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint, as: "viewer" });
    const followed = viewer
      .follow({ endpoint, fanout: 10, as: "followed" })
      .vm({ outKey: Key.final_score, expr: aged(100, 0.01) })
      .filter({ pred: near, as: "near" });
    const recommended = viewer
      .recommendation({ endpoint, fanout: 10, as: "recommended" })
      .vm({ outKey: Key.final_score, expr: aged(80, 0.02) });
    return followed
      .concat({ rhs: recommended, as: "all" })
      .sort({ by: Key.final_score, order: "desc" })
      .take({ count: 5, trace: "the five best" });
  },
});
// [/branches]
