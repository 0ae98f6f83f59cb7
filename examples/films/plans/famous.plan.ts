import { definePlan, Key } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** Films that are far in front both by their rating and by how many have voted. */
export default definePlan({
  name: "famous",
  build: (ctx) => {
    const rated = bestFirst(ctx).take({ count: 500 });
    const seen = bestFirst(ctx).sort({ by: Key.votes, order: "desc" }).take({ count: 500 });
    return rated
      .concat({ rhs: seen, outKey: Key.asked, sources: ["rating", "votes"] })
      .rankFusion({ by: Key.asked, outKey: Key.both })
      .sort({ by: Key.both, order: "desc" })
      .take({ count: 10 });
  },
});
