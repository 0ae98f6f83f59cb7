// tests/rankd/engine/quality_test.cpp: metrics against those of tests/oracle/quality.py, and by hand.
#include <rankd/engine/explain/quality.hpp>

#include <rankd/registry/file.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

constexpr double nearly = 1e-12;

/// The cases of the file that have a member of that name.
auto cases_with(const char* member) -> std::vector<json> {
  std::vector<json> out;
  std::istringstream lines(read_text_file("tests/rankd/engine/quality_cases.ndjson").value());
  for (std::string line; std::getline(lines, line);)
    if (json each = json::parse(line); each.contains(member)) out.push_back(std::move(each));
  return out;
}

auto judged_in(const json& each) -> judgements {
  judgements out;
  for (const auto& [id, relevance] : each.at("judged").items()) out[std::stoll(id)] = relevance.get<double>();
  return out;
}

auto quality_in(const json& each) -> quality {
  std::vector<std::optional<std::string>> values;
  for (const json& value : each.at("values"))
    values.push_back(value.is_null() ? std::nullopt : std::optional(value.get<std::string>()));
  const auto numbers = each.at("ids").get<std::vector<std::int64_t>>();
  return measure_quality(
      std::vector<row_id>(numbers.begin(), numbers.end()), values, judged_in(each),
      {.depth = each.at("depth"), .gain = each.at("gain") == "linear" ? gain_form::linear : gain_form::exponential});
}

auto one(const quality& of, quality_metric which) -> std::optional<double> {
  return of[static_cast<std::size_t>(which)];
}

}  // namespace

TEST_CASE("a hundred random answers have the metrics that an independent implementation gives them") {
  const std::vector<json> cases = cases_with("metrics");
  REQUIRE(cases.size() == 100);
  std::size_t defined = 0;
  for (const json& each : cases) {
    CAPTURE(each.dump());
    const quality found = quality_in(each);
    for (std::size_t at = 0; at < quality_metrics; ++at) {
      const json& expected = each.at("metrics").at(std::string(name_of(static_cast<quality_metric>(at))));
      CAPTURE(name_of(static_cast<quality_metric>(at)));
      REQUIRE(found[at].has_value() != expected.is_null());
      if (!found[at]) continue;
      ++defined;
      CHECK(std::abs(*found[at] - expected.get<double>()) < nearly);
    }
  }
  CHECK(defined > 300);
}

TEST_CASE("means and their intervals are those of an independent implementation with the same random numbers") {
  const std::vector<json> cases = cases_with("resamples");
  REQUIRE(cases.size() == 20);
  for (const json& each : cases) {
    CAPTURE(each.dump());
    const auto found = estimate_mean(
        each.at("values").get<std::vector<double>>(),
        {.resamples = each.at("resamples"), .seed = each.at("seed"), .confidence = each.at("confidence")});
    REQUIRE(found);
    CHECK(std::abs(found->mean - each.at("mean").get<double>()) < nearly);
    CHECK(std::abs(found->low - each.at("low").get<double>()) < nearly);
    CHECK(std::abs(found->high - each.at("high").get<double>()) < nearly);
    CHECK(found->count == each.at("values").size());
  }
  CHECK_FALSE(estimate_mean({}, {}));
}

TEST_CASE("metrics of an answer that is known by heart") {
  // Relevant are 1 and 2, of which 2 comes at rank 1 and 1 at rank 3; 9 is not judged.
  const std::vector<row_id> ids{2, 9, 1};
  const std::vector<std::optional<std::string>> values{"x", "x", std::nullopt};
  const quality found = measure_quality(ids, values, {{1, 3}, {2, 1}, {3, 0}}, {.depth = 3});
  CHECK(one(found, quality_metric::ndcg) == doctest::Approx((1 + 3 / 2.0) / (3 + 1 / std::log2(3))));
  CHECK(one(found, quality_metric::map) == doctest::Approx((1 + 2 / 3.0) / 2));
  CHECK(one(found, quality_metric::mrr) == 1);
  CHECK(one(found, quality_metric::recall) == 1);
  CHECK(one(found, quality_metric::judged) == doctest::Approx(2 / 3.0));
  CHECK(one(found, quality_metric::diversity) == doctest::Approx(2 / 3.0));
  CHECK(one(measure_quality(ids, values, {{1, 3}, {2, 1}}, {.depth = 1}), quality_metric::recall) == 0.5);
  CHECK_FALSE(one(measure_quality(ids, {}, {{1, 0}}, {}), quality_metric::ndcg));
  CHECK_FALSE(one(measure_quality(ids, {}, {{1, 1}}, {}), quality_metric::diversity));
}
