// tests/rankd/server/page_test.cpp: the page of plans: off unless asked for, strict towards browsers, whole by itself.
#include <rankd/server/page.hpp>

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

/// Over the name that the field Host has; browsers put there what stands in the address.
auto ask_as(const serve_world& world, std::string_view host, std::string_view method, std::string_view path,
            std::string_view body = {}) -> heard_answer {
  auto one = world.caller();
  std::string text(method);
  text.append(" ").append(path).append(" HTTP/1.1\r\nHost: ").append(host);
  text.append("\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
  one.say(text);
  return one.hear().value();
}

auto ask_here(const serve_world& world, std::string_view method, std::string_view path, std::string_view body = {})
    -> heard_answer {
  return ask_as(world, "localhost", method, path, body);
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
    CHECK(ask_here(with, "GET", file.path).status == 200);
  }
  CHECK(ask_here(with, "GET", "/ui/nothing").status == 404);
  CHECK(ask_here(with, "POST", "/ui").status == 405);
  const std::string request = R"({"user_id":1,"request_id":"r","plan":"reels_plan_a"})";
  CHECK(ask_here(with, "POST", "/v1/rank", request).body == without.rank(request).body);
}

TEST_CASE("each file of the page has its type and the policy, and is that of the repository") {
  serve_world world(with_page());
  CHECK(page_files().front().path == "/ui");
  for (const page_file& file : page_files()) {
    const heard_answer answer = ask_here(world, "GET", file.path);
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

TEST_CASE("without tokens a server with the page answers to addresses and localhost, and to no other name") {
  serve_world world(with_page());
  for (const char* host : {"localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:8080", "192.0.2.7:80", "[::1]",
                           "[::1]:8080", "[2001:db8::1]:80"})
    CHECK_MESSAGE(ask_as(world, host, "GET", "/v1/plans").status == 200, host);
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
                           "localhos", "127.1", "2130706433", "my-machine"}) {
    const heard_answer refused = ask_as(world, host, "GET", "/v1/plans");
    CHECK_MESSAGE(refused.status == 403, host);
    CHECK(json::parse(refused.body).at("error").at("code") == "foreign_host");
  }
  for (const char* path :
       {"/ui", "/ui/page.mjs", "/metrics", "/healthz", "/readyz", "/v1/openapi.json", "/v1/plans/ten", "/v1/tasks"})
    CHECK_MESSAGE(ask_as(world, "evil.example", "GET", path).status == 403, path);
  for (const char* path : {"/v1/rank", "/v1/rank/batch", "/v1/plans"})
    CHECK_MESSAGE(ask_as(world, "evil.example", "POST", path, "{}").status == 403, path);
}

TEST_CASE("names of hosts do not matter where there is no page, or where clients have tokens") {
  serve_world without;
  CHECK(ask_as(without, "evil.example", "GET", "/v1/plans").status == 200);
  serve_options guarded = with_page();
  guarded.tokens = tokens();
  const serve_world world(guarded);
  CHECK(ask_as(world, "evil.example", "GET", "/ui").status == 200);
  CHECK(ask_as(world, "evil.example", "GET", "/v1/plans").status == 401);
}
