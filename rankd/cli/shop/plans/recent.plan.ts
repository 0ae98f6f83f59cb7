// recent: the products that the member viewed last, each once, without products that the member then bought. A member
// with fewer than two such products gets the products that are trending in the member's country.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "recent",
  build: (ctx) => {
    const bought = ctx.set({ as: "owned", endpoint, key: "bought:{P.member}", count: 200 });
    const trending = ctx.sortedSet({
      as: "trending",
      endpoint,
      key: "trending:{P.country}",
      count: 50,
      order: "desc",
    });
    return ctx
      .list({ as: "viewed", endpoint, key: "viewed:{P.member}", count: 50 })
      .dedupe({ as: "once" })
      .join({ as: "not_bought", rhs: bought, how: "anti" })
      .atLeast({ as: "enough", count: 2 })
      .orElse({ on: ["too_few_rows"], use: trending })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.price] })
      .take({ as: "page", count: P.page_size.within(1, 50) });
  },
});
