// tests/rankd/store/vector_graph_test.cpp: files with a graph: what a search of it finds, its bytes, and damage.
#include <rankd/store/vector_graph.hpp>

#include <rankd/store/detail/graph_layers.hpp>
#include <rankd/store/vector_build.hpp>
#include <rankd/store/vector_file.hpp>
#include <tests/rankd/store/vector_tables.hpp>

#include <braid/base/random.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace rankd;
using namespace rankd::testing;
using rankd::detail::graph_layers;
using rankd::detail::no_link;
using rankd::detail::vector_part;

namespace {

constexpr std::array metrics{vector_metric::dot, vector_metric::cosine, vector_metric::l2};

/// Returns queries that are near the vectors of `random_table`.
auto random_queries(std::size_t count, std::uint32_t dimensions) -> std::vector<std::string> {
  const vector_table table = random_table(2 * count, dimensions, 4711);
  std::vector<std::string> out;
  for (std::size_t row = 0; row < count; ++row) out.push_back(bytes_of(table.at(2 * row)));
  return out;
}

auto count_same(const std::vector<neighbour>& found, const std::vector<neighbour>& expected) -> std::size_t {
  std::size_t same = 0;
  for (const neighbour& each : found) same += static_cast<std::size_t>(std::ranges::count(expected, each));
  return same;
}

auto is_sorted(const std::vector<neighbour>& found) -> bool {
  return std::ranges::is_sorted(found, [](const neighbour& a, const neighbour& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
  });
}

/// Returns the same vectors with string ids, in the order of the integer ids.
auto with_string_ids(vector_table table) -> vector_table {
  for (std::size_t row = 0; row < table.size(); ++row) {
    table.texts.push_back("item:" + std::to_string(2'000'000 + table.ids[row]));
    table.ids[row] = static_cast<std::int64_t>(row);
  }
  return table;
}

/// Returns a file without a link in its graph.
auto without_links(const std::string& bytes) -> std::string {
  std::string out = bytes;
  const rankd::detail::vector_span links = rankd::detail::vector_layout(header_of(bytes)).of(vector_part::links);
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(links.begin), links.bytes, '\xff');
  return with_header(out, header_of(bytes));
}

}  // namespace

