// tests/rankd/store/vector_file_test.cpp: files of vectors: the nearest against a search that sorts all, and damage.
#include <rankd/store/vector_file.hpp>

#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/vector_build.hpp>
#include <tests/rankd/store/vector_tables.hpp>

#include <braid/task.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

/// The texts of the nearest.
auto ids_of(const opened& in, std::string_view query, const nearest_options& how) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const neighbour& each : in.file->nearest(query, how).all) out.emplace_back(in.file->text(each.id));
  return out;
}

/// A file with the id of its first slot replaced, and checksums that fit.
auto with_first_id(std::string bytes, std::int64_t id) -> std::string {
  return with_value(std::move(bytes), rankd::detail::vector_part::ids, 0, id);
}

}  // namespace

TEST_CASE("the nearest are those of a search that sorts all, bit by bit, for each metric") {
  for (const auto& [count, dimensions] : {std::pair<std::size_t, std::uint32_t>{1, 1}, {16, 3}, {17, 8}, {250, 13}}) {
    const vector_table table = random_table(count, dimensions, count);
    const opened in(table);
    CHECK(in.file->size() == count);
    CHECK(in.file->dimensions() == dimensions);
    const std::string query = bytes_of(random_table(1, dimensions, 99).numbers);
    for (const vector_metric metric : {vector_metric::dot, vector_metric::cosine, vector_metric::l2}) {
      const auto expected = nearest_model(table, query, metric, 10);
      const nearest_found found = in.file->nearest(query, {.metric = metric, .count = 10});
      CHECK(found.all == expected);
      CHECK(found.looked_at == count);
    }
  }
}

TEST_CASE("equally near vectors come by their ids") {
  const opened in({.dimensions = 1, .ids = {9, -3, 4, 2}, .numbers = {1, 1, 2, 1}});
  const nearest_found found = in.file->nearest(bytes_of(std::vector<float>{1}), {.count = 3});
  CHECK(found.all == std::vector<neighbour>{{2, 4}, {1, -3}, {1, 2}});
}

TEST_CASE("a cosine with a vector of no length is 0") {
  const opened in({.dimensions = 2, .ids = {1, 2}, .numbers = {0, 0, -1, 0}});
  const nearest_found found =
      in.file->nearest(bytes_of(std::vector<float>{1, 0}), {.metric = vector_metric::cosine, .count = 5});
  CHECK(found.all == std::vector<neighbour>{{0, 1}, {-1, 2}});
}

TEST_CASE("lists change nothing where all are looked at, and few of them are looked at where few are wanted") {
  const vector_table table = random_table(700, 6, 3);
  const opened flat(table);
  const opened in(table, {.count = 20, .seed = 5});
  CHECK(in.file->lists() == 20);
  CHECK(in.file->seed() == 5);
  const std::string query = bytes_of(random_table(1, 6, 8).numbers);
  const nearest_found all = flat.file->nearest(query, {.metric = vector_metric::l2, .count = 25});
  CHECK(in.file->nearest(query, {.metric = vector_metric::l2, .count = 25}).all == all.all);
  CHECK(in.file->nearest(query, {.metric = vector_metric::l2, .count = 25, .lists = 20}).all == all.all);
  CHECK(in.file->nearest(query, {.metric = vector_metric::l2, .count = 25, .lists = 999}).all == all.all);
  const nearest_found few = in.file->nearest(query, {.metric = vector_metric::l2, .count = 25, .lists = 4});
  CHECK(few.looked_at < 300);
  CHECK(few.all.front() == all.all.front());
  std::size_t same = 0;
  for (const neighbour& each : few.all) same += std::ranges::count(all.all, each);
  CHECK(same >= 15);
}

TEST_CASE("the same vectors in any order give the same bytes, and another seed other lists") {
  const vector_table table = random_table(300, 4, 1);
  const vector_table turned = reversed(table);
  CHECK(vector_file_bytes(table, vector_lists{}) == vector_file_bytes(turned, vector_lists{}));
  const std::string lists = vector_file_bytes(table, {.count = 9, .seed = 1});
  CHECK(lists == vector_file_bytes(turned, {.count = 9, .seed = 1}));
  CHECK(lists != vector_file_bytes(table, {.count = 9, .seed = 2}));
}

