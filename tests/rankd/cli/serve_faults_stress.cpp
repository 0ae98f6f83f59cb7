// tests/rankd/cli/serve_faults_stress.cpp: a server in bad weather: good requests among broken messages, wrong bodies,
// slow clients, clients that vanish and plans that change, on a store that is embedded, or late and cut off, or
// garbled. The server lives, each good request gets its right answer or an error that is documented, memory stays flat,
// and the stop at the end loses nothing. BRAID_STRESS=100 makes 450 000 answers, in about ten minutes.
#include <rankd/store/id_batch.hpp>

#include <braid/base/random.hpp>

#include <tests/rankd/cli/bad_requests.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/rankd/engine/library_world.hpp>
#include <tests/rankd/engine/owned_data.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/fault_proxy.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using namespace braid::testing;
using namespace std::chrono_literals;
using braid::random_source;
using nlohmann::json;

namespace {

enum class weather : std::uint8_t {
  embedded,  // nothing is wrong with the store
  rough,     // replies come late, in crumbs, half or never
  garbled    // and with other bytes in them
};

constexpr std::string_view good_prefix = "good-";
constexpr std::size_t max_growth = std::size_t{64} << 20U;
constexpr std::size_t max_blames = 10;

/// What must not be, said by any thread.
class blames {
 public:
  void add(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    if (all_.size() < max_blames) all_.push_back(what.substr(0, 600));
  }
  /// Once no thread says anything.
  [[nodiscard]] auto all() const -> const std::vector<std::string>& { return all_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

/// What all clients of one life of a server share.
struct scene {
  braid::socket_address at;
  weather how = weather::embedded;
  std::atomic<bool> stopping{false};
  std::atomic<std::uint64_t> answers{0};  // to good requests
  std::atomic<std::uint64_t> others{0};   // to all the rest
  blames wrong;
};

// Good requests

struct question {
  std::string id;
  std::int64_t user = 0;
  bool is_marked = false;  // of the plan that changes
  std::string text;
};

/// Asks in bursts, and compares each answer with what it knows.
class good_client {
 public:
  good_client(scene& in, std::uint64_t seed) : in_(&in), seed_(seed), random_(seed) {}

  void ask_until_nobody_listens() {
    for (;;) {
      http_caller one(in_->at);
      if (!one.connected()) {
        if (!in_->stopping) in_->wrong.add("nobody listens");
        return;
      }
      for (std::uint64_t bursts = 1 + random_.below(20); bursts > 0; --bursts)
        if (!ask_some(one)) break;
    }
  }

  std::unordered_map<std::string, int> heard;    // the status of each request that was answered
  std::map<std::string, std::uint64_t> endings;  // how many requests ended how

 private:
  auto make_question() -> question {
    question made;
    made.id = std::string(good_prefix) + std::to_string(seed_) + "-" + std::to_string(number_++);
    made.user = any_user(random_);
    made.is_marked = random_.below(4) == 0;
    const std::string deadline =
        random_.below(6) == 0 ? R"(,"deadline_ms":)" + std::to_string(1 + random_.below(20)) : "";
    made.text = rank_text(made.id, body_for(made.id, made.is_marked ? "marked" : "mine", made.user, deadline));
    return made;
  }

  /// False where the connection has ended.
  auto ask_some(http_caller& one) -> bool {
    std::vector<question> asked;
    std::string all;
    for (std::uint64_t count = 1 + random_.below(3); count > 0; --count) {
      asked.push_back(make_question());
      all += asked.back().text;
    }
    one.say(all);  // where that fails, what was answered before is still heard
    for (const question& each : asked) {
      try {
        const auto answer = one.hear();
        if (!answer) {
          ++endings["no answer"];
          return false;
        }
        check(each, *answer);
      } catch (const std::exception& half) {
        in_->wrong.add(half.what());
        return false;
      }
      ++in_->answers;
    }
    return true;
  }

  void check(const question& asked, const heard_answer& answer) {
    const json body = json::parse(answer.body);
    const bool is_own = body.contains("request_id") && body.at("request_id") == asked.id;
    if (is_own) heard[asked.id] = answer.status;
    if (answer.status == 200 && is_own) return asked.is_marked ? check_marks(body) : check_rows(asked, body);
    const std::string code = answer.status == 200 ? "another request's" : body.at("error").at("code");
    ++endings[code];
    const bool is_due = is_documented(answer.status, code) && (is_own || code == "too_slow");
    const bool is_complete = answer.status != 503 || !answer.field("Retry-After").empty();
    if (!is_due || !is_complete) in_->wrong.add(asked.text + " got " + answer.head + answer.body);
  }

  [[nodiscard]] auto is_documented(int status, const std::string& code) const -> bool {
    static const std::map<std::string, int> always{{"overloaded", 503}, {"deadline_exceeded", 504}, {"too_slow", 408}};
    static const std::map<std::string, int> by_store{
        {"store_unreachable", 503},  {"store_not_ready", 503}, {"store_overloaded", 503}, {"store_timeout", 504},
        {"store_unauthorized", 502}, {"store_bad_reply", 502}, {"store_error", 502},      {"store_wrong_type", 422}};
    if (const auto known = always.find(code); known != always.end()) return known->second == status;
    const auto known = by_store.find(code);
    return in_->how != weather::embedded && known != by_store.end() && known->second == status;
  }

  /// The plan writes one value everywhere: two of them are of two versions.
  void check_marks(const json& body) {
    std::set<double> values;
    for (const json& row : body.at("candidates"))
      for (const json& value : row.at("fields")) values.insert(value.get<double>());
    ++endings["right"];
    if (values.size() != 1 || body.at("candidates").size() != 2) in_->wrong.add("of two versions: " + body.dump());
  }

  void check_rows(const question& asked, const json& body) {
    const json& rows = body.at("candidates");
    bool is_changed = rows.size() != followed;
    bool is_foreign = false;
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const auto id = rows[at].at("id").get<std::int64_t>();
      const json& fields = rows[at].at("fields");
      const bool has_country = fields.contains("country") && fields.at("country").is_string();
      const std::string country = has_country ? fields.at("country").get<std::string>() : "";
      is_changed = is_changed || id != id_of(asked.user, static_cast<int>(at)) || country != country_of(id);
      const auto named = country.starts_with('C') ? parse_id(std::string_view(country).substr(1)) : std::nullopt;
      is_foreign = is_foreign || (owner_of(id) != 0 && owner_of(id) != asked.user) ||
                   (named && *named != id && owner_of(*named) != 0);
    }
    ++endings[is_changed ? "changed" : "right"];
    if (is_foreign || (is_changed && in_->how != weather::garbled))
      in_->wrong.add((is_foreign ? "another's data for " : "wrong data for ") + asked.text + ": " + body.dump());
  }

  scene* in_;
  std::uint64_t seed_;
  random_source random_;
  std::uint64_t number_ = 0;
};

// Bad clients

/// Hears to the end of the connection; nothing that is sent may break the server.
void hear_all(scene& in, http_caller& one, std::string_view said) {
  try {
    while (const auto answer = one.hear()) {
      ++in.others;
      if (answer->status == 500) in.wrong.add(std::string(said) + " got " + answer->body);
    }
  } catch (const std::exception& half) {
    in.wrong.add(std::string(said) + " got " + half.what());
  }
}

void send_broken_messages(scene& in, random_source& random) {
  while (!in.stopping) {
    http_caller one(in.at);
    const std::string text = broken_message(random);
    one.say(text);
    one.finish();
    hear_all(in, one, text);
  }
}

void send_wrong_bodies(scene& in, random_source& random) {
  const std::set<int> due{200, 400, 404, 408, 422, 502, 503, 504};
  while (!in.stopping) {
    http_caller one(in.at);
    for (std::uint64_t left = 1 + random.below(50); left > 0 && !in.stopping; --left) {
      const std::string body = wrong_body(random);
      if (!one.say(rank_text("bad", body))) break;
      try {
        const auto answer = one.hear();
        if (!answer) break;
        ++in.others;
        if (!due.contains(answer->status)) in.wrong.add(body + " got " + answer->body);
      } catch (const std::exception& half) {
        in.wrong.add(body + " got " + half.what());
        break;
      }
    }
  }
}

/// Some stay in the middle of a head or a body until they are told so, or for good; others send byte by byte.
void be_slow(scene& in, random_source& random) {
  constexpr std::size_t max_kept = 20;
  std::vector<std::unique_ptr<http_caller>> kept;
  while (!in.stopping) {
    auto one = std::make_unique<http_caller>(in.at);
    const std::string text = rank_text("slow", body_for("slow", "mine", any_user(random)));
    const std::size_t part = 1 + random.below(text.size() - 1);
    switch (random.below(8)) {
      case 0:  // in the body, whose time is short
        one->say(text.substr(0, text.size() - 1));
        hear_all(in, *one, "half a body");
        break;
      case 1:
        for (const char each : text) {
          one->say({&each, 1});
          std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
        }
        one->finish();
        hear_all(in, *one, text);
        break;
      default:
        one->say(text.substr(0, part));
        if (kept.size() >= max_kept) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random.below(kept.size())));
        kept.push_back(std::move(one));
        std::this_thread::sleep_for(std::chrono::milliseconds(random.below(10)));
    }
  }
}

