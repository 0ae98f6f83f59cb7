// tests/rankd/op/nearest_test.cpp: the operators of vectors: nearest, what fetch_features makes of bytes, diversify by
// similarity.
#include <rankd/op/operator.hpp>

#include <rankd/expr/detail/kernels.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/rows/concat.hpp>
#include <rankd/store/vector_kernels.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <braid/base/random.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::uint32_t score = 1001;
constexpr std::uint32_t vector_key = 4001;
const std::string capability = R"(["cap.rfc.0009.vectors.v1"])";

auto bytes_of(std::initializer_list<double> numbers) -> std::string {
  std::string out;
  for (const double each : numbers) CHECK(append_vector_item(out, each));
  return out;
}

struct vector_bench : op_bench {
  auto run_op(const std::string& op, const std::string& options, const row_set& input) -> row_set {
    return run(*bind_op(op, options, R"({"op":"const_null"})", R"({"op":"const_bool","value":true})", capability)
                    .value(),
               {input})
        .value();
  }

  /// Rows whose vectors are these.
  auto rows_with(std::initializer_list<std::int64_t> ids, const std::vector<std::optional<std::string_view>>& vectors)
      -> row_set {
    return with<std::string_view>(rows_of(ids), vector_key, vectors);
  }
};

auto scores_of(const row_set& rows) -> std::vector<double> {
  std::vector<double> out;
  const column values = rows.table().find(score).value();
  rows.for_each_row([&](std::uint32_t row) { out.push_back((*values.floats())[row]); });
  return out;
}

}  // namespace

TEST_CASE("nearest gives the ids of the nearest vectors of each row that has one, with their scores") {
  vector_bench bench;
  const std::string x = bytes_of({2, 0, 0, 0});
  const std::string y = bytes_of({0, 1, 0, 0});
  const row_set rows = bench.rows_with({70, 71, 72}, {x, std::nullopt, y});
  const row_set out =
      bench.run_op("core::nearest", R"({"endpoint":"ep_0004","query":4001,"count":3,"out_key":1001})", rows);
  CHECK((ids_of(out) == std::vector<std::int64_t>{1, 6, 3, 2, 3, 1}));
  CHECK((scores_of(out) == std::vector<double>{1, 1, 1 / std::sqrt(2.0), 1, 1 / std::sqrt(2.0), 0}));
  CHECK(bench.looked_at == 12);
  const row_set plain = bench.run_op("core::nearest", R"({"endpoint":"ep_0004","query":4001,"count":1})", rows);
  CHECK((ids_of(plain) == std::vector<std::int64_t>{1, 2}));
  CHECK_FALSE(plain.table().find(score).has_value());
}

TEST_CASE("nearest of no rows, or of rows without such a column, is empty") {
  vector_bench bench;
  const std::string options = R"({"endpoint":"ep_0004","query":4001,"count":3})";
  CHECK(bench.run_op("core::nearest", options, bench.rows_of({})).empty());
  CHECK(bench.run_op("core::nearest", options, bench.rows_of({1, 2})).empty());
}

TEST_CASE("nearest looks at some of the lists where that is wanted") {
  vector_bench bench;
  const std::string x = bytes_of({2, 0, 0, 0});
  const row_set rows = bench.rows_with({70}, {x});
  // The file of the tables has two lists, with the odd and the even ids.
  const row_set one = bench.run_op("core::nearest", R"({"endpoint":"ep_0004","query":4001,"count":9,"probe":1})", rows);
  CHECK((ids_of(one) == std::vector<std::int64_t>{1, 3, 5}));
  CHECK(bench.looked_at == 3);
  CHECK(bench.run_op("core::nearest", R"({"endpoint":"ep_0004","query":4001,"count":9,"probe":2})", rows).size() == 6);
}

TEST_CASE("nearest searches a file without a graph exactly, though the plan has a width for graphs") {
  vector_bench bench;
  const std::string x = bytes_of({2, 0, 0, 0});
  const row_set rows = bench.rows_with({70}, {x});
  const std::string options = R"({"endpoint":"ep_0004","query":4001,"count":9,"ef_search":1)";
  CHECK(bench.run_op("core::nearest", options + "}", rows).size() == 6);
  CHECK(bench.looked_at == 6);
  CHECK(bench.run_op("core::nearest", options + R"(,"probe":1})", rows).size() == 3);
}