TEST_CASE("ids that are strings are ordered by their bytes, in whatever order the vectors were given") {
  const vector_table table{
      .dimensions = 1, .ids = {0, 1, 2, 3}, .texts = {"item:9", "b", "item:10", "\xc3\xa4"}, .numbers = {1, 2, 1, 1}};
  const opened in(table);
  CHECK(in.file->id_type() == value_type::string);
  CHECK(ids_of(in, bytes_of(std::vector<float>{1}), {.count = 9}) ==
        std::vector<std::string>{"b", "item:10", "item:9", "\xc3\xa4"});
  const vector_table turned{
      .dimensions = 1, .ids = {0, 1, 2, 3}, .texts = {"\xc3\xa4", "item:10", "b", "item:9"}, .numbers = {1, 1, 2, 1}};
  CHECK(vector_file_bytes(table, vector_lists{}) == vector_file_bytes(turned, vector_lists{}));
}

TEST_CASE("a file with string ids finds the vectors of the same file with integer ids") {
  vector_table numbers = random_table(400, 5, 7);
  vector_table texts = numbers;
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    numbers.ids[row] = static_cast<std::int64_t>(row);
    texts.ids[row] = static_cast<std::int64_t>(row);
    texts.texts.push_back("item:" + std::to_string(1000 + row));
  }
  const std::string query = bytes_of(random_table(1, 5, 8).numbers);
  for (const std::uint32_t lists : {0U, 9U}) {
    const opened with_numbers(numbers, {.count = lists});
    const opened with_texts(texts, {.count = lists});
    const nearest_options how{.metric = vector_metric::l2, .count = 60, .lists = lists / 2};
    const nearest_found expected = with_numbers.file->nearest(query, how);
    const nearest_found found = with_texts.file->nearest(query, how);
    CHECK(found.all == expected.all);
    CHECK(found.looked_at == expected.looked_at);
    for (const neighbour& each : found.all)
      CHECK(with_texts.file->text(each.id) == "item:" + std::to_string(1000 + each.id));
  }
}

TEST_CASE("string ids that do not fit are refused in a file, though its checksums fit") {
  const auto with = [](std::vector<std::string> texts) {
    vector_table table{.dimensions = 1, .ids = {0, 1}, .texts = std::move(texts), .numbers = {1, 2}};
    return code_of(vector_file_bytes(std::move(table), vector_lists{}));
  };
  CHECK(with({"a", "b"}).empty());
  CHECK(with({"a", "a"}) == "vectors_corrupt");
  CHECK(with({"", "a"}) == "vectors_corrupt");
  CHECK(with({"a", "\xff"}) == "vectors_corrupt");
  CHECK(with({"a", std::string(129, 'b')}) == "vectors_corrupt");
}

TEST_CASE("an id of a file with string ids that has no text of its own is refused") {
  const vector_table table{.dimensions = 1, .ids = {0, 1}, .texts = {"a", "b"}, .numbers = {1, 2}};
  const std::string bytes = vector_file_bytes(table, {.count = 2, .seed = 1});
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{1'000'000'000'000}})
    CHECK(code_of(with_first_id(bytes, wrong)) == "vectors_corrupt");
  CHECK(code_of(with_first_id(bytes, 0)) != code_of(with_first_id(bytes, 1)));  // one of them is its own
}

TEST_CASE("a search with a filter finds what a search of the allowed vectors alone finds") {
  const vector_table table = random_table(900, 6, 12);
  const opened flat(table);
  const opened in(table, {.count = 30, .seed = 2});
  const std::string query = bytes_of(random_table(1, 6, 13).numbers);
  for (const std::size_t every : {1U, 2U, 7U, 90U, 899U}) {
    CAPTURE(every);
    vector_table some{.dimensions = 6, .ids = {}, .numbers = {}};
    for (std::size_t row = 0; row < table.size(); row += every) {
      some.ids.push_back(table.ids[row]);
      some.numbers.insert(some.numbers.end(), table.at(row).begin(), table.at(row).end());
    }
    const auto expected = nearest_model(some, query, vector_metric::l2, 20);
    for (const opened* each : {&flat, &in}) {
      vector_filter allowed = vector_filter::none(*each->file);
      for (const std::int64_t id : some.ids) allowed.allow(id);
      allowed.allow(some.ids.front());
      allowed.allow(std::int64_t{123'456'789});
      CHECK(allowed.size() == some.size());
      vector_filter refused = vector_filter::all(*each->file);
      for (std::size_t row = 0; row < table.size(); ++row)
        if (row % every != 0) refused.refuse(table.ids[row]);
      CHECK(refused.size() == some.size());
      for (const vector_filter* by : {&allowed, &refused}) {
        const nearest_found found =
            each->file->nearest(query, {.metric = vector_metric::l2, .count = 20, .allowed = by});
        CHECK(found.all == expected);
        CHECK(found.looked_at == some.size());
      }
    }
  }
}

