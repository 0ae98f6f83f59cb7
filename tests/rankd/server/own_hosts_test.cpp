// tests/rankd/server/own_hosts_test.cpp: without tokens, no endpoint answers a browser that asks for another site.
#include <rankd/server/endpoints/own_hosts.hpp>

#include <rankd/server/studio/draft_plans.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/server/endpoints/openapi.hpp>
#include <rankd/server/studio/page.hpp>
#include <rankd/server/plan_changes.hpp>
#include <tests/rankd/engine/library_world.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::heard_answer;
using nlohmann::json;

namespace {

/// A server with every endpoint that there is.
class whole_world {
 public:
  explicit whole_world(std::vector<std::string> names = {}, std::optional<token_list> tokens = {}) {
    folder_.write("a.json", marked_plan("a", 1));
    value_of(changes_.reload());
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(1);
    options.clients_change_plans = true;
    options.shows_page = true;
    options.allowed_hosts = std::move(names);
    options.tokens = std::move(tokens);
    server_ = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                           .stores = reference_project::get().stores,
                                           .plans = &plans_,
                                           .changes = &changes_,
                                           .events = log_.get(),
                                           .rules = &rules_,
                                           .traffic_places = {events_.path()},
                                           .drafts = &drafts_},
                                          std::move(options)));
  }

  /// Sends a request whose fields are `fields`, whole lines.
  auto ask(const std::string& operation, const std::string& fields, const std::string& body = {}) const
      -> heard_answer {
    braid::testing::http_caller one(server_->address());
    one.say(operation + " HTTP/1.1\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
            body);
    return one.hear().value();
  }
  [[nodiscard]] auto accepted_events() const -> std::uint64_t { return log_->counts().accepted; }
  [[nodiscard]] auto reloads() const -> std::uint64_t { return changes_.reloads().done; }
  /// Returns `127.0.0.1:PORT`.
  [[nodiscard]] auto own_name() const -> std::string { return server_->address().to_string(); }

 private:
  braid::testing::scratch_folder folder_;
  braid::testing::scratch_folder events_;
  plan_library library_{reference_project::get().declared, {}};
  plan_changes changes_{library_, folder_.path(), {}};
  library_plans plans_{library_};
  event_rules rules_;
  std::unique_ptr<event_log> log_ = value_of(event_log::open({.folder = events_.path()}));
  draft_plans drafts_{{.compiler = {.program = "/nowhere", .project = folder_.path()},
                       .bind = [](const std::string&, const std::string&) -> braid::checked<bound_plan> {
                         return std::unexpected(braid::diagnostics());
                       }}};
  std::unique_ptr<rank_server> server_;
};

/// Returns every method and path of the description and of the page, as `GET /v1/plans`, and methods that paths do not
/// have.
auto all_operations() -> std::vector<std::string> {
  std::vector<std::string> all{"GET /ui/compiler.js", "DELETE /v1/plans", "OPTIONS /v1/rank"};
  for (const page_file& file : page_files()) all.push_back("GET " + std::string(file.path));
  const json text = json::parse(openapi_text());
  for (const auto& [pattern, methods] : text.at("paths").items()) {
    std::string path = pattern;
    for (const auto& [name, value] : {std::pair("{name}", "a"), std::pair("{number}", "1")})
      if (const std::size_t at = path.find(name); at != std::string::npos)
        path.replace(at, std::string_view(name).size(), value);
    for (const auto& [method, operation] : methods.items()) all.push_back((method == "get" ? "GET " : "POST ") + path);
  }
  return all;
}

auto code_of(const heard_answer& answer) -> std::string {
  if (answer.status != 403) return std::to_string(answer.status);
  return json::parse(answer.body).at("error").at("code").get<std::string>();
}

constexpr std::string_view one_event = R"({"events":[{"event_id":"e","type":"click"}]})";

struct foreign_case {
  std::string fields;
  std::string code;
};

auto foreign_cases() -> std::vector<foreign_case> {
  return {{"Host: evil.example\r\n", "foreign_host"},
          {"Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", "cross_site"},
          {"Host: localhost\r\nSec-Fetch-Site: same-site\r\n", "cross_site"},
          {"Host: localhost\r\nOrigin: https://evil.example\r\n", "cross_site"},
          {"Host: localhost\r\nOrigin: null\r\n", "cross_site"}};
}

}  // namespace

TEST_CASE("without tokens no endpoint answers a request that a browser sends for another site") {
  const whole_world world;
  const std::uint64_t reloads = world.reloads();
  for (const std::string& operation : all_operations()) {
    for (const foreign_case& each : foreign_cases())
      CHECK_MESSAGE(code_of(world.ask(operation, each.fields, std::string(one_event))) == each.code,
                    operation << " with " << each.fields);
  }
  CHECK(world.accepted_events() == 0);
  CHECK(world.reloads() == reloads);
}

