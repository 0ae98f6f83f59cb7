// tests/rankd/server/openapi_test.cpp: the description says what the server does, and the server does what it says.
#include <rankd/server/endpoints/openapi.hpp>

#include <rankd/engine/explain/explanation.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/server/records/record_writer.hpp>
#include <tests/rankd/server/closed_store.hpp>
#include <tests/rankd/server/changing_world.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/rankd/server/slow_trace.hpp>
#include <tests/rankd/server/studio_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::heard_answer;
using nlohmann::json;
using rankd::testing::changing_world;
using rankd::testing::serve_world;

namespace {

/// Fails in the way that the user id of the request selects.
class failing_store final : public rankd::testing::closed_store {
 public:
  auto ask(store_question question, braid::arena& /*memory*/) -> braid::task<store_result<store_answer>> override {
    const auto* const list = std::get_if<list_read>(&question);
    const std::int64_t user = list == nullptr ? 0 : list->keys.ids.front();
    if (user == 500) throw std::runtime_error("a store that throws");
    co_return braid::fail(user == 502 ? braid::errc::finished : braid::errc::closed);
  }
  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override {
    if (why == braid::errc::finished) return {"store_bad_reply", "nonsense"};
    return {"store_unreachable", "it is away"};
  }
};

auto description() -> json { return json::parse(openapi_text()); }

auto statuses_of(const json& operation) -> std::set<std::string> {
  std::set<std::string> all;
  for (const auto& [status, answer] : operation.at("responses").items()) all.insert(status);
  return all;
}

/// Each operation as "post /v1/rank" with the statuses that it names.
auto operations() -> std::map<std::string, std::set<std::string>> {
  std::map<std::string, std::set<std::string>> all;
  const json text = description();
  for (const auto& [path, methods] : text.at("paths").items())
    for (const auto& [method, operation] : methods.items()) all[method + " " + path] = statuses_of(operation);
  return all;
}

/// Asks for one thing, and keeps the status under the operation's name.
class explorer {
 public:
  void note(const std::string& operation, const heard_answer& answer) {
    seen_[operation].insert(std::to_string(answer.status));
    if (answer.status == 200) return;
    const json body = json::parse(answer.body);
    CHECK(body.at("error").at("code").is_string());
    CHECK(body.at("error").at("message").is_string());
    CHECK((answer.status == 503 || answer.status == 429) == !answer.field("Retry-After").empty());
  }
  [[nodiscard]] auto seen() const -> const std::map<std::string, std::set<std::string>>& { return seen_; }

 private:
  std::map<std::string, std::set<std::string>> seen_;
};

void explore_rank(explorer& out, serve_world& world) {
  const std::string rank = "post /v1/rank";
  const std::string good = R"({"user_id":1,"plan":"ten"})";
  out.note(rank, world.rank(good));
  out.note(rank, world.rank("{}"));
  out.note(rank, world.rank(R"({"user_id":1,"plan":"none"})"));
  out.note(rank, world.rank(R"({"user_id":1,"plan":"ten","experiments":{"e":"a"}})"));
  out.note(rank, world.rank(std::string(2000, ' ')));
  out.note(rank, world.rank(good, "Content-Type: text/plain\r\n"));
  out.note(rank, world.rank(R"({"user_id":1,"plan":"broken"})"));
  out.note(rank, world.rank({}, "X: " + std::string(2000, 'x') + "\r\n"));
  out.note(rank, world.rank(R"({"user_id":500,"plan":"reels_plan_a"})"));
  out.note(rank, world.rank(R"({"user_id":502,"plan":"reels_plan_a"})"));
  out.note(rank, world.rank(R"({"user_id":503,"plan":"reels_plan_a"})"));
  out.note(rank, world.rank(R"({"user_id":1,"plan":"slow","deadline_ms":1})"));
  auto running = world.caller();
  running.say(
      braid::testing::request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"single","deadline_ms":86400000})"));
  CHECK(braid::testing::eventually(
      [&] { return world.ask("GET", "/metrics").body.find("\nrankd_in_flight 1\n") != std::string::npos; }));
  out.note(rank, world.rank(R"({"user_id":1,"plan":"single"})"));
  auto slow = world.caller();
  slow.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  out.note(rank, slow.hear().value());
}

