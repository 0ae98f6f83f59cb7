import { definePlan, EP, Key } from "@rankd/plan";

const endpoint = EP.redis_default;

// [pages]
export default definePlan({
  name: "pages",
  build: (ctx) =>
    ctx
      .viewer({ endpoint })
      .follow({ endpoint, fanout: 500 })
      .sort({ by: Key.id, order: "desc" })
      .paginate({ size: 20 })
      // Of the page alone.
      .fetchFeatures({ endpoint, keys: [Key.title], hash: "user" }),
});
// [/pages]