TEST_CASE("nearest finds only ids that another node has, and none of a third") {
  vector_bench bench;
  const std::string x = bytes_of({2, 0, 0, 0});
  const row_set rows = bench.rows_with({70}, {x});
  const std::string options = R"({"endpoint":"ep_0004","query":4001,"count":9)";
  const auto find = [&](const std::string& more, const std::vector<row_set>& inputs) {
    std::vector<row_set> all{rows};
    all.insert(all.end(), inputs.begin(), inputs.end());
    const auto bound = bind_op("core::nearest", options + more + "}", R"({"op":"const_null"})",
                               R"({"op":"const_bool","value":true})", capability);
    return ids_of(bench.run(*bound.value(), all).value());
  };
  const std::vector<std::int64_t> all = find("", {});
  CHECK(all.size() == 6);
  CHECK(bench.looked_at == 6);
  CHECK((find(R"(,"only":"left")", {bench.rows_of({5, 2, 77, 5})}) == std::vector<std::int64_t>{2, 5} ||
         find(R"(,"only":"left")", {bench.rows_of({5, 2, 77, 5})}) == std::vector<std::int64_t>{5, 2}));
  CHECK(bench.looked_at == 2);
  CHECK(find(R"(,"only":"left")", {bench.rows_of({})}).empty());
  std::vector<std::int64_t> others = all;
  std::erase_if(others, [](std::int64_t id) { return id == 2 || id == 5; });
  CHECK(find(R"(,"except":"left")", {bench.rows_of({5, 2, 77, 5})}) == others);
  CHECK(bench.looked_at == 4);
  CHECK((find(R"(,"only":"left","except":"right")", {bench.rows_of({5, 2}), bench.rows_of({2})}) ==
         std::vector<std::int64_t>{5}));
  CHECK((find(R"(,"only":"left","except":"left")", {bench.rows_of({5, 2}), bench.rows_of({5, 2})}).empty()));
  // One list has the odd ids, which are nearer. Only even ids are allowed, so both lists are searched.
  CHECK((find(R"(,"probe":1,"only":"left")", {bench.rows_of({2, 4})}).size() == 2));
}

TEST_CASE("nearest searches the vectors of another node in place of those of the file with the same ids") {
  vector_bench bench;
  const std::string x = bytes_of({2, 0, 0, 0});
  const std::string away = bytes_of({-1, 0, 0, 0});
  const row_set rows = bench.rows_with({70}, {x});
  const auto find = [&](const std::string& more, const std::vector<row_set>& inputs) {
    std::vector<row_set> all{rows};
    all.insert(all.end(), inputs.begin(), inputs.end());
    const auto bound =
        bind_op("core::nearest", R"({"endpoint":"ep_0004","query":4001,"count":20,"out_key":1001)" + more + "}",
                R"({"op":"const_null"})", R"({"op":"const_bool","value":true})", capability);
    return bench.run(*bound.value(), all).value();
  };
  const std::string changes = R"(,"changes":"left")";
  const std::vector<std::int64_t> before = ids_of(find("", {}));
  CHECK(before.front() == 1);
  // 1 is deleted, 2 is replaced, 9 is new and as near as a vector can be; of the two rows of 8 the last one counts.
  const row_set changed = bench.rows_with({1, 2, 9, 8, 8}, {std::nullopt, away, x, x, away});
  const row_set found = find(changes, {changed});
  std::vector<std::int64_t> expected = before;
  std::erase_if(expected, [](std::int64_t id) { return id == 1 || id == 2; });
  expected.insert(expected.begin() + 1, 9);  // behind 6, which is as near
  expected.insert(expected.end(), {2, 8});
  CHECK(ids_of(found) == expected);
  CHECK(scores_of(found).front() == 1);
  CHECK(scores_of(found).back() == -1);
  CHECK(bench.looked_at == 4 + 3);
  // A change has the bits that the same vector has in the file.
  CHECK(scores_of(find(changes, {bench.rows_with({1}, {bytes_of({1, 0, 0, 0})})})).front() ==
        scores_of(find("", {})).front());
  CHECK(ids_of(find(R"(,"only":"left","changes":"right")", {bench.rows_of({9, 3}), changed})) ==
        std::vector<std::int64_t>{9, 3});
  const row_set others = find(R"(,"except":"left","changes":"right")", {bench.rows_of({9, 8}), changed});
  CHECK(ids_of(others).size() == 5);
  CHECK(ids_of(others).back() == 2);
  CHECK(ids_of(find(changes, {bench.rows_of({})})) == before);
}

