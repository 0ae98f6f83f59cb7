import { definePlan, EP, Key } from "@rankd/plan";

const endpoint = EP.redis_default;

// [matches]
export default definePlan({
  name: "matches",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint });
    const followed = viewer.follow({ endpoint, fanout: 20 }).dedupe();
    const fresh = viewer
      .recommendation({ endpoint, fanout: 20 })
      .dedupe({ as: "each_once" })
      .join({ rhs: followed, how: "anti", as: "not_followed" });
    const newest = fresh
      .sort({ by: Key.id, order: "desc" })
      .take({ count: 3 })
      .vm({ outKey: Key.model_score_1, expr: Key.id * 0.001 });
    return fresh
      .join({
        rhs: newest,
        how: "left",
        select: [Key.model_score_1],
        map: [Key.final_score],
        onMissing: "default",
      })
      .sort({ by: Key.final_score, order: "desc" });
  },
});
// [/matches]
