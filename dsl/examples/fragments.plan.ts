// [fragments]
import { definePlan, EP, Key } from "@rankd/plan";
import near from "./fragments/near/2.fragment.js";

export default definePlan({
  name: "fragments",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint: EP.redis_default });
    const friends = near.use({
      as: "friends",
      atLeast: "2.1.0",
      from: viewer,
      fanout: 20,
      score: 100 - Key.id,
    });
    const theirs = near.use({
      as: "theirs",
      from: friends,
      score: Key.id * 0.5,
    });
    return theirs.take({ count: 10 });
  },
});
// [/fragments]