/// Asks, and is gone before the answer, or in the middle of the request.
void vanish(scene& in, random_source& random) {
  while (!in.stopping) {
    http_caller one(in.at);
    std::string text;
    for (std::uint64_t count = 1 + random.below(4); count > 0; --count)
      text += rank_text("gone", body_for("gone", random.below(2) == 0 ? "mine" : "marked", any_user(random)));
    if (random.below(2) == 0) text.resize(1 + random.below(text.size()));
    one.say(text);
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(1'500)));
  }
}

// Plans that change

class changes {
 public:
  changes(scene& in, const project_copy& project, const running_server& server)
      : in_(&in), project_(&project), server_(&server) {}

  void make(random_source& random) {
    while (!in_->stopping) {
      switch (random.below(6)) {
        case 0: reload_good(); break;
        case 1: reload_bad(); break;
        case 2: server_->signal(SIGHUP); break;
        case 3: expect("POST", "/v1/plans/marked/rollback", {200, 409, 404}); break;
        case 4: expect("POST", "/v1/plans/marked/unpin", {200, 404}); break;
        default:
          for (const char* path : {"/healthz", "/readyz", "/metrics", "/v1/plans", "/v1/plans/marked/versions"})
            expect("GET", path, {200});
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random.below(20)));
    }
  }

 private:
  void reload_good() {
    project_->write("plans/compiled/marked.json", marked_plan("marked", ++value_));
    expect("POST", "/v1/reload", {200});
  }
  void reload_bad() {
    project_->write("plans/compiled/bad.json", "{");
    expect("POST", "/v1/reload", {422});
    std::filesystem::remove(project_->path() / "plans/compiled/bad.json");
  }

  /// Once the server stops, there may be no answer, and readiness is refused.
  void expect(std::string_view method, std::string_view path, const std::set<int>& due) {
    http_caller one(in_->at);
    one.say(request_text(method, path, authorization));
    try {
      const auto answer = one.hear();
      ++in_->others;
      if (in_->stopping || (answer && due.contains(answer->status))) return;
      in_->wrong.add(std::string(path) + " got " + (answer ? answer->body : "nothing"));
    } catch (const std::exception& half) {
      in_->wrong.add(std::string(path) + " got " + half.what());
    }
  }

  scene* in_;
  const project_copy* project_;
  const running_server* server_;
  int value_ = 1;
};

