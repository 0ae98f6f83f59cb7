// home_feed: accounts from North America that the viewer follows, then recommended accounts, the best first.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.redis_default;

/** The later an id was given, the lower its score. */
const score = (start: number) => start - Key.id * (P.media_age_penalty_weight ?? 0.01);

export default definePlan({
  name: "home_feed",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint });
    const nearby = viewer
      .follow({ endpoint, fanout: 200 })
      .vm({ as: "score_follow", outKey: Key.final_score, expr: score(100) })
      .filter({ as: "nearby", pred: Key.country in ["US", "CA", "MX"] });
    const recommended = viewer
      .recommendation({ as: "recommended", endpoint, fanout: 100 })
      .vm({ as: "score_recommended", outKey: Key.final_score, expr: score(80) });
    return nearby
      .concat({ as: "all", rhs: recommended })
      .sort({ as: "best_first", by: Key.final_score, order: "desc" })
      .take({ as: "top", count: 20 });
  },
});
