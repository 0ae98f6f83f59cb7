// arrivals: products added in the last 90 days, newest first; of any three in a row, at most two share a brand.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;
const day = 86400;

export default definePlan({
  name: "arrivals",
  build: (ctx) =>
    ctx
      .sortedSet({ as: "latest", endpoint, key: "arrivals", count: 100, order: "desc" })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.brand, Key.price, Key.added] })
      .filter({ as: "fresh", pred: P.now - Key.added < 90 * day && P.now >= Key.added })
      .diversify({ as: "mixed", strategy: "window", by: Key.brand, atMost: 2, window: 3 })
      .take({ as: "page", count: P.page_size.within(1, 50) }),
});
