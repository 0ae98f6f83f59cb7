// tests/rankd/engine/page_cursors_test.cpp: pages of a ranking, and cursors that are no good.
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/engine/plans/plan_experiments.hpp>
#include <tests/rankd/engine/engine_world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;

namespace {

using ids = std::vector<std::int64_t>;

auto settings(std::string key = "sixteen bytes or more") -> cursor_settings { return {.key = std::move(key)}; }

auto with_cursors() -> engine_options { return {.cursors = make_page_cursors(settings())}; }

/// Rows in descending order of their ids, `size` of them a page.
auto paged(int rows, const std::string& size, const std::string& tables = "") -> std::string {
  return artifact_of(source("s", rows) + "," + node("o", "core::sort", "s", R"({"by":1,"order":"desc"})") + "," +
                         node("p", "core::paginate", "o", R"({"size":)" + size + "}"),
                     R"("p")", tables);
}

/// The size of pages is a param of the request.
auto sized(int rows) -> std::string {
  return paged(rows, R"({"param_id":4,"min":1,"max":50})",
               R"("capabilities_required":["cap.rfc.0003.bound_params.v1"],)");
}

auto asked(const std::string& cursor, const std::string& more = "") -> std::string {
  return R"({"user_id":1)" + more + (cursor.empty() ? "" : R"(,"cursor":")" + cursor + "\"") + "}";
}

constexpr std::string_view identity = "0123456789abcdef";

/// The code of what is wrong with a cursor, or "fine".
auto refusal(std::string_view cursor, std::chrono::milliseconds now, cursor_settings by = settings()) -> std::string {
  const auto read = page_cursors(std::move(by)).read(cursor, identity, now);
  if (read) return "fine";
  CHECK(read.error().pointer == "/cursor");
  CHECK_FALSE(read.error().message.empty());
  return read.error().code;
}

}  // namespace

TEST_CASE("the pages of a ranking have each row once and in order, and the last one has no cursor") {
  engine_world world(1, with_cursors());
  for (const int rows : {1, 9, 10, 11, 20, 53}) {
    CAPTURE(rows);
    const bound_plan& plan = world.bind(paged(rows, "10"));
    ids all;
    std::string cursor;
    int pages = 0;
    do {
      const ranking page = world.rank(plan, asked(cursor));
      REQUIRE(error_of(page) == "fine");
      CHECK(page.rows.size() == static_cast<std::size_t>(std::min(10, rows - 10 * pages)));
      for (const std::int64_t id : ids_of(page)) all.push_back(id);
      cursor = page.next_cursor;
      const auto answer = nlohmann::json::parse(to_json(page));
      CHECK(answer.value("next_cursor", "") == cursor);
      CHECK(answer.contains("next_cursor") == !cursor.empty());
    } while (!cursor.empty() && ++pages < 10);
    const bound_plan& whole = world.bind(
        artifact_of(source("s", rows) + "," + node("o", "core::sort", "s", R"({"by":1,"order":"desc"})"), R"("o")"));
    CHECK((all == ids_of(world.rank(whole, asked("")))));
  }
}

TEST_CASE("a page behind the rows that are left is empty") {
  engine_world world(1, with_cursors());
  const bound_plan& many = world.bind(paged(30, "20"));
  const std::string cursor = world.rank(many, asked("")).next_cursor;
  // As for a list that has become shorter since.
  const page_cursors by(settings());
  auto request = value_of(parse_request(asked(""), reference_project::get().declared));
  REQUIRE_FALSE(find_page(request, many, reference_project::get().declared, &by).has_value());
  const std::string beyond = by.sign({.begin = 1000, .first = 1ms}, request.page.identity, milliseconds_now());
  const ranking page = world.rank(many, asked(beyond));
  CHECK(error_of(page) == "fine");
  CHECK(page.rows.empty());
  CHECK(page.next_cursor.empty());
  CHECK(world.rank(many, asked(cursor)).rows.size() == 10);
}