TEST_CASE("nearest is refused where the vectors have other dimensions, or there is no file") {
  const auto refused = [](const std::string& options) {
    const auto bound =
        bind_op("core::nearest", options, R"({"op":"const_null"})", R"({"op":"const_bool","value":true})", capability);
    return bound ? lines() : list(bound.error());
  };
  CHECK((refused(R"({"endpoint":"ep_0004","query":4002,"count":3})") ==
         lines{"dimensions_differ /nodes/2/params/query"}));
  CHECK((refused(R"({"endpoint":"ep_0001","query":4001,"count":3})") ==
         lines{"wrong_endpoint_kind /nodes/2/params/endpoint"}));
}

TEST_CASE("products of a block have the same bits whatever instructions the machine has") {
  braid::random_source random(5);
  for (const std::size_t dimensions : {1U, 2U, 7U, 64U}) {
    std::vector<float> block(dimensions * vector_block);
    std::vector<double> query(dimensions);
    for (float& each : block) each = static_cast<float>(random.unit() * 4 - 2);
    for (double& each : query) each = static_cast<float>(random.unit() * 1e3 - 500);
    block_scores dot{};
    block_scores distance{};
    for (std::size_t at = 0; at < dimensions; ++at) {
      for (std::size_t place = 0; place < vector_block; ++place) {
        const double value = block[at * vector_block + place];
        const double apart = query[at] - value;
        dot[place] += query[at] * value;
        distance[place] += apart * apart;
      }
    }
    for (const std::string_view name : detail::kernel_instructions()) {
      CAPTURE(name);
      const detail::forced_instructions with(name);
      block_scores found{};
      vector_kernels_here().dot(block.data(), query.data(), dimensions, found.data());
      CHECK(found == dot);
      vector_kernels_here().squared_distance(block.data(), query.data(), dimensions, found.data());
      CHECK(found == distance);
      std::array<const float*, vector_block> rows{};
      for (std::size_t place = 0; place < vector_block; ++place) rows[place] = block.data() + place * dimensions;
      std::vector<float> turned(block.size());
      vector_kernels_here().interleave(rows.data(), vector_block, dimensions, turned.data());
      std::size_t right = 0;
      for (std::size_t at = 0; at < turned.size(); ++at)
        right += turned[at] == rows[at % vector_block][at / vector_block] ? 1 : 0;
      CHECK(right == turned.size());
    }
  }
}

TEST_CASE("fields of hashes become vectors where they have the right length and finite numbers") {
  vector_bench bench;
  const std::string right = bytes_of({1, 2, 3, 4});
  bench.store.hashes["features:1"] = {{"features", right}};
  bench.store.hashes["features:2"] = {{"features", bytes_of({1, 2, 3})}};
  bench.store.hashes["features:3"] = {{"features", bytes_of({1, 2, 3}) + std::string("\0\0\x80\x7f", 4)}};
  bench.store.hashes["features:5"] = {{"features", "text"}};
  const row_set rows =
      bench.rows("core::fetch_features", R"({"endpoint":"ep_0001","keys":[4001]})", {bench.rows_of({1, 2, 3, 4, 5})});
  const column values = rows.table().find(vector_key).value();
  CHECK(values.strings()->dimensions == 4);
  CHECK((*values.strings())[0] == right);
  for (std::size_t row = 1; row < 5; ++row) CHECK(values.is_null(row));
  CHECK(bench.malformed_values == 3);
  const row_set both = concat(rows, bench.rows_of({9}), bench.memory());
  CHECK(both.table().find(vector_key)->strings()->dimensions == 4);
}

TEST_CASE("diversify by similarity takes what is relevant and unlike what it took") {
  vector_bench bench;
  const std::string x = bytes_of({1, 0, 0, 0});
  const std::string y = bytes_of({0, 1, 0, 0});
  const row_set rows = bench.with<double>(bench.rows_with({1, 2, 3}, {x, x, y}), score, {0.9, 0.8, 0.7});
  const std::string options = R"({"strategy":"mmr","relevance":1001,"similarity":4001,"lambda":0.5)";
  CHECK((ids_of(bench.run_op("core::diversify", options + "}", rows)) == std::vector<std::int64_t>{1, 3, 2}));
  CHECK((ids_of(bench.run_op("core::diversify", options + R"(,"count":2})", rows)) == std::vector<std::int64_t>{1, 3}));
}
