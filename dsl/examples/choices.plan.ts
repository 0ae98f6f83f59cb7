// [choices]
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.redis_default;

export default definePlan({
  name: "choices",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint, as: "viewer" });
    const found = ctx.switch(
      P.surface,
      {
        feed: () => viewer.follow({ endpoint, fanout: 20 }),
        reels: () => viewer.recommendation({ endpoint, fanout: 20 }),
      },
      () => viewer,
    );
    return ctx
      .choose(
        P.new_model,
        () =>
          found.callModels({ models: ["clicks"], outKeys: [Key.final_score] }),
        () => found.vm({ outKey: Key.final_score, expr: 1000 - Key.id * 0.5 }),
        { as: "ranked" },
      )
      .sort({ by: Key.final_score, order: "desc" })
      .take({ count: 5 });
  },
});
// [/choices]
