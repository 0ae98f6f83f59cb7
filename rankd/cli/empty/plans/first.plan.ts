// first: ranks the candidates of the request by their score, the best first.
import { definePlan, Key, P } from "@rankd/plan";

export default definePlan({
  name: "first",
  build: (ctx) =>
    ctx
      .candidates({ keys: [Key.score] })
      .filter({ pred: Key.score >= (P.min_score ?? 0) })
      .sort({ by: Key.score, order: "desc" })
      .take({ count: 10 }),
});