TEST_CASE("a search of some lists with a filter is exact if few vectors are allowed, and finds most if many are") {
  const vector_table table = random_table(2'000, 6, 14);
  const opened in(table, {.count = 40, .seed = 3});
  const vector_filter everything = vector_filter::all(*in.file);
  std::size_t found_of_many = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string query = bytes_of(random_table(1, 6, 100 + seed).numbers);
    const auto search = [&](const vector_filter& allowed, std::size_t lists) {
      return in.file->nearest(query, {.metric = vector_metric::l2, .count = 10, .lists = lists, .allowed = &allowed});
    };
    // The lists of a search of 4 lists have 200 vectors on average.
    vector_filter few = vector_filter::none(*in.file);
    for (std::size_t row = 0; row < table.size(); row += 10) few.allow(table.ids[row]);
    const nearest_found some = search(few, 4);
    CHECK(some.all == search(few, 0).all);
    CHECK(some.looked_at == 200);
    vector_filter many = vector_filter::none(*in.file);
    for (std::size_t row = 0; row < table.size(); row += 3) many.allow(table.ids[row]);
    const nearest_found most = search(many, 4);
    CHECK(most.looked_at >= 200);
    CHECK(most.looked_at < many.size());
    const std::vector<neighbour> exact = search(many, 0).all;
    for (const neighbour& each : most.all) found_of_many += std::ranges::count(exact, each);
  }
  CHECK(found_of_many >= 160);
  const nearest_found all = in.file->nearest(bytes_of(table.at(0)), {.count = 10, .lists = 39, .allowed = &everything});
  CHECK(all.looked_at <= table.size());  // the padding of blocks does not count
}

TEST_CASE("a filter by string ids allows and refuses the vectors with these ids") {
  vector_table table{.dimensions = 1, .ids = {}, .numbers = {}};
  for (int row = 0; row < 40; ++row) {
    table.ids.push_back(row);
    table.texts.push_back("item:" + std::to_string(row));
    table.numbers.push_back(static_cast<float>(row));
  }
  for (const std::uint32_t lists : {0U, 5U}) {
    const opened in(table, {.count = lists, .seed = 1});
    const std::string query = bytes_of(std::vector<float>{1});
    vector_filter allowed = vector_filter::none(*in.file);
    for (const std::string_view id : {"item:3", "item:39", "item:0", "item:4", "", "item", "item:40", "zz"})
      allowed.allow(id);
    CHECK(allowed.size() == 4);
    allowed.refuse(std::string_view("item:39"));
    CHECK(ids_of(in, query, {.count = 9, .allowed = &allowed}) ==
          std::vector<std::string>{"item:4", "item:3", "item:0"});
  }
}

TEST_CASE("an id that belongs to vectors of two lists is refused, though its checksums fit") {
  const vector_table table{.dimensions = 1, .ids = {1, 2}, .numbers = {-5, 5}};
  const std::string bytes = vector_file_bytes(table, {.count = 2, .seed = 1});
  CHECK(code_of(with_first_id(bytes, 3)).empty());
  CHECK(code_of(with_first_id(bytes, 1)) != code_of(with_first_id(bytes, 2)));
}

TEST_CASE("vectors outside of a file have the scores that they have in it") {
  const vector_table table = random_table(37, 5, 17);
  const opened in(table);
  const std::string query = bytes_of(random_table(1, 5, 18).numbers);
  std::vector<std::string> bytes;
  for (std::size_t row = 0; row < table.size(); ++row) bytes.push_back(bytes_of(table.at(row)));
  const std::vector<std::string_view> vectors(bytes.begin(), bytes.end());
  for (const vector_metric metric : {vector_metric::dot, vector_metric::cosine, vector_metric::l2}) {
    std::vector<double> scores(vectors.size());
    score_vectors(query, vectors, metric, scores);
    for (const neighbour& each : in.file->nearest(query, {.metric = metric, .count = 37}).all)
      CHECK(scores[static_cast<std::size_t>(std::ranges::find(table.ids, each.id) - table.ids.begin())] == each.score);
  }
}

TEST_CASE("as many lists as vectors are possible, though vectors are the same") {
  const vector_table same{.dimensions = 1, .ids = {1, 2, 3}, .numbers = {7, 7, 7}};
  const opened in(same, {.count = 3, .seed = 0});
  CHECK(in.file->nearest(bytes_of(std::vector<float>{1}), {.count = 9}).all.size() == 3);
}

