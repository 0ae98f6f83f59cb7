// tests/rankd/op/onnx_tables_test.cpp: ONNX operators that cut, stack and flatten tables, and that combine their
// columns.
#include <rankd/op/detail/scoring.hpp>
#include <rankd/op/models.hpp>
#include <tests/rankd/op/onnx_writer.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing::onnx;
using rankd::testing::lines;
using rankd::testing::op_bench;
using rankd::testing::op_world;

namespace {

/// Returns "code /place" of each diagnostic of a file.
auto problems_of(const std::string& text) -> lines {
  const auto made = detail::parse_model(text, "m.onnx", op_world());
  return made ? lines() : rankd::testing::list(made.error());
}

/// Returns the scores of one row by output. `count` is the first column of the table `x`, `score` the second.
auto row_scores(const std::string& text, std::int64_t count, double score) -> std::vector<double> {
  op_bench bench;
  row_set rows = bench.with<std::int64_t>(bench.rows_of({1}), 1501, {count});
  rows = bench.with<double>(rows, 1001, {score});
  const auto made = detail::parse_model(text, "m.onnx", op_world());
  if (!made) throw std::runtime_error(made.error().to_text());
  std::vector<double> out;
  const auto sums = (*made)->sums(rows, bench.memory(), {.rows_of_part = 1});
  for (const model_sums& each : *sums) out.push_back(each.writable[0]);
  return out;
}

/// The number that stands for "to the end" in files.
constexpr std::int64_t to_the_end = INT64_MAX;

auto sliced(std::int64_t start, std::int64_t end, const std::vector<std::int64_t>& axes,
            const std::vector<std::int64_t>& steps) -> std::string {
  std::vector<std::string> inputs{"wide", "starts", "ends", "axes"};
  if (!steps.empty()) inputs.emplace_back("steps");
  return to_bytes({.nodes = {node("Concat", {"x", "x"}, {"wide"}, with_int("axis", 1)), node("Slice", inputs, {"y"})},
                   .constants = {int_tensor("starts", {start}), int_tensor("ends", {end}), int_tensor("axes", axes),
                                 int_tensor("steps", steps)},
                   .outputs = {value("y", 1, {1})}});
}

}  // namespace

TEST_CASE("a slice is a range of columns, whose ends may count from the last column") {
  CHECK((row_scores(sliced(1, 3, {1}, {}), 5, 7) == std::vector<double>{7, 5}));
  CHECK((row_scores(sliced(0, 1, {-1}, {1}), 5, 7) == std::vector<double>{5}));
  CHECK((row_scores(sliced(-3, -1, {1}, {}), 5, 7) == std::vector<double>{7, 5}));
  CHECK((row_scores(sliced(3, to_the_end, {1}, {}), 5, 7) == std::vector<double>{7}));
  const lines axes{"bad_value /graph/node/1/axes"};
  CHECK((problems_of(sliced(0, 1, {0}, {})) == axes));
  CHECK((problems_of(sliced(0, 1, {1, 0}, {})) == axes));
  CHECK((problems_of(sliced(0, 3, {1}, {2})) == axes));
  CHECK((problems_of(sliced(2, 2, {1}, {})) == lines{"wrong_length /graph/node/1/input"}));
  const std::string older =
      to_bytes({.nodes = {node("Slice", {"x"}, {"y"},
                               with_ints("axes", {1}) + with_ints("starts", {1}) + with_ints("ends", {2}))}});
  CHECK((row_scores(older, 5, 7) == std::vector<double>{7}));
}

TEST_CASE("tables are stacked and averaged, and used in no other way") {
  const bytes first = node("Reshape", {"x", "shape"}, {"a"});
  const bytes other = node("Exp", {"x"}, {"e"});
  const bytes second = node("Reshape", {"e", "shape"}, {"b"});
  const auto stack = [&](std::int64_t axis, std::string_view op, std::int64_t over, std::int64_t kept) {
    return to_bytes({.nodes = {first, other, second, node("Concat", {"a", "b", "a"}, {"all"}, with_int("axis", axis)),
                               node(op, {"all", "over"}, {"y"}, with_int("keepdims", kept))},
                     .constants = {int_tensor("shape", {1, -1, 2}), int_tensor("over", {over})},
                     .outputs = {value("y", 1, {2})}});
  };
  const std::vector<double> found = row_scores(stack(0, "ReduceMean", 0, 0), 0, 1);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == static_cast<float>(1.0 / 3));
  CHECK(found[1] == doctest::Approx((2 + std::exp(1.0)) / 3));
  CHECK((row_scores(stack(0, "ReduceMean", -3, 0), 0, 1) == found));
  CHECK((problems_of(stack(1, "ReduceMean", 0, 0)) == lines{"bad_value /graph/node/3/axis"}));
  CHECK((problems_of(stack(2, "ReduceMean", 0, 0)) == lines{"wrong_type /graph/node/3/input"}));
  CHECK((problems_of(stack(0, "ReduceMean", 1, 0)) == lines{"bad_value /graph/node/4/axis"}));
  CHECK((problems_of(stack(0, "ReduceMean", 0, 1)) == lines{"bad_value /graph/node/4/axis"}));
  CHECK((problems_of(stack(0, "ReduceSum", 0, 0)) == lines{"wrong_type /graph/node/4/input"}));
  const std::string mixed = to_bytes({.nodes = {first, node("Concat", {"a", "x"}, {"all"}, with_int("axis", 0))},
                                      .constants = {int_tensor("shape", {1, -1, 2})},
                                      .outputs = {value("all", 1, {2})}});
  CHECK((problems_of(mixed) == lines{"wrong_type /graph/node/1/input"}));
  const std::string alone =
      to_bytes({.nodes = {node("Reshape", {"x", "shape"}, {"y"})}, .constants = {int_tensor("shape", {1, -1, 2})}});
  CHECK((problems_of(alone) == lines{"unknown_value /graph/output/0"}));
}

TEST_CASE("an output that lists the numbers of each row one below the other has a score for each of them") {
  const std::string text =
      to_bytes({.nodes = {node("Reshape", {"x", "shape"}, {"y"})}, .constants = {int_tensor("shape", {-1, 1})}});
  CHECK((row_scores(text, 5, 7) == std::vector<double>{5, 7}));
}

TEST_CASE("a list of constants is a row that all rows have in common") {
  const std::string text = to_bytes({.nodes = {node("Sqrt", {"by"}, {"root"}), node("Div", {"x", "root"}, {"y"})},
                                     .constants = {float_tensor("by", {2}, {4, 16})},
                                     .outputs = {value("y", 1, {2})}});
  CHECK((row_scores(text, 5, 7) == std::vector<double>{2.5, 1.75}));
  const std::string square =
      to_bytes({.nodes = {node("Sqrt", {"by"}, {"y"})}, .constants = {float_tensor("by", {2, 2}, {4, 16, 1, 1})}});
  CHECK((problems_of(square) == lines{"wrong_type /graph/node/0/input"}));
}

TEST_CASE("the logarithm of a sum of exponentials does not overflow") {
  const std::string text =
      to_bytes({.nodes = {node("ReduceLogSumExp", {"x", "over"}, {"y"})}, .constants = {int_tensor("over", {1})}});
  CHECK(row_scores(text, 1, 2).front() == doctest::Approx(std::log(std::exp(1.0) + std::exp(2.0))));
  CHECK(row_scores(text, 1000, 1000).front() == doctest::Approx(1000 + std::log(2.0)));
}