TEST_CASE("programs and pages of the server itself are answered by every endpoint") {
  const whole_world world;
  const std::string own = world.own_name();
  for (const std::string& fields :
       {std::string("Host: localhost\r\n"), "Host: " + own + "\r\nOrigin: http://" + own + "\r\n",
        "Host: " + own + "\r\nOrigin: http://" + own + "\r\nSec-Fetch-Site: same-origin\r\n",
        std::string("Host: localhost\r\nSec-Fetch-Site: none\r\n")})
    for (const std::string& operation : all_operations())
      CHECK_MESSAGE(world.ask(operation, fields).status != 403, operation << fields);
  CHECK(world.ask("POST /v1/events", "Host: localhost\r\n", std::string(one_event)).status == 200);
  CHECK(world.accepted_events() == 1);
}

TEST_CASE("a Host that no name server can point elsewhere is the server's own") {
  const whole_world world;
  const auto ask = [&world](const std::string& host) {
    return code_of(world.ask("GET /v1/plans", "Host: " + host + "\r\n"));
  };
  for (const char* host : {"localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:8080", "192.0.2.7:80", "[::1]",
                           "[::1]:8080", "[2001:db8::1]:80"})
    CHECK_MESSAGE(ask(host) == "200", host);
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
                           "localhos", "127.1", "2130706433", "my-machine"})
    CHECK_MESSAGE(ask(host) == "foreign_host", host);
  const heard_answer refused = world.ask("GET /v1/plans", "Host: evil.example\r\nX-Request-Id: mine\r\n");
  CHECK(json::parse(refused.body).at("request_id") == "mine");
  const auto message = json::parse(refused.body).at("error").at("message").get<std::string>();
  for (const char* word : {"`evil.example`", "--allow-host", "--token-file"}) CHECK(message.contains(word));
}

TEST_CASE("an origin is the server's own if it has the Host of the request, whatever the case of its letters") {
  const whole_world world;
  const auto ask = [&world](const std::string& origin) {
    return code_of(world.ask("GET /v1/plans", "Host: localhost:80\r\nOrigin: " + origin + "\r\n"));
  };
  for (const char* origin : {"http://localhost:80", "https://LOCALHOST:80", "HTTP://localhost:80"})
    CHECK_MESSAGE(ask(origin) == "200", origin);
  for (const char* origin :
       {"http://localhost:81", "http://localhost", "localhost:80", "file://localhost:80", "http://",
        "http://localhost:80.evil.example", "chrome-extension://abc", "http://127.0.0.1:80"})
    CHECK_MESSAGE(ask(origin) == "cross_site", origin);
  CHECK(ask("http://localhost:80\r\nOrigin: http://localhost:80") == "cross_site");
  CHECK(ask("http://localhost:80\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: none") == "cross_site");
  CHECK(ask("http://localhost:80\r\nSec-Fetch-Site: unheard-of") == "cross_site");
}

TEST_CASE("further names of the server are hosts and origins, and a star allows every host but no further origin") {
  const whole_world named({"plans.example", "rankd"});
  const auto ask = [](const whole_world& world, const std::string& fields) {
    return code_of(world.ask("GET /v1/plans", fields));
  };
  CHECK(ask(named, "Host: Plans.Example:8080\r\n") == "200");
  CHECK(ask(named, "Host: rankd\r\n") == "200");
  CHECK(ask(named, "Host: rankd.example\r\n") == "foreign_host");
  CHECK(ask(named, "Host: localhost\r\nOrigin: https://plans.example\r\n") == "200");  // a proxy has written Host anew
  CHECK(ask(named, "Host: localhost\r\nOrigin: https://evil.example\r\n") == "cross_site");
  const whole_world any({"*"});
  CHECK(ask(any, "Host: evil.example\r\n") == "200");
  CHECK(ask(any, "Host: evil.example\r\nOrigin: http://other.example\r\n") == "cross_site");
  CHECK(ask(any, "Host: evil.example\r\nSec-Fetch-Site: cross-site\r\n") == "cross_site");
}

TEST_CASE("with tokens a request needs one, and may come from any site") {
  const whole_world world({}, value_of(token_list::parse("feed 0123456789abcdef\n", "tokens")));
  for (const foreign_case& each : foreign_cases()) {
    CHECK(world.ask("GET /ui", each.fields).status == 200);
    CHECK(world.ask("GET /v1/plans", each.fields).status == 401);
    CHECK(world.ask("GET /v1/plans", each.fields + "Authorization: Bearer 0123456789abcdef\r\n").status == 200);
  }
}

TEST_CASE("the name of a host has no port and no scheme") {
  for (const char* name : {"rankd", "a.example", "A-1_b.example", "*", "10.0.0.1"})
    CHECK_MESSAGE(is_host_name(name), name);
  for (const char* name : {"", "a:80", "http://a", "a/b", "*.example", "[::1]", "a b", "\xc3\xa4"})
    CHECK_FALSE_MESSAGE(is_host_name(name), name);
}
