import { definePlan, Key } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** Five good films, others for each day. */
export default definePlan({
  name: "surprise",
  build: (ctx) =>
    bestFirst(ctx)
      .filter({ pred: Key.score > 7 })
      .sample({ count: 5, seed: "{P.day}" }),
});