void explore_batch(explorer& out, serve_world& world) {
  const std::string batch = "post /v1/rank/batch";
  const std::string good = R"({"requests":[{"user_id":1,"plan":"ten"}]})";
  const auto ask = [&](std::string_view body, std::string_view fields = {}) {
    out.note(batch, world.ask("POST", "/v1/rank/batch", body, fields));
  };
  ask(good);
  ask("{}");
  ask(std::string(2000, ' '));
  ask(good, "Content-Type: text/plain\r\n");
  ask({}, "X: " + std::string(2000, 'x') + "\r\n");
  auto slow = world.caller();
  slow.say("POST /v1/rank/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  out.note(batch, slow.hear().value());
  serve_options narrow;
  narrow.max_in_flight = 1;
  narrow.queue = 0;
  serve_world full(narrow);
  auto running = full.caller();
  running.say(
      braid::testing::request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"slow","deadline_ms":86400000})"));
  CHECK(braid::testing::eventually(
      [&] { return full.ask("GET", "/metrics").body.find("\nrankd_in_flight 1\n") != std::string::npos; }));
  out.note(batch, full.ask("POST", "/v1/rank/batch", good));
}

/// Of a server that takes events, of clients that may send some and of others, and of one whose disk is behind.
void explore_events(explorer& out, const serve_options& small) {
  const std::string path = "post /v1/events";
  const braid::testing::scratch_folder folder;
  const event_rules rules;
  const auto with_tokens =
      rankd::testing::value_of(token_list::parse("app [events] 0123456789abcdef\nb 0123456789abcdeF\n", "t"));
  const std::string app = "Authorization: Bearer 0123456789abcdef\r\n";
  const std::string body = R"({"events":[{"event_id":"a","type":"click"}]})";
  for (const std::size_t max_waiting : {std::size_t{1} << 20U, std::size_t{1}}) {
    const auto log = rankd::testing::value_of(event_log::open({.folder = folder.path(), .max_waiting = max_waiting}));
    serve_options options = small;
    options.listen = braid::socket_address::loopback(0);
    options.tokens = with_tokens;
    const rankd::fixed_plans plans{{}};
    const auto server =
        rankd::testing::value_of(rank_server::start({.declared = &rankd::testing::reference_project::get().declared,
                                                     .stores = rankd::testing::reference_project::get().stores,
                                                     .plans = &plans,
                                                     .events = log.get(),
                                                     .rules = &rules},
                                                    options));
    const auto ask = [&](const std::string& fields, std::string_view text) {
      braid::testing::http_caller one(server->address());
      one.say(braid::testing::request_text("POST", "/v1/events", fields, text));
      out.note(path, one.hear().value());
    };
    ask(app, body);
    if (max_waiting == 1) continue;
    ask(app, "{}");
    ask({}, body);
    ask("Authorization: Bearer 0123456789abcdeF\r\n", body);
    ask(app, std::string(2000, ' '));
    ask(app + "Content-Type: text/plain\r\n", body);
    ask("X: " + std::string(2000, 'x') + "\r\n", body);
    braid::testing::http_caller slow(server->address());
    slow.say("POST /v1/events HTTP/1.1\r\nHost: localhost\r\n" + app + "Content-Length: 5\r\n\r\n");
    out.note(path, slow.hear().value());
  }
}

