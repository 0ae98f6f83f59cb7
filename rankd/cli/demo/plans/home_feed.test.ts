// home_feed.test.ts: tests of the plan home_feed on a store of five accounts. `dslc test` compiles and runs them.
import { defineTests, EP, Key } from "@rankd/plan";

export default defineTests("home_feed", ({ store, test }) => {
  for (const [id, country] of [
    [1, "US"],
    [2, "US"],
    [3, "BR"],
    [4, "CA"],
    [5, "MX"],
  ] as const)
    store.hash(`user:${id}`, { country });
  store.list("follow:1", [5, 3, 2, 4]);
  store.list("recommendation:1", [9, 8]);

  test("accounts from North America come first, the oldest id before others", ({ request, expect }) => {
    request({ user_id: 1 });
    expect.ids([2, 4, 5, 8, 9]);
    expect.sorted(Key.final_score, "desc");
  });

  test("accounts from elsewhere are not shown, however old they are", ({ store, request, expect }) => {
    store.list("follow:1", [3, 5]);
    request({ user_id: 1 });
    expect.excludes([3]);
    expect.every(Key.country == null || Key.country in ["US", "CA", "MX"]);
  });

  test("a request may weigh age more", ({ request, expect }) => {
    request({ user_id: 1, param_overrides: { media_age_penalty_weight: 10 } });
    expect.firstIds([2, 4, 5]);
    expect.every(Key.final_score <= 80);
  });

  test("a page has at most 20 accounts", ({ store, request, expect }) => {
    const many = Array.from({ length: 60 }, (_, index) => 100 + index);
    store.list("recommendation:1", many);
    request({ user_id: 1 });
    expect.count(20);
    expect.atMost(1, Key.id);
  });

  test("without a store there is no page", ({ request, fault, expect }) => {
    fault(EP.redis_default, "store_unreachable", { keys: "follow:" });
    request({ user_id: 1 });
    expect.error("store_unreachable", { node: "follow" });
  });
});
