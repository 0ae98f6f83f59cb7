// first.test.ts: tests of the plan first. `dslc test` compiles and runs them.
import { defineTests, Key } from "@rankd/plan";

export default defineTests("first", ({ test }) => {
  test("the best score comes first", ({ request, expect }) => {
    request({ candidates: { id: [7, 8, 9], score: [0.5, 2, 1] } });
    expect.ids([8, 9, 7]);
  });

  test("candidates below min_score are dropped", ({ request, expect }) => {
    request({ candidates: { id: [7, 8, 9], score: [0.5, 2, 1] }, param_overrides: { min_score: 1 } });
    expect.sameIds([8, 9]);
    expect.every(Key.score >= 1);
  });

  test("a page has at most ten candidates", ({ request, expect }) => {
    const id = Array.from({ length: 30 }, (_, index) => index);
    request({ candidates: { id, score: id } });
    expect.count(10);
    expect.sorted(Key.score, "desc");
  });
});