// The world

void replace(const std::filesystem::path& file, std::string_view what, std::string_view by) {
  std::string text = braid::testing::detail::text_of(file);
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), by);
  std::ofstream(file, std::ios::binary) << text;
}

/// A project with plans and data of the test's own; on a Redis behind a proxy where the weather is bad.
struct bad_weather_project {
  project_copy project;
  std::optional<redis_server> redis;
  std::optional<fault_proxy> proxy;

  bad_weather_project(weather how, std::uint64_t seed) {
    for (const char* folder : {"plans/compiled", "data/reference"}) {
      std::filesystem::remove_all(project.path() / folder);
      std::filesystem::create_directory(project.path() / folder);
    }
    project.write("data/reference/owned.ndjson", owned_data());
    project.write("tokens", "test [edit] 0123456789abcdef\n");
    project.write("plans/compiled/marked.json", marked_plan("marked", 1));
    std::string mine = artifact_of(follow_nodes(), R"("f")");
    mine.replace(mine.find("\"t\""), 3, "\"mine\"");
    project.write("plans/compiled/mine.json", mine);
    if (how == weather::embedded) return;

    redis.emplace();
    const std::string url = "redis://127.0.0.1:" + std::to_string(redis->port());
    const process_end loaded = rankd_in(project.path(), {"load", "data/reference", "--store", url});
    REQUIRE_MESSAGE(loaded.status == 0, loaded.err);
    proxy.emplace(redis->socket_path(), seed, proxy_side::loopback);
    const auto endpoints = project.path() / "registry/endpoints.test.toml";
    replace(endpoints, R"({ type = "embedded", path = "build/data/reference.lmdb" })",
            R"({ type = "static", host = "127.0.0.1", port = )" + std::to_string(proxy->port()) + " }");
    replace(endpoints, "request_timeout_ms = 1000, connections = 1", "request_timeout_ms = 300, connections = 2");
  }

