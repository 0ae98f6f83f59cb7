// tests/rankd/engine/moved_ids_test.cpp: which ids moved between two answers. Why they did: tests/rankd/cli.
#include <rankd/engine/explain/moved_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto text_of(const std::optional<std::size_t>& at) -> std::string { return at ? std::to_string(*at) : "-"; }

/// As `ID:WAS>IS`, one after the other.
auto moves(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after) -> std::string {
  ranking was;
  ranking is;
  was.rows = row_set(batch(before));
  is.rows = row_set(batch(after));
  std::size_t all = 0;
  const auto found = moves_between(was, is, all);
  CHECK(found.size() == std::min(all, max_explained_ids));
  std::string out;
  for (const moved_id& each : found)
    out += (out.empty() ? "" : " ") + to_text(each.id) + ":" + text_of(each.was) + ">" + text_of(each.is);
  return out;
}

}  // namespace

TEST_CASE("the ids of one answer alone come first, then as few as explain the order") {
  CHECK(moves({}, {}).empty());
  CHECK(moves({1, 2, 3}, {1, 2, 3}).empty());
  CHECK(moves({1, 2, 3}, {2, 3}) == "1:1>-");
  CHECK(moves({2, 3}, {1, 2, 3}) == "1:->1");
  CHECK(moves({1, 2, 3, 4}, {2, 3, 4, 1}) == "1:1>4");
  CHECK(moves({1, 2, 3, 4}, {4, 1, 2, 3}) == "4:4>1");
  CHECK(moves({1, 2, 3, 9}, {8, 1, 3, 2}) == "8:->1 9:4>- 2:2>4");
  CHECK(moves({7, 7, 1}, {1, 7}) == "7:1>2");  // where it comes first
}

TEST_CASE("more than may be explained are counted") {
  std::vector<std::int64_t> many(max_explained_ids + 50);
  for (std::size_t at = 0; at < many.size(); ++at) many[at] = static_cast<std::int64_t>(at);
  ranking was;
  ranking is;
  was.rows = row_set(batch(many));
  std::size_t all = 0;
  CHECK(moves_between(was, is, all).size() == max_explained_ids);
  CHECK(all == many.size());
}
