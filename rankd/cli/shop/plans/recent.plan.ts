// recent: the products that the member viewed last, each once, without products that the member has bought.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "recent",
  build: (ctx) => {
    const bought = ctx.set({ as: "owned", endpoint, key: "bought:{P.member}", count: 200 });
    return ctx
      .list({ as: "viewed", endpoint, key: "viewed:{P.member}", count: 50 })
      .dedupe({ as: "once" })
      .join({ as: "not_bought", rhs: bought, how: "anti" })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.price] })
      .take({ as: "page", count: P.page_size.within(1, 50) });
  },
});
