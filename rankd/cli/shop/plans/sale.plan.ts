// sale: products at reduced prices, those with the largest relative saving first. Sale prices are strings under their
// own keys.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "sale",
  build: (ctx) =>
    ctx
      .set({ as: "on_sale", endpoint, key: "sale", count: 500 })
      .strings({ as: "reduced", endpoint, key: "sale_price:{id}", outKey: Key.sale_price })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.price, Key.stock] })
      .filter({ as: "cheaper", pred: Key.sale_price < Key.price && Key.stock > 0 })
      .vm({ as: "saving", outKey: Key.score, expr: 1 - Key.sale_price / Key.price })
      .sort({ as: "best_first", by: Key.score, order: "desc" })
      .take({ as: "page", count: P.page_size.within(1, 50) }),
});