/// Of a server that takes records, of clients that may send some and of others, while a load keeps the store locked,
/// and when the store is gone.
void explore_records(explorer& out, const serve_options& small) {
  const std::string path = "post /v1/records";
  const braid::testing::scratch_folder folder;
  const auto place = folder.path() / "store";
  const std::vector<std::filesystem::path> data = {folder.write("data.ndjson", "{\"string\":\"a\",\"value\":\"b\"}\n")};
  REQUIRE(load_store(place, data, {}).has_value());
  const auto store = rankd::testing::value_of(followed_store::open(place, "ep_0001"));
  record_writer writer(*store, {}, [&store] { static_cast<void>(store->refresh()); });
  serve_options options = small;
  options.listen = braid::socket_address::loopback(0);
  options.tokens =
      rankd::testing::value_of(token_list::parse("app [write] 0123456789abcdef\nb 0123456789abcdeF\n", "t"));
  const std::string app = "Authorization: Bearer 0123456789abcdef\r\n";
  const std::string body = "{\"delete\":\"a\"}\n";
  const rankd::fixed_plans plans{{}};
  const auto server =
      rankd::testing::value_of(rank_server::start({.declared = &rankd::testing::reference_project::get().declared,
                                                   .stores = rankd::testing::reference_project::get().stores,
                                                   .plans = &plans,
                                                   .records = {{"ep_0001", &writer}}},
                                                  options));
  const auto say = [&](const std::string& fields, std::string_view text) {
    braid::testing::http_caller one(server->address());
    one.say(braid::testing::request_text("POST", "/v1/records", fields, text));
    return one;
  };
  const auto ask = [&](const std::string& fields, std::string_view text) {
    out.note(path, say(fields, text).hear().value());
  };
  ask(app + "Idempotency-Key: k\r\n", body);
  ask(app + "Idempotency-Key: k\r\n", "{\"delete\":\"b\"}\n");
  ask(app, "{}");
  ask({}, body);
  ask("Authorization: Bearer 0123456789abcdeF\r\n", body);
  ask(app, std::string(2000, ' '));
  ask(app + "Content-Type: text/plain\r\n", body);
  ask("X: " + std::string(2000, 'x') + "\r\n", body);
  braid::testing::http_caller slow(server->address());
  slow.say("POST /v1/records HTTP/1.1\r\nHost: localhost\r\n" + app + "Content-Length: 5\r\n\r\n");
  out.note(path, slow.hear().value());
  {
    std::optional<folder_lock> load = folder_lock::acquire(place, lock_wait::give_up).value();
    std::vector<braid::testing::http_caller> waiting;
    for (int at = 0; at < 17; ++at) waiting.push_back(say(app, body));
    REQUIRE(braid::testing::eventually([&] {  // one of them finds no place
      braid::testing::http_caller one(server->address());
      one.say(braid::testing::request_text("GET", "/metrics", app));
      return one.hear().value().body.find(R"(endpoint="/v1/records",status="429"} 1)") != std::string::npos;
    }));
    load.reset();
    for (auto& each : waiting) out.note(path, each.hear().value());
  }
  std::filesystem::remove_all(place);
  ask(app, body);
}

void explore_others(explorer& out, serve_world& world) {
  for (const std::string path :
       {"/v1/plans", "/v1/openapi.json", "/healthz", "/readyz", "/metrics", "/v1/limits", "/v1/tasks", "/v1/trace"})
    out.note("get " + path, world.ask("GET", path));
  out.note("get /v1/trace", world.ask("GET", "/v1/trace?seconds=0"));
  for (const char* name : {"ten", "ten?form=full", "ten?form=whole", "none", "broken"})
    out.note("get /v1/plans/{name}", world.ask("GET", std::string("/v1/plans/") + name));
  for (const char* with : {"reels_plan_a", "none", "broken"})
    out.note("get /v1/plans/{name}/diff", world.ask("GET", std::string("/v1/plans/ten/diff?with=") + with));
}

/// Of a server that has a trace to give.
void explore_trace(explorer& out) {
  const rankd::testing::slow_trace slow;
  serve_world world(slow.options());
  auto first = world.caller();
  first.say(braid::testing::request_text("GET", "/v1/trace", {}, {}));
  slow.wait();
  out.note("get /v1/trace", world.ask("GET", "/v1/trace"));
  slow.finish();
  out.note("get /v1/trace", first.hear().value());
}

/// Of a server on which a candidate runs beside a plan.
void explore_shadow(explorer& out) {
  serve_options options;
  options.tokens =
      rankd::testing::value_of(token_list::parse("a 0123456789abcdef\nb [shadow] fedcba9876543210\n", "tokens"));
  serve_world world(options, nullptr, {}, rankd::testing::reference_project::get().stores, nullptr, {}, nullptr,
                    nullptr, {{.plan = "ten", .candidate = "fails"}});
  const std::string other = "Authorization: Bearer 0123456789abcdef\r\n";
  const std::string right = "Authorization: Bearer fedcba9876543210\r\n";
  const auto ask = [&](const char* path, const std::string& fields) {
    out.note("get /v1/shadow/{name}", world.ask("GET", path, {}, fields));
  };
  ask("/v1/shadow/ten", {});
  ask("/v1/shadow/ten", other);
  ask("/v1/shadow/ten", right);
  ask("/v1/shadow/none", right);
}