TEST_CASE("workers of a pool find the same") {
  const vector_table table = random_table(40'000, 2, 4);
  const opened in(table);
  const std::string query = bytes_of(std::vector<float>{0.3F, -0.8F});
  const nearest_found alone = in.file->nearest(query, {.count = 50});
  braid::pool workers({.workers = 2});
  const nearest_found shared =
      braid::spawn(workers, [&] { return in.file->nearest(query, {.count = 50, .is_shared = true}); }).get();
  CHECK(shared.all == alone.all);
  CHECK(shared.looked_at == alone.looked_at);
}

TEST_CASE("for_each gives each vector with its id") {
  const vector_table table = random_table(40, 3, 2);
  const opened in(table, {.count = 4, .seed = 1});
  std::size_t seen = 0;
  in.file->for_each([&](std::int64_t id, std::string_view vector) {
    const auto at = std::ranges::find(table.ids, id) - table.ids.begin();
    CHECK(vector == bytes_of(table.at(static_cast<std::size_t>(at))));
    ++seen;
  });
  CHECK(seen == 40);
}

TEST_CASE("every byte of a file is covered by a checksum") {
  vector_table table = random_table(20, 3, 6);
  SUBCASE("with integer ids") {}
  SUBCASE("with string ids") {
    for (std::size_t row = 0; row < table.size(); ++row) table.texts.push_back("item:" + std::to_string(row));
  }
  std::string bytes = vector_file_bytes(table, {.count = 2, .seed = 1});
  SUBCASE("with a graph") { bytes = vector_file_bytes(table, vector_graph{.m = 4}); }
  CHECK(code_of(bytes).empty());
  std::size_t unnoticed = 0;  // bytes between parts, which nothing reads
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    unnoticed += code_of(other).empty() ? 1 : 0;
  }
  CHECK(unnoticed < 7 * 64);
  CHECK(code_of(bytes.substr(0, bytes.size() - 1)) == "vectors_corrupt");
  CHECK(code_of(bytes + "x") == "vectors_corrupt");
  CHECK(code_of("") == "vectors_foreign");
  CHECK(code_of(std::string(500, 'x')) == "vectors_foreign");
  std::string newer = bytes;
  newer[8] = 4;
  CHECK(code_of(newer) == "vectors_newer");
}

TEST_CASE("what the builder refuses is refused in a file, though its checksums fit") {
  const float infinite = std::numeric_limits<float>::infinity();
  const float no_number = std::numeric_limits<float>::quiet_NaN();
  const float largest = std::numeric_limits<float>::max();
  const auto with = [](std::vector<float> numbers, std::vector<std::int64_t> ids = {1, 2, 3}) {
    return code_of(
        vector_file_bytes({.dimensions = 2, .ids = std::move(ids), .numbers = std::move(numbers)}, vector_lists{}));
  };
  CHECK(with({1, 2, 3, 4, 5, 6}).empty());
  CHECK(with({largest, -largest, 0, -0.0F, 1e-45F, 6}).empty());
  for (const float wrong : {infinite, -infinite, no_number, -no_number})
    for (std::size_t at = 0; at < 6; ++at) {
      std::vector<float> numbers{1, 2, 3, 4, 5, 6};
      numbers[at] = wrong;
      CHECK(with(numbers) == "vectors_corrupt");
    }
  CHECK(with({1, 2, 3, 4, 5, 6}, {1, 2, 2}) == "vectors_corrupt");
  const auto found = vector_file::open("tests/rankd/store/infinite.rvec");
  REQUIRE_FALSE(found);
  CHECK(found.error().front().code == "vectors_corrupt");
  CHECK(found.error().front().message.contains("infinite or NaN"));
}

TEST_CASE("the cosine of a vector with itself is at most 1, in a file as in a formula") {
  const vector_table table = random_table(500, 5, 21);
  const opened in(table);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string vector = bytes_of(table.at(row));
    const nearest_found found = in.file->nearest(vector, {.metric = vector_metric::cosine, .count = 1});
    CHECK(found.all.front().score <= 1);
    CHECK(found.all.front().score == cosine_similarity(vector, vector));
  }
}

TEST_CASE("a file that is not there, or a folder, is said to be so") {
  CHECK(vector_file::open("/nowhere/at/all.rvec").error().front().code == "vectors_missing");
  CHECK(vector_file::open("/tmp").error().front().code == "vectors_missing");
  CHECK(vector_file::make_digest("/nowhere/at/all.rvec").error().front().code == "vectors_missing");
}
