// tests/rankd/engine/answer_comparison_test.cpp: overlap and rank-biased overlap of lists, and kinds of differences.
#include <rankd/engine/explain/answer_comparison.hpp>

#include <tests/rankd/engine/engine_world.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using doctest::Approx;

namespace {

auto list(std::vector<std::int64_t> numbers) -> std::vector<row_id> { return {numbers.begin(), numbers.end()}; }

auto failed(const std::string& code) -> ranking {
  ranking out;
  out.error = rank_error{code, "words", {}, {}};
  return out;
}

}  // namespace

TEST_CASE("the overlap counts the first candidates, of as many as the longer list has there") {
  CHECK(overlap_at(list({1, 2, 3, 4}), list({4, 3, 9, 1}), 2) == 0);
  CHECK(overlap_at(list({1, 2, 3, 4}), list({4, 3, 9, 1}), 4) == 0.75);
  CHECK(overlap_at(list({1, 2, 3, 4}), list({1}), 10) == 0.25);
  CHECK(overlap_at(list({1, 2}), list({2, 1}), 10) == 1);
  CHECK(overlap_at(list({}), list({}), 10) == 1);
  CHECK(overlap_at(list({}), list({1}), 10) == 0);
  CHECK(overlap_at(list({7, 7}), list({7, 8}), 10) == 0.5);  // the second 7 is another one
}

TEST_CASE("rank-biased overlap weighs ranks by p, and takes a list that ends for one that has no more") {
  CHECK(rank_biased_overlap(list({}), list({})) == 1);
  CHECK(rank_biased_overlap(list({1, 2, 3}), list({1, 2, 3})) == 1);
  CHECK(rank_biased_overlap(list({1, 2, 3}), list({4, 5, 6})) == 0);
  CHECK(rank_biased_overlap(list({}), list({1})) == 0);
  // Agreement 1, 1/2, 1 at depths 1, 2, 3, and 1 below.
  CHECK(rank_biased_overlap(list({1, 2, 3}), list({1, 3, 2})) == Approx(0.1 * (1 + 0.45 + 0.81) + 0.729));
  CHECK(rank_biased_overlap(list({1, 2, 3}), list({3, 1, 2}), 0.5) == Approx(0.5 * (0 + 0.25 + 0.25) + 0.125));
  // One that lost its end is not the same.
  CHECK(rank_biased_overlap(list({1, 2}), list({1})) == Approx(0.1 * (1 + 0.45) + 0.81 * 0.5));
  CHECK(rank_biased_overlap(list({1}), list({1, 2})) == Approx(rank_biased_overlap(list({1, 2}), list({1}))));
}

TEST_CASE("errors are compared by their codes") {
  CHECK(compare_answers(failed("a"), failed("a"), 10).change == answer_change::equal);
  CHECK(compare_answers(failed("a"), failed("b"), 10).change == answer_change::error);
  CHECK(compare_answers(failed("a"), failed("b"), 10).rbo == 1);
  const answer_verdict one = compare_answers(failed("a"), ranking(), 10);
  CHECK(one.change == answer_change::error);
  CHECK(one.rbo == 0);
  CHECK(one.overlap == 0);
  CHECK(to_string(one.change) == "error");
}

TEST_CASE("captured rows are no part of what is compared") {
  rankd::testing::engine_world world;
  const bound_plan& plan = world.reference_plan("reels_plan_a");
  rank_request request = rankd::testing::value_of(
      parse_request(R"({"user_id":1,"capture":["follow"]})", rankd::testing::reference_project::get().declared));
  const ranking with = world.on().run(world.ranker().rank(plan, request));
  REQUIRE(with.captured.size() == 1);
  request.captures.front().node = "cutoff";
  const ranking other = world.on().run(world.ranker().rank(plan, request));
  request.captures.clear();
  const ranking without = world.on().run(world.ranker().rank(plan, request));
  CHECK(without.captured.empty());
  CHECK_FALSE(without.rows.empty());
  CHECK(compare_answers(with, without, 10).change == answer_change::equal);
  CHECK(compare_answers(with, other, 10).change == answer_change::equal);
}
