// concat_plan: whom the viewer follows, then who is recommended.
import { definePlan, EP } from "@rankd/plan";

const endpoint = EP.redis_default;

export default definePlan({
  name: "concat_plan",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint });
    const followed = viewer.follow({ endpoint, fanout: 4 });
    const recommended = viewer.recommendation({ endpoint, fanout: 4 });
    return followed.concat({ rhs: recommended }).take({ count: 8 });
  },
});