/// Of a server with the page, records and a compiler of plans.
void explore_studio(explorer& out, const serve_options& small) {
  const std::string answers = "post /v1/plans/{name}/diff/answers";
  const std::string traffic = "get /v1/plans/{name}/diff/traffic";
  rankd::testing::studio_world world(small);
  const auto slow = [&](const std::string& path) {
    auto one = world.caller();
    one.say("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
    return one.hear().value();
  };
  const std::string large(2000, ' ');
  const auto compare = [&](const std::string& plan, std::string_view body, std::string_view fields = {}) {
    out.note(answers, world.ask("POST", "/v1/plans/" + plan + "/diff/answers", body, fields));
  };
  compare("ten", "{}");
  compare("ten", "[");
  compare("none", "{}");
  compare("broken", "{}");
  compare("ten", large);
  compare("ten", "{}", "Content-Type: text/plain\r\n");
  out.note(answers, slow("/v1/plans/ten/diff/answers"));
  auto single = world.caller();
  single.say("POST /v1/plans/single/diff/answers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  CHECK(braid::testing::eventually(
      [&] { return world.ask("GET", "/metrics").body.find("\nrankd_in_flight 1\n") != std::string::npos; }));
  compare("single", "{}");

  out.note("get /v1/traffic", world.ask("GET", "/v1/traffic"));
  for (const char* end : {"ten/diff/traffic", "none/diff/traffic", "broken/diff/traffic", "ten/diff/traffic?depth=0"})
    out.note(traffic, world.ask("GET", std::string("/v1/plans/") + end));

  for (const char* plan : {"a", "none", "bad", "nonsense"})
    for (const char* what : {"source", "project"})
      out.note(std::string("get /v1/plans/{name}/") + what,
               world.ask("GET", std::string("/v1/plans/") + plan + "/" + what));
  const std::pair<std::string, std::string> edits[] = {
      {"source", R"({"text":"t","digest":"d"})"},
      {"draft", R"({"text":"t"})"},
      {"completions", R"({"text":"t","offset":0})"},
      {"option", R"({"text":"t","from":0,"to":1,"kind":"number","value":"2"})"}};
  for (const auto& [what, body] : edits) {
    const std::string operation = "post /v1/plans/{name}/" + what;
    for (const char* plan : {"a", "none", "bad", "nonsense"})
      out.note(operation, world.ask("POST", std::string("/v1/plans/") + plan + "/" + what, body));
    out.note(operation, world.ask("POST", "/v1/plans/a/" + what, "{}"));
    out.note(operation, world.ask("POST", "/v1/plans/a/" + what, large));
    out.note(operation, slow("/v1/plans/a/" + what));
  }
  out.note("post /v1/plans/{name}/source", world.ask("POST", "/v1/plans/stale/source", edits[0].second));
  std::vector<braid::testing::http_caller> busy;  // four of which are let in
  for (int at = 0; at < 8; ++at)
    busy.emplace_back(world.caller()).say("GET /v1/plans/slow/source HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string refused = R"(rankd_http_responses_total{endpoint="/v1/plans/{name}/source",status="429"} 4)";
  CHECK(braid::testing::eventually([&] { return world.ask("GET", "/metrics").body.contains(refused); }));
  for (const char* what : {"source", "project"})
    out.note(std::string("get /v1/plans/{name}/") + what, world.ask("GET", std::string("/v1/plans/a/") + what));
  for (const auto& [what, body] : edits)
    out.note("post /v1/plans/{name}/" + what, world.ask("POST", "/v1/plans/a/" + what, body));
  world.let_go();
}

/// Of the same, for clients without a token, or without a right.
void explore_guarded_studio(explorer& out) {
  const std::string answers = "post /v1/plans/{name}/diff/answers";
  rankd::testing::studio_world guarded({}, rankd::testing::studio_world::clients::with_tokens);
  for (const auto& [operation, statuses] : operations()) {
    if (!operation.contains("/diff/") && !operation.contains("/source") && !operation.contains("/draft") &&
        !operation.contains("/completions") && !operation.contains("/option") && !operation.contains("/project") &&
        !operation.contains("/v1/traffic"))
      continue;
    std::string path = operation.substr(operation.find(' ') + 1);
    if (const std::size_t at = path.find("{name}"); at != std::string::npos) path.replace(at, 6, "ten");
    const std::string_view method = operation.starts_with("get") ? "GET" : "POST";
    out.note(operation, guarded.ask(method, path, {}));
    if (operation != answers) out.note(operation, guarded.ask(method, path, {}, rankd::testing::other_client));
  }
  out.note(answers, guarded.ask("POST", "/v1/plans/ten/diff/answers", R"({"experiments":{"e":"a"}})",
                                rankd::testing::other_client));
}

/// Of one comparison whose record has no end yet, and one more.
void explore_busy_traffic(explorer& out) {
  const braid::testing::scratch_folder folder;
  rankd::testing::endless_record record(folder.path() / "endless.rec");
  rankd::testing::studio_world world({}, rankd::testing::studio_world::clients::any,
                                     {rankd::testing::recorded_visits::get().folder(), record.file()});
  auto first = world.caller();
  first.say("GET /v1/plans/ten/diff/traffic?record=endless.rec HTTP/1.1\r\nHost: localhost\r\n\r\n");
  record.wait_for_reader();
  out.note("get /v1/plans/{name}/diff/traffic", world.ask("GET", "/v1/plans/ten/diff/traffic?record=day.rec"));
  record.end();
}

/// A request that takes the only place.
void explore_full_studio(explorer& out) {
  serve_options narrow;
  narrow.max_in_flight = 1;
  narrow.queue = 0;
  rankd::testing::studio_world full(narrow);
  auto running = full.caller();
  const std::string body = R"({"user_id":1,"plan":"slow","deadline_ms":86400000})";
  running.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body);
  CHECK(braid::testing::eventually(
      [&] { return full.ask("GET", "/metrics").body.find("\nrankd_in_flight 1\n") != std::string::npos; }));
  out.note("post /v1/plans/{name}/diff/answers", full.ask("POST", "/v1/plans/ten/diff/answers", "{}"));
}