  /// The weather changes from calm to bad and back, and at times the store stands still.
  void change(scene& in, random_source& random) {
    while (proxy && !in.stopping) {
      const bool is_calm = random.below(3) == 0;
      proxy->set(is_calm ? fault_rates{}
                         : fault_rates{.delayed = 20'000,
                                       .split = 40'000,
                                       .cut = 6'000,
                                       .halved = 6'000,
                                       .garbled = in.how == weather::garbled ? 40'000U : 0U,
                                       .swallowed = 200});
      if (random.below(10) == 0) {
        redis->freeze();
        std::this_thread::sleep_for(std::chrono::milliseconds(random.below(400)));
        redis->thaw();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.below(150)));
    }
  }
};

auto resident_bytes(::pid_t process) -> std::size_t {
  std::ifstream in("/proc/" + std::to_string(process) + "/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  in >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// The records of good requests that were answered, by id; an id that is there twice is wrong.
auto answered_records(const std::filesystem::path& audit, blames& wrong) -> std::unordered_map<std::string, int> {
  std::unordered_map<std::string, int> found;
  std::ifstream in(audit);
  for (std::string line; std::getline(in, line);) {
    if (line.find(good_prefix) == std::string::npos) continue;
    const json record = json::parse(line);
    const std::string id = record.value("request_id", "");
    const int status = record.value("status", 0);
    if (!id.starts_with(good_prefix) || status == 0) continue;
    if (!found.emplace(id, status).second) wrong.add("twice in the audit: " + line);
  }
  return found;
}

constexpr std::size_t good_clients = 3;

void wait_for_answers(const scene& in, const running_server& server, std::uint64_t wanted) {
  while (in.answers < wanted && !server.has_ended()) std::this_thread::sleep_for(2ms);
}

/// One server from its start to its end.
void live(weather how, std::uint64_t wanted, random_source& random) {
  bad_weather_project world(how, random());
  const auto audit = world.project.path() / "audit";
  running_server server(
      world.project.path(),
      {"--audit", "audit", "--log", "log", "--loops", std::to_string(1 + random.below(2)), "--token-file", "tokens",
       "--allow-changes", "--max-in-flight", std::to_string(8 + random.below(100)), "--header-timeout-ms", "2000",
       "--body-timeout-ms", "500", "--default-deadline-ms", "1000", "--grace-ms", "60000"});
  scene in{.at = server.address(), .how = how, .stopping{false}, .answers{0}, .others{0}, .wrong{}};
  std::vector<good_client> good;
  for (std::size_t i = 0; i < good_clients; ++i) good.emplace_back(in, random());
  changes plans(in, world.project, server);
  std::size_t early = 0;
  std::size_t late = 0;
  {
    std::vector<std::jthread> threads;
    for (good_client& each : good) threads.emplace_back([&each] { each.ask_until_nobody_listens(); });
    const auto start = [&](auto&& act) {
      threads.emplace_back([act, own = random_source(random())]() mutable { act(own); });
    };
    start([&](random_source& own) { send_broken_messages(in, own); });
    start([&](random_source& own) { send_wrong_bodies(in, own); });
    start([&](random_source& own) { be_slow(in, own); });
    start([&](random_source& own) { vanish(in, own); });
    start([&](random_source& own) { plans.make(own); });
    start([&](random_source& own) { world.change(in, own); });
    wait_for_answers(in, server, wanted / 4);
    early = resident_bytes(server.id());
    wait_for_answers(in, server, wanted);
    late = resident_bytes(server.id());
    CHECK_FALSE(server.has_ended());
    in.stopping = true;  // first: the server may stop before the call comes back
    server.signal(SIGTERM);
  }
  CHECK_MESSAGE(server.wait() == 0, server.err());
  CHECK(late < early + max_growth);

  std::unordered_map<std::string, int> heard;
  std::map<std::string, std::uint64_t> endings;
  for (const good_client& each : good) {
    heard.insert(each.heard.begin(), each.heard.end());
    for (const auto& [ending, count] : each.endings) endings[ending] += count;
  }
  CHECK(answered_records(audit, in.wrong) == heard);
  CHECK(endings["right"] > 0);
  for (const std::string& each : in.wrong.all()) FAIL_CHECK(each);
  constexpr std::array names{"embedded", "rough", "garbled"};
  std::printf("%s: %llu answers to good requests, %llu to others, %zu to %zu MiB\n",
              names[static_cast<std::size_t>(how)], static_cast<unsigned long long>(in.answers.load()),
              static_cast<unsigned long long>(in.others.load()), early >> 20U, late >> 20U);
  for (const auto& [ending, count] : endings)
    std::printf("  %s: %llu\n", ending.c_str(), static_cast<unsigned long long>(count));
}

}  // namespace

TEST_CASE("in bad weather good requests get right answers or documented errors, and the server stays as it is") {
  const watchdog dog(3600s);
  random_source random(printed_seed());
  // What is freed stays in the quarantine of the sanitizer, which would look like growth.
  const char* const before = std::getenv("ASAN_OPTIONS");
  const std::string options = (before == nullptr ? "" : std::string(before) + ":") + "quarantine_size_mb=8";
  const environment small_quarantine("ASAN_OPTIONS", under_address_sanitizer ? options.c_str() : before);
  // A long run is some long lives.
  const std::size_t wanted = scaled(4'500);
  const auto lives = static_cast<std::size_t>(std::cbrt(static_cast<double>(wanted) / 4'500.0) + 1);
  for (std::size_t left = lives; left > 0; --left)
    for (const weather how : {weather::embedded, weather::rough, weather::garbled})
      live(how, std::max<std::size_t>(wanted / 3 / lives, 100), random);
}
