import { coalesce, definePlan, E, EP, Key } from "@rankd/plan";

const endpoint = EP.redis_default;

// [diverse]
export default definePlan({
  name: "diverse",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint });
    const followed = viewer.follow({ endpoint, fanout: 50 });
    return followed
      .concat({
        rhs: viewer.recommendation({ endpoint, fanout: 50 }),
        outKey: Key.title,
        sources: ["followed", "recommended"],
      })
      .rankFusion({ by: Key.title, outKey: Key.model_score_1 })
      .aggregate({ of: "count", per: Key.country, outKey: Key.model_score_2 })
      .vm({
        outKey: Key.final_score,
        expr: coalesce(Key.model_score_1 / E.log1p(Key.model_score_2), 0),
      })
      .sort({ by: Key.final_score, order: "desc" })
      .diversify({
        strategy: "window",
        by: Key.country,
        atMost: 2,
        window: 5,
        as: "apart",
      })
      .diversify({
        strategy: "quota",
        by: Key.title,
        values: ["recommended"],
        everyNth: 3,
        first: 2,
        as: "slots",
      })
      .take({ count: 20 });
  },
});
// [/diverse]