TEST_CASE("each layer has a share of 1 / m of the nodes below it, and the lowest has twice as many links") {
  const graph_layers layers(1000, 4);
  REQUIRE(layers.top() == 4);
  CHECK(layers.size(0) == 1000);
  CHECK(layers.size(1) == 250);
  CHECK(layers.size(4) == 3);
  CHECK(layers.layer_of(999) == 0);
  CHECK(layers.layer_of(250) == 0);
  CHECK(layers.layer_of(249) == 1);
  CHECK(layers.layer_of(0) == 4);
  CHECK(layers.first_link(0, 3) == 24);
  CHECK(layers.first_link(1, 2) == 8 * 1000 + 4 * 2);
  CHECK(layers.all_links() == 8 * 1000 + 4 * (250 + 62 + 15 + 3));
  CHECK(graph_layers(1, 16).top() == 0);
  CHECK(graph_layers(0xffff'ffff, 2).top() == 30);
}

TEST_CASE("a search without a width is exact in a file with a graph, bit by bit, for each metric") {
  for (const auto& [count, dimensions] : {std::pair<std::size_t, std::uint32_t>{1, 1}, {16, 3}, {17, 8}, {250, 13}}) {
    const vector_table table = random_table(count, dimensions, count);
    const std::string query = bytes_of(random_table(1, dimensions, 99).numbers);
    for (const vector_metric metric : metrics) {
      const vector_graph graph{.m = 4, .ef_construction = 30, .metric = metric, .seed = 9};
      const opened in(table, graph);
      CHECK(in.file->size() == count);
      CHECK(in.file->dimensions() == dimensions);
      CHECK(in.file->lists() == 0);
      CHECK(in.file->graph() == graph);
      const nearest_found found = in.file->nearest(query, {.metric = metric, .count = 10});
      CHECK(found.all == nearest_model(table, query, metric, 10));
      CHECK(found.looked_at == count);
    }
  }
  CHECK_FALSE(opened(random_table(9, 2, 1)).file->graph());
}

TEST_CASE("a search of the graph compares few vectors, and finds most of the nearest, for each metric") {
  const vector_table table = random_table(3'000, 8, 3);
  for (const vector_metric metric : metrics) {
    CAPTURE(to_string(metric));
    const opened in(table, vector_graph{.m = 8, .ef_construction = 60, .metric = metric});
    std::array<std::size_t, 2> same{};
    std::uint64_t looked_at = 0;
    for (const std::string& query : random_queries(40, 8)) {
      const auto expected = nearest_model(table, query, metric, 10);
      for (std::size_t at = 0; at < same.size(); ++at) {
        const nearest_options how{.metric = metric, .count = 10, .ef_search = std::array{12U, 80U}[at]};
        const nearest_found found = in.file->nearest(query, how);
        CHECK(found.all.size() == 10);
        CHECK(is_sorted(found.all));
        CHECK(found.looked_at < 1'500);
        if (at == 0) looked_at += found.looked_at;
        same[at] += count_same(found.all, expected);
      }
    }
    CHECK(looked_at / 40 < 400);
    CHECK(same[0] >= 280);     // recall 0.7
    CHECK(same[1] >= 392);     // recall 0.98
    CHECK(same[1] > same[0]);  // a greater width finds more
  }
}

TEST_CASE("vectors of very different lengths are found by their dot product") {
  vector_table table = random_table(2'000, 6, 31);
  for (std::size_t row = 0; row < table.size(); ++row)
    for (std::size_t at = 0; at < 6; ++at) table.numbers[6 * row + at] *= static_cast<float>(std::exp2(row % 30));
  const opened in(table, vector_graph{.m = 8, .ef_construction = 60});
  std::size_t same = 0;
  for (const std::string& query : random_queries(30, 6))
    same += count_same(in.file->nearest(query, {.count = 5, .ef_search = 60}).all,
                       nearest_model(table, query, vector_metric::dot, 5));
  CHECK(same >= 135);  // recall 0.9
}

TEST_CASE("the largest and the smallest numbers have scores that order them") {
  const float largest = std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::denorm_min();
  for (const float scale : {largest, smallest})
    for (const vector_metric metric : metrics) {
      vector_table table{.dimensions = 2, .ids = {}, .numbers = {}};
      for (int row = 0; row < 100; ++row) {
        table.ids.push_back(row);
        table.numbers.push_back(row % 2 == 0 ? scale : -scale);
        table.numbers.push_back(scale == largest ? scale * (static_cast<float>(row) / 100) : scale);
      }
      const opened in(table, vector_graph{.m = 2, .ef_construction = 20, .metric = metric});
      const std::string query = bytes_of(std::vector<float>{scale, scale});
      const auto found = in.file->nearest(query, {.metric = metric, .count = 1, .ef_search = 20}).all;
      REQUIRE(found.size() == 1);
      CHECK(found.front().score == nearest_model(table, query, metric, 1).front().score);
    }
}

TEST_CASE(
    "the same vectors in any order give the same graph, with one worker or several, and another seed another one") {
  const vector_table table = random_table(700, 4, 1);
  const vector_graph graph{.m = 6, .ef_construction = 30, .metric = vector_metric::cosine};
  const std::string bytes = vector_file_bytes(table, graph);
  CHECK(bytes == vector_file_bytes(reversed(table), graph));
  braid::pool workers({.workers = 3});
  CHECK(bytes == braid::spawn(workers, [&] { return vector_file_bytes(table, graph); }).get());
  vector_graph other = graph;
  other.seed = 2;
  CHECK(bytes != vector_file_bytes(table, other));
  // Every machine makes these bytes.
  CHECK(crc32c(std::as_bytes(std::span(bytes))) == 2'673'691'211);
}

TEST_CASE("equally near vectors come by their ids, also if all vectors are the same") {
  vector_table table{.dimensions = 2, .ids = {}, .numbers = {}};
  for (int row = 0; row < 600; ++row) {
    table.ids.push_back(1'000 - row);
    table.numbers.insert(table.numbers.end(), {1, 2});
  }
  const opened in(table, vector_graph{.m = 4, .ef_construction = 20, .metric = vector_metric::l2});
  const std::string query = bytes_of(std::vector<float>{1, 1});
  const auto found = in.file->nearest(query, {.metric = vector_metric::l2, .count = 7, .ef_search = 7}).all;
  CHECK(found.size() == 7);
  CHECK(is_sorted(found));
}

TEST_CASE("many vectors that are the same do not hide the others") {
  vector_table table = random_table(2'000, 4, 41);
  for (std::size_t row = 0; row < table.size(); row += 2)  // half of the vectors
    std::fill_n(table.numbers.begin() + static_cast<std::ptrdiff_t>(4 * row), 4, 0.0F);
  for (const vector_metric metric : metrics) {
    const opened in(table, vector_graph{.m = 8, .ef_construction = 60, .metric = metric});
    std::size_t same = 0;
    for (const std::string& query : random_queries(30, 4))
      same += count_same(in.file->nearest(query, {.metric = metric, .count = 5, .ef_search = 60}).all,
                         nearest_model(table, query, metric, 5));
    CHECK(same >= 135);  // recall 0.9
  }
}

TEST_CASE("a file with string ids finds the vectors of the same file with integer ids") {
  vector_table numbers = random_table(1'500, 5, 7);
  std::ranges::sort(numbers.ids);
  const vector_graph graph{.m = 6, .ef_construction = 40, .metric = vector_metric::l2};
  const opened with_numbers(numbers, graph);
  const opened with_texts(with_string_ids(numbers), graph);
  CHECK(with_texts.file->id_type() == value_type::string);
  const nearest_options how{.metric = vector_metric::l2, .count = 20, .ef_search = 30};
  for (const std::string& query : random_queries(10, 5)) {
    const nearest_found expected = with_numbers.file->nearest(query, how);
    const nearest_found found = with_texts.file->nearest(query, how);
    CHECK(found.looked_at == expected.looked_at);
    REQUIRE(found.all.size() == expected.all.size());
    for (std::size_t at = 0; at < found.all.size(); ++at) {
      CHECK(found.all[at].score == expected.all[at].score);
      CHECK(with_texts.file->text(found.all[at].id) == "item:" + std::to_string(2'000'000 + expected.all[at].id));
    }
  }
}

TEST_CASE("a search with a filter finds only allowed vectors, as many as are wanted, and is exact if few are allowed") {
  const vector_table table = random_table(3'000, 6, 12);
  const opened in(table, vector_graph{.m = 8, .ef_construction = 60, .metric = vector_metric::l2});
  for (const std::size_t every : {1U, 2U, 3U, 10U, 300U, 2'999U}) {
    CAPTURE(every);
    vector_filter allowed = vector_filter::none(*in.file);
    vector_table some{.dimensions = 6, .ids = {}, .numbers = {}};
    for (std::size_t row = 0; row < table.size(); row += every) {
      allowed.allow(table.ids[row]);
      some.ids.push_back(table.ids[row]);
      some.numbers.insert(some.numbers.end(), table.at(row).begin(), table.at(row).end());
    }
    std::size_t same = 0;
    std::size_t wanted = 0;
    for (const std::string& query : random_queries(20, 6)) {
      const nearest_options how{.metric = vector_metric::l2, .count = 10, .ef_search = 40, .allowed = &allowed};
      const nearest_found found = in.file->nearest(query, how);
      const auto expected = nearest_model(some, query, vector_metric::l2, 10);
      CHECK(found.all.size() == expected.size());
      for (const neighbour& each : found.all) CHECK(std::ranges::count(some.ids, each.id) == 1);
      if (every >= 10) CHECK(found.looked_at == some.size());
      if (every < 10) CHECK(found.looked_at < some.size());
      same += count_same(found.all, expected);
      wanted += expected.size();
    }
    if (every >= 10) CHECK(same == wanted);
    CHECK(same * 100 >= wanted * 95);
  }
}

TEST_CASE(
    "a search is exact if the graph of a small file is not faster, or if the graph does not lead to enough vectors") {
  const std::string query = random_queries(1, 5).front();
  const vector_table small = random_table(300, 5, 2);
  const vector_graph graph{.m = 8, .ef_construction = 30, .metric = vector_metric::l2};
  const nearest_options how{.metric = vector_metric::l2, .count = 10, .ef_search = 40};
  CHECK(opened(small, graph).file->nearest(query, how).all == nearest_model(small, query, vector_metric::l2, 10));
  const vector_table table = random_table(1'000, 5, 2);
  const std::string bytes = vector_file_bytes(table, graph);
  const opened in(bytes);
  CHECK(in.file->nearest(query, how).looked_at < 1'000);
  CHECK(in.file->looked_at(how) == 320);
  CHECK(in.file->looked_at({.count = 1'000, .ef_search = 40}) == 1'000);
  const opened unlinked(without_links(bytes));
  const nearest_found found = unlinked.file->nearest(query, how);
  CHECK(found.all == nearest_model(table, query, vector_metric::l2, 10));
  CHECK(found.looked_at == 1'001);  // the entry of the graph twice
}

TEST_CASE("a width has no effect in a file without a graph") {
  const vector_table table = random_table(500, 5, 2);
  const std::string query = random_queries(1, 5).front();
  const opened in(table, {.count = 9, .seed = 1});
  CHECK(in.file->nearest(query, {.count = 10, .ef_search = 10}).all ==
        nearest_model(table, query, vector_metric::dot, 10));
}

TEST_CASE("a stopped search of the graph ends, and returns what it has found") {
  const opened in(random_table(2'000, 5, 2), vector_graph{.m = 4, .ef_construction = 20});
  braid::stop_flag stop;
  stop.request(braid::errc::stopped);
  const nearest_found found =
      in.file->nearest(random_queries(1, 5).front(), {.count = 10, .ef_search = 40, .stop = &stop});
  CHECK(found.all.size() <= 1);
  CHECK(found.looked_at < 200);
}

TEST_CASE("for_each gives each vector of a file with a graph with its id, and find_slot finds each id") {
  const vector_table table = random_table(40, 3, 2);
  const opened in(table, vector_graph{.m = 2, .ef_construction = 10});
  std::size_t seen = 0;
  in.file->for_each([&](std::int64_t id, std::string_view vector) {
    const auto at = std::ranges::find(table.ids, id) - table.ids.begin();
    CHECK(vector == bytes_of(table.at(static_cast<std::size_t>(at))));
    CHECK(in.file->find_slot(id) == seen);
    ++seen;
  });
  CHECK(seen == 40);
  CHECK_FALSE(in.file->find_slot(123'456'789));
}

TEST_CASE("wrong links and impossible settings are refused in a file, though its checksums fit") {
  const vector_graph graph{.m = 2, .ef_construction = 10};
  const std::string bytes = vector_file_bytes(random_table(30, 3, 5), graph);
  const graph_layers layers(30, 2);
  CHECK(refusal_of(with_header(bytes, header_of(bytes))).empty());
  const auto with_link = [&](std::size_t layer, std::uint64_t node, std::size_t link, std::uint32_t to) {
    return refusal_of(with_value(bytes, vector_part::links, layers.first_link(layer, node) + link, to));
  };
  const std::string wrong = "vectors_corrupt: the vector file is damaged: ";
  for (std::size_t layer = 0; layer <= layers.top(); ++layer) {
    CAPTURE(layer);
    const auto size = static_cast<std::uint32_t>(layers.size(layer));
    for (const std::uint32_t to : {size, size + 1, 0xffff'fffeU, 0U})
      CHECK(with_link(layer, 0, 0, to) == wrong + "a link of its graph does not lead to another vector of the layer");
    CHECK(with_link(layer, size - 1, 0, size - 2).empty());
  }
  std::string gap = with_value(bytes, vector_part::links, layers.first_link(0, 7), no_link);
  gap = with_value(gap, vector_part::links, layers.first_link(0, 7) + 3, 1U);
  CHECK(refusal_of(gap) == wrong + "the links of a vector in its graph have a gap");

  const auto with = [&](auto change) {
    rankd::detail::vector_header header = header_of(bytes);
    change(header);
    header.checksum = 0;
    header.checksum = crc32c(std::as_bytes(std::span(&header, 1)));
    std::string out = bytes;
    std::memcpy(out.data(), &header, sizeof(header));
    return code_of(out);
  };
  CHECK(with([](auto& /*header*/) {}).empty());
  CHECK(with([](auto& header) { header.ef_construction = 20; }).empty());
  const std::string corrupt = "vectors_corrupt";
  for (const std::uint32_t m : {0U, 1U, 3U, 129U, 0xffff'ffffU})
    CHECK(with([m](auto& header) { header.m = m; }) == corrupt);
  for (const std::uint32_t ef : {0U, 10'001U})
    CHECK(with([ef](auto& header) { header.ef_construction = ef; }) == corrupt);
  CHECK(with([](auto& header) { header.metric = 3; }) == corrupt);
  CHECK(with([](auto& header) { header.block = 16; }) == corrupt);
  CHECK(with([](auto& header) { header.lists = 1; }) == corrupt);
  CHECK(with([](auto& header) { header.slots += 16; }) == corrupt);
  CHECK(with([](auto& header) { header.count = 0; }) == corrupt);
  CHECK(with([](auto& header) { header.version = 1; }) == corrupt);
  CHECK(with([](auto& header) { header.version = 4; }) == "vectors_newer");
  CHECK(code_of(with_value(bytes, vector_part::ids, 0, header_of(bytes).count)) == "");
  std::int64_t second = 0;
  std::memcpy(&second, bytes.data() + rankd::detail::vector_layout(header_of(bytes)).of(vector_part::ids).begin + 8, 8);
  CHECK(code_of(with_value(bytes, vector_part::ids, 0, second)) == corrupt);  // an id twice
}

TEST_CASE("a file with any damaged bytes is refused, or searched within its bounds") {
  const vector_table table = random_table(60, 3, 8);
  const std::string numbers = vector_file_bytes(table, vector_graph{.m = 2, .ef_construction = 10});
  const std::string texts = vector_file_bytes(with_string_ids(table), vector_graph{.m = 2, .ef_construction = 10});
  const std::string query = random_queries(1, 3).front();
  braid::random_source random(77);
  std::size_t accepted = 0;
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = round % 2 == 0 ? numbers : texts;
    const rankd::detail::vector_header header = header_of(bytes);
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
      bytes[sizeof(header) + random.below(bytes.size() - sizeof(header))] = static_cast<char>(random.below(256));
    const aligned_bytes own(with_header(bytes, header));
    const auto file = vector_file::parse(own.view(), "test");
    if (!file) {
      CHECK(file.error().front().code == "vectors_corrupt");
      continue;
    }
    ++accepted;
    for (const vector_metric metric : metrics) {
      const nearest_found found = (*file)->nearest(query, {.metric = metric, .count = 3, .ef_search = 5});
      CHECK(found.all.size() == 3);
      CHECK(is_sorted(found.all));
    }
  }
  CHECK(accepted > 300);
  CHECK(accepted < 2'700);
}
