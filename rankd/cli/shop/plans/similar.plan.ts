// similar: products in stock that are often bought together with the product of the page.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "similar",
  build: (ctx) =>
    ctx
      .sortedSet({ as: "near", endpoint, key: "similar:{P.product}", count: 50, order: "desc", outKey: Key.interest })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.brand, Key.price, Key.stock] })
      .filter({ as: "in_stock", pred: Key.stock > 0 })
      .take({ as: "page", count: P.page_size.within(1, 50) }),
});