/// Each change once for plan `name`.
void explore_changes(explorer& out, changing_world& world, const std::string& name) {
  const std::string plan = "/v1/plans/" + name;
  out.note("get /v1/plans/{name}/versions", world.ask("GET", plan + "/versions"));
  out.note("post /v1/plans/{name}/versions/{number}/pin", world.ask("POST", plan + "/versions/1/pin"));
  out.note("post /v1/plans/{name}/rollback", world.ask("POST", plan + "/rollback"));
  out.note("post /v1/plans/{name}/unpin", world.ask("POST", plan + "/unpin"));
  out.note("post /v1/reload", world.ask("POST", "/v1/reload"));
}

void explore_changes(explorer& out) {
  changing_world open;
  explore_changes(out, open, "a");
  open.write("a", 2);
  explore_changes(out, open, "none");
  out.note("post /v1/plans/{name}/rollback", open.ask("POST", "/v1/plans/a/rollback"));
  open.folder.write("b.json", "{}");
  out.note("post /v1/reload", open.ask("POST", "/v1/reload"));
  changing_world closed(false);
  explore_changes(out, closed, "a");
  changing_world guarded(true, rankd::testing::value_of(token_list::parse("0123456789abcdef", "tokens")));
  explore_changes(out, guarded, "a");
}

