// tests/rankd/server/page_test.cpp: the page of plans: off unless asked for, strict towards browsers, whole by itself.
#include <rankd/server/studio/page.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/server/serve_world.hpp>

#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::heard_answer;
using nlohmann::json;
using rankd::testing::serve_world;

namespace {

auto with_page() -> serve_options {
  serve_options options;
  options.shows_page = true;
  return options;
}

auto tokens() -> token_list { return rankd::testing::value_of(token_list::parse("feed 0123456789abcdef\n", "tokens")); }

/// The code with which a server with the page does not start at an address; `none` where it does.
auto refusal_at(const std::string& address, std::optional<token_list> given) -> std::string {
  serve_options options = with_page();
  options.listen = braid::socket_address::parse(address).value();
  options.tokens = std::move(given);
  const registries& declared = rankd::testing::reference_project::get().declared;
  const fixed_plans plans(rankd::testing::test_plans());
  const auto made = rank_server::start(
      {.declared = &declared, .stores = rankd::testing::reference_project::get().stores, .plans = &plans},
      std::move(options));
  return made ? "none" : made.error().front().code;
}

}  // namespace

TEST_CASE("without the option there is no page, and with it requests get the same bytes") {
  serve_world without;
  serve_world with(with_page());
  for (const page_file& file : page_files()) {
    CHECK(without.ask("GET", file.path).status == 404);
    CHECK(with.ask("GET", file.path).status == 200);
  }
  CHECK(with.ask("GET", "/ui/nothing").status == 404);
  CHECK(with.ask("POST", "/ui").status == 405);
  const std::string request = R"({"user_id":1,"request_id":"r","plan":"reels_plan_a"})";
  CHECK(with.ask("POST", "/v1/rank", request).body == without.rank(request).body);
}

TEST_CASE("each file of the page has its type and the policy, and is that of the repository") {
  serve_world world(with_page());
  CHECK(page_files().front().path == "/ui");
  for (const page_file& file : page_files()) {
    const heard_answer answer = world.ask("GET", file.path);
    CHECK(answer.field("Content-Type") == file.type);
    CHECK(answer.field("Content-Security-Policy") == page_policy);
    CHECK(answer.field("X-Content-Type-Options") == "nosniff");
    CHECK(answer.field("Referrer-Policy") == "no-referrer");
    const std::string name = file.path == "/ui" ? "page.html" : std::string(file.path.substr(4));
    CHECK(answer.body == read_text_file("rankd/server/page/" + name).value());
  }
}

TEST_CASE("the policy of the page lets it load nothing but its own files, and run no text") {
  CHECK(page_policy.starts_with("default-src 'none'; "));
  for (const char* never : {"unsafe", "http:", "https:", "data:", "*"})
    CHECK_MESSAGE(page_policy.find(never) == std::string_view::npos, never);
}

TEST_CASE("the page is small, names no other host, and has no script or style between its lines") {
  std::size_t size = 0;
  for (const page_file& file : page_files()) {
    size += file.text.size();
    for (const char* never : {"http://", "https://", "innerHTML", "eval(", "style=", "onclick="})
      CHECK_MESSAGE(file.text.find(never) == std::string_view::npos, file.path << " has " << never);
  }
  CHECK(size < std::size_t{140} * 1024);
  const std::string_view page = page_files().front().text;
  CHECK(page.find("<style") == std::string_view::npos);
  CHECK(page.find("<script type=\"module\" src=\"ui/page.mjs\"></script>") != std::string_view::npos);
  CHECK(page.find("<link rel=\"stylesheet\" href=\"ui/page.css\">") != std::string_view::npos);
}

TEST_CASE("other machines get the page only where clients have tokens, and with these the page asks for one") {
  CHECK(refusal_at("0.0.0.0:0", std::nullopt) == "page_needs_tokens");
  CHECK(refusal_at("[::]:0", std::nullopt) == "page_needs_tokens");
  CHECK(refusal_at("127.0.0.2:0", std::nullopt) == "none");
  CHECK(refusal_at("0.0.0.0:0", tokens()) == "none");
  serve_options guarded = with_page();
  guarded.tokens = tokens();
  serve_world world(guarded);
  CHECK(world.ask("GET", "/ui").status == 200);
  CHECK(world.ask("GET", "/v1/plans").status == 401);
}
