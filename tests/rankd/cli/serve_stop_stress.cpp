// tests/rankd/cli/serve_stop_stress.cpp: SIGTERM under load: what the server has answered, the clients have.
// BRAID_STRESS=34 makes a thousand stops.
#include <rankd/registry/file.hpp>

#include <braid/base/random.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/seed.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::http_caller;
using braid::testing::request_text;
using rankd::testing::project_copy;
using rankd::testing::running_server;

namespace {

constexpr unsigned clients = 6;

/// What all clients of one life have seen.
struct load {
  braid::socket_address at;
  braid::atomic<std::uint64_t> answered{0};  // by clients, as the rest
  braid::atomic<std::uint64_t> wrong{0};     // answers that are not the asked request's
  braid::atomic<std::uint64_t> halves{0};    // answers that were cut

  /// Asks in bursts over connections that stay for some bursts, until nobody listens.
  void ask(std::uint64_t seed) {
    braid::random_source random(seed);
    for (std::uint64_t number = 0;;) {
      http_caller one(at);
      if (!one.connected()) return;
      for (std::uint64_t bursts = 1 + random.below(20); bursts > 0; --bursts)
        if (!ask_some(one, 1 + random.below(3), seed, number)) break;
    }
  }

  /// False where the connection has ended.
  auto ask_some(http_caller& one, std::uint64_t count, std::uint64_t seed, std::uint64_t& number) -> bool {
    std::vector<std::string> ids;
    std::string all;
    for (std::uint64_t i = 0; i < count; ++i) {
      ids.push_back(std::to_string(seed) + "-" + std::to_string(number++));
      all += request_text("POST", "/v1/rank", {},
                          R"({"user_id":1,"plan":"reels_plan_a","request_id":")" + ids.back() + "\"}");
    }
    one.say(all);  // where that fails, what was answered before is still heard
    for (const std::string& id : ids) {
      try {
        const auto answer = one.hear();
        if (!answer) return false;
        answered.fetch_add(1, braid::relaxed);
        if (answer->status != 200 || answer->body.find("\"request_id\":\"" + id + "\"") == std::string::npos)
          wrong.fetch_add(1, braid::relaxed);
      } catch (const std::runtime_error&) {
        halves.fetch_add(1, braid::relaxed);
        return false;
      }
    }
    return true;
  }
};

}  // namespace

TEST_CASE("SIGTERM under load loses no request that was taken, cuts no answer, and the server ends well") {
  const project_copy project;
  braid::random_source random(braid::testing::printed_seed());
  std::uint64_t total = 0;
  for (std::size_t lives = braid::testing::scaled(30); lives > 0; --lives) {
    const auto audit = project.path() / "audit";
    std::filesystem::remove(audit);
    running_server server(project.path(),
                          {"--audit", "audit", "--log-level", "off", "--loops", std::to_string(1 + random.below(2)),
                           "--max-wait-ms", "60000", "--default-deadline-ms", "60000", "--grace-ms", "60000"});
    load all{.at = server.address()};
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < clients; ++i) threads.emplace_back([&all, seed = random()] { all.ask(seed); });
    const std::uint64_t enough = random.below(150);
    CHECK(eventually([&] { return all.answered.load(braid::relaxed) >= enough; }));
    server.signal(SIGTERM);
    threads.clear();
    CHECK(server.wait() == 0);
    const std::string records = read_text_file(audit).value();
    CHECK(static_cast<std::uint64_t>(std::ranges::count(records, '\n')) == all.answered.load(braid::relaxed));
    CHECK(all.wrong.load(braid::relaxed) == 0);
    CHECK(all.halves.load(braid::relaxed) == 0);
    total += all.answered.load(braid::relaxed);
  }
  std::printf("%llu answers\n", static_cast<unsigned long long>(total));
}