/// Two versions of a plan that are bound to different registries.
void explore_other_registries(explorer& out) {
  const braid::testing::scratch_folder traffic;
  changing_world world(true, {}, bad_plans::refuse_all, true, {traffic.path()});
  const auto others =
      std::make_shared<const registries>(rankd::testing::value_of(registries::load("registry", "test")));
  rankd::testing::value_of(world.library.reload(world.folder.path(), std::nullopt, std::nullopt, others));
  const auto ask = [&world](const std::string& what) {
    auto one = world.caller();
    one.say(what + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
    return one.hear().value();
  };
  out.note("post /v1/plans/{name}/diff/answers", ask("POST /v1/plans/a/diff/answers?version=1"));
  out.note("get /v1/plans/{name}/diff/traffic", ask("GET /v1/plans/a/diff/traffic?version=1"));
}

/// Asks for every operation under the name of another host.
void explore_hosts(explorer& out) {
  changing_world world(true, {}, bad_plans::refuse_all, true);
  for (const auto& [operation, statuses] : operations()) {
    const std::size_t space = operation.find(' ');
    std::string path = operation.substr(space + 1);
    for (const auto& [name, value] : {std::pair("{name}", "a"), std::pair("{number}", "1")})
      if (const std::size_t at = path.find(name); at != std::string::npos)
        path.replace(at, std::string_view(name).size(), value);
    auto one = world.caller();
    one.say((operation.starts_with("get") ? "GET " : "POST ") + path + " HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    out.note(operation, one.hear().value());
  }
}

auto small_options() -> serve_options {
  serve_options options;
  options.http.limits = {.head_bytes = 1024, .body_bytes = 1000};
  options.http.body_timeout = std::chrono::milliseconds(20);
  return options;
}

}  // namespace

TEST_CASE("every operation and every status of the description happens, and nothing else does") {
  explorer found;
  failing_store away;
  {
    serve_world world(small_options(), nullptr, {}, {&away, nullptr});
    explore_rank(found, world);
    explore_batch(found, world);
    explore_others(found, world);
    found.note("post /v1/events", world.ask("POST", "/v1/events", "{}"));
    found.note("post /v1/records", world.ask("POST", "/v1/records", "{}"));
    world.server().announce_stop();
    found.note("get /readyz", world.ask("GET", "/readyz"));
  }
  serve_options guarded = small_options();
  guarded.tokens = rankd::testing::value_of(token_list::parse("0123456789abcdef", "tokens"));
  serve_world world(guarded);
  for (const std::string path : {"/v1/plans", "/metrics", "/v1/limits", "/v1/tasks", "/v1/trace"})
    found.note("get " + path, world.ask("GET", path));
  found.note("get /v1/plans/{name}", world.ask("GET", "/v1/plans/ten"));
  found.note("get /v1/plans/{name}/diff", world.ask("GET", "/v1/plans/ten/diff"));
  found.note("post /v1/rank", world.rank("{}"));
  found.note("post /v1/rank/batch", world.ask("POST", "/v1/rank/batch", "{}"));
  explore_events(found, small_options());
  explore_records(found, small_options());
  explore_trace(found);
  explore_shadow(found);
  explore_studio(found, small_options());
  explore_guarded_studio(found);
  explore_busy_traffic(found);
  explore_full_studio(found);
  explore_changes(found);
  explore_other_registries(found);
  explore_hosts(found);

  const auto promised = operations();
  for (const auto& [operation, statuses] : promised) {
    REQUIRE_MESSAGE(found.seen().contains(operation), operation);
    for (const std::string& status : statuses) {
      const bool happened = found.seen().at(operation).contains(status);
      CHECK_MESSAGE(happened, operation << " never gave " << status);
    }
  }
  for (const auto& [operation, statuses] : found.seen())
    for (const std::string& status : statuses)
      CHECK_MESSAGE(promised.at(operation).contains(status), operation << " gave " << status);
}

TEST_CASE("all that an explanation says of a node is described") {
  node_report all{.node_id = "n",
                  .op = "o",
                  .state = node_state::done,
                  .fused_with = "m",
                  .ready = braid::duration(1),
                  .started = braid::duration(2),
                  .ended = braid::duration(3),
                  .keys_added = {"k"},
                  .options = {option_report{.option = "count", .param = "p", .value = std::int64_t{1}}},
                  .chosen = "i",
                  .failure = "f",
                  .used = "empty",
                  .retries = 1,
                  .looked_at = 2,
                  .cache = cache_use::hit,
                  .cached = braid::duration(4)};
  explanation what;
  what.nodes.push_back(all);
  all.waits = true;
  what.nodes.push_back(all);
  const json described = description().at(json::json_pointer("/components/schemas/explained_node/properties"));
  const json explained = json::parse(to_json(what));
  std::set<std::string> said;
  for (const json& node : explained.at("nodes"))
    for (const auto& [name, value] : node.items()) {
      said.insert(name);
      CHECK_MESSAGE(described.contains(name), name);
    }
  CHECK(said.contains("looked_at"));
  CHECK(said.size() == described.size());
}

TEST_CASE("the description is served as it stands in the repository, and its references lead somewhere") {
  serve_world world;
  const heard_answer answer = world.ask("GET", "/v1/openapi.json");
  CHECK(answer.body == read_text_file("docs/openapi.json").value());
  const json text = json::parse(answer.body);
  const std::string all = text.dump();
  const std::string mark = R"("$ref":"#)";
  std::size_t references = 0;
  for (std::size_t at = all.find(mark); at != std::string::npos; at = all.find(mark, at + 1), ++references) {
    const std::size_t begin = at + mark.size();
    CHECK(text.contains(json::json_pointer(all.substr(begin, all.find('"', begin) - begin))));
  }
  CHECK(references > 10);
}