TEST_CASE("a cursor is refused where it was changed, or signed with another key") {
  const std::string cursor = page_cursors(settings()).sign({.begin = 20, .first = 5ms}, identity, 1000ms);
  CHECK(refusal(cursor, 1000ms) == "fine");
  CHECK(refusal(cursor, 1000ms, settings("another key of bytes")) == "bad_cursor");
  for (std::size_t at = 0; at < cursor.size(); ++at) {
    std::string changed = cursor;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    CHECK(refusal(changed, 1000ms) == "bad_cursor");
  }
  for (const std::string_view none : {"", "A", "é", "A=", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
    CHECK(refusal(none, 1000ms) == "bad_cursor");
  CHECK(refusal(cursor + "AAAA", 1000ms) == "bad_cursor");
}

TEST_CASE("a cursor has one spelling") {
  const page_cursors by(settings());
  const auto spelled = [&by](std::size_t begin) { return by.sign({.begin = begin, .first = 5ms}, identity, 1000ms); };
  std::size_t begin = 0;
  while (spelled(begin).find_first_of("-_") == std::string::npos) ++begin;
  std::string cursor = spelled(begin);
  CHECK(refusal(cursor, 1000ms) == "fine");
  std::ranges::replace(cursor, '-', '+');
  std::ranges::replace(cursor, '_', '/');
  CHECK(refusal(cursor, 1000ms) == "bad_cursor");
  CHECK(refusal(spelled(begin).substr(0, spelled(begin).size() - 2) + "==", 1000ms) == "bad_cursor");
}

TEST_CASE("a cursor of another key can be signed again, for the same ranking or another one") {
  const page_cursors by(settings());
  const std::string foreign = page_cursors(settings("another key of bytes")).sign({.begin = 20}, identity, 1000ms);
  const auto again = by.sign_again(foreign);
  REQUIRE(again.has_value());
  CHECK(*again == by.sign({.begin = 20}, identity, 1000ms));
  CHECK(by.sign_again(foreign, "fedcba9876543210") == by.sign({.begin = 20}, "fedcba9876543210", 1000ms));
  CHECK_FALSE(by.sign_again("none").has_value());
}

TEST_CASE("a cursor that is too old is refused, and one of another ranking") {
  const page_cursors by(settings());
  const std::string cursor = by.sign({.begin = 20, .first = 5ms}, identity, 1000ms);
  CHECK(refusal(cursor, 1000ms + 1h) == "fine");
  CHECK(refusal(cursor, 1001ms + 1h) == "expired_cursor");
  CHECK(refusal(cursor, 1000ms + 1h, {.key = settings().key, .max_age = 10s}) == "expired_cursor");
  const std::string other = by.sign({.begin = 20, .first = 5ms}, "fedcba9876543210", 1000ms);
  CHECK(refusal(other, 1000ms) == "foreign_cursor");
  CHECK(by.read(cursor, identity, 2000ms)->begin == 20);
  CHECK(by.read(cursor, identity, 2000ms)->first == 5ms);
}

TEST_CASE("a cursor belongs to its plan, its user, its params and its candidates, and to no other field") {
  engine_world world(1, with_cursors());
  const bound_plan& plan = world.bind(sized(30));
  const auto code = [&](const bound_plan& of, const std::string& request) {
    const ranking answer = world.rank(of, request);
    if (answer.error) CHECK(answer.error->pointer == "/cursor");
    return answer.error ? answer.error->code : "fine";
  };
  const std::string cursor = world.rank(plan, asked("", R"(,"param_overrides":{"page_size":7})")).next_cursor;
  REQUIRE_FALSE(cursor.empty());
  CHECK(code(plan, asked(cursor, R"(,"param_overrides":{"page_size":7})")) == "fine");
  CHECK(code(plan, asked(cursor, R"(,"param_overrides":{"page_size":7},"output_keys":[],"request_id":"x")")) == "fine");
  CHECK(code(plan, asked(cursor, R"(,"param_overrides":{"page_size":8})")) == "foreign_cursor");
  CHECK(code(plan, asked(cursor)) == "foreign_cursor");
  CHECK(code(plan, R"({"user_id":2,"param_overrides":{"page_size":7},"cursor":")" + cursor + "\"}") ==
        "foreign_cursor");
  const bound_plan& other = world.bind(sized(31));
  CHECK(code(other, asked(cursor, R"(,"param_overrides":{"page_size":7})")) == "foreign_cursor");
}

TEST_CASE("the ids of candidates are a part of what pages have in common") {
  engine_world world(1, with_cursors());
  const bound_plan& plan = world.bind(artifact_of(
      node("c", "core::candidates", "") + "," + node("p", "core::paginate", "c", R"({"size":2})"), R"("p")"));
  const auto given = [](const std::string& list) { return R"(,"candidates":{"id":[)" + list + "]}"; };
  const std::string cursor = world.rank(plan, asked("", given("5,3,4"))).next_cursor;
  CHECK((ids_of(world.rank(plan, asked(cursor, given("5,3,4")))) == ids{4}));
  CHECK(error_of(world.rank(plan, asked(cursor, given("5,4,3")))) == "foreign_cursor ");
}

TEST_CASE("a plan with pages is refused without a key, and one without pages takes no cursor") {
  engine_world world(1);
  const bound_plan& plan = world.bind(paged(3, "2"));
  CHECK(error_of(world.rank(plan, asked(""))) == "no_cursor_key p");
  const registries& declared = reference_project::get().declared;
  const bound_plan& other = world.bind(artifact_of(source("s", 3), R"("s")"));
  auto request = value_of(parse_request(asked("AAAA"), declared));
  const braid::diagnostics wrong = fit_to_plan(request, other, declared);
  REQUIRE(wrong.size() == 1);
  CHECK(wrong.front().code == "unknown_field");
  CHECK(wrong.front().pointer == "/cursor");
}

TEST_CASE("all pages have the time of the first one where a clock gives it, and their own where requests do") {
  const braid::testing::scratch_folder folder;
  folder.write("keys.toml",
               "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n");
  std::string params;
  for (const std::string unit : {"seconds", "milliseconds"})
    params += "[[param]]\nparam_id = " + std::to_string(unit.size()) + "\nname = \"" + unit +
              "\"\ntype = \"int\"\nnullable = false\nsource = \"context\"\nclock = \"" + unit + "\"\n";
  folder.write("params.toml", params);
  for (const char* empty : {"endpoints.dev.toml", "capabilities.toml"}) folder.write(empty, "");
  const registries declared = value_of(registries::load(folder.path(), "dev"));
  const bound_plan plan =
      value_of(bind_plan(value_of(parse_plan(paged(3, "1"), "t.json", {all_op_shapes(), declared})), declared));
  const page_cursors by(settings());

  auto first = value_of(parse_request("{}", declared));
  REQUIRE_FALSE(find_page(first, plan, declared, &by).has_value());
  const std::string cursor = by.sign({.begin = 1, .first = 7'999ms}, first.page.identity, milliseconds_now());
  const auto params_of = [&](const std::string& context) {
    auto next = value_of(parse_request(R"({"cursor":")" + cursor + "\"" + context + "}", declared));
    const auto refused = find_page(next, plan, declared, &by);
    return refused ? refused->code
                   : std::to_string(std::get<std::int64_t>(next.params[0])) + " " +
                         std::to_string(std::get<std::int64_t>(next.params[1])) + " " + std::to_string(next.page.begin);
  };
  CHECK(params_of("") == "7 7999 1");
  CHECK(params_of(R"(,"context":{"seconds":9})") == "foreign_cursor");
}
