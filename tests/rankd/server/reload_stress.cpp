// tests/rankd/server/reload_stress.cpp: plans, and candidates beside them, change under requests over HTTP: none fails,
// none is of two versions.
// BRAID_STRESS=100 makes 10^4 reloads.
#include <tests/rankd/server/changing_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace braid::testing;

namespace {

/// Returns whether a reload finds an error, so that the version that was written before it must never serve.
auto is_bad(std::size_t reload) -> bool { return reload % 4 == 3; }

/// Sends requests on one connection until `over` is set. `reloaded` is the newest version of which a reload has
/// reported that it serves. Returns a description of the first wrong answer, or an empty string.
auto ask(const changing_world& world, const std::atomic<bool>& over, const std::atomic<int>& reloaded,
         std::atomic<std::size_t>& answers) -> std::string {
  auto one = world.caller();
  const std::string request = request_text("POST", "/v1/rank", {}, request_to_a);
  for (int newest = 0; !over;) {
    newest = std::max(newest, reloaded.load());
    if (!one.say(request)) return "the connection was closed";
    const auto answer = one.hear();
    if (!answer) return "the connection ended";
    if (answer->status != 200) return answer->body;
    const int mark = mark_in(answer->body);
    if (mark > 1 && is_bad(static_cast<std::size_t>(mark) - 2))
      return "refused " + std::to_string(mark) + " was served";
    if (mark < newest) return "after " + std::to_string(newest) + " came " + std::to_string(mark);
    newest = mark;
    ++answers;
  }
  return {};
}

/// Another candidate for each reload but every third, which has none.
void want_candidate(changing_world& world, std::size_t at) {
  std::vector<shadow_settings> next;
  if (at % 3 != 0)
    next.push_back({.plan = "a", .candidate = at % 2 == 0 ? "c" : "d", .share = 1, .in_flight = 1 + at % 5});
  world.changes.shadows_by(
      [next = std::move(next)] { return braid::checked<std::vector<shadow_settings>>(next); },
      [&world](std::vector<shadow_settings> all) { return world.server().renew_shadows(std::move(all)); });
}

}  // namespace

TEST_CASE("requests under good and bad reloads all succeed, each by one version, never by an earlier one") {
  const watchdog dog(std::chrono::seconds(1200));
  changing_world world;
  world.write("c", 1);
  world.write("d", 1);
  std::atomic<bool> over = false;
  std::atomic<int> reloaded = 1;
  std::atomic<std::size_t> answers = 0;
  std::vector<std::string> wrong(2);
  std::vector<std::thread> asking;
  for (std::string& mine : wrong) asking.emplace_back([&] { mine = ask(world, over, reloaded, answers); });

  const std::size_t reloads = scaled(100);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < reloads; ++at) {
    want_candidate(world, at);
    world.write("a", static_cast<int>(at) + 2);
    if (is_bad(at)) world.folder.write("b.json", "{");
    const int status = world.ask("POST", "/v1/reload").status;
    CHECK(status == (is_bad(at) ? 422 : 200));
    if (status == 200)
      reloaded = static_cast<int>(at) + 2;
    else
      ++refused;
    if (is_bad(at)) std::filesystem::remove(world.folder.path() / "b.json");
    CHECK(world.ask("GET", "/metrics").status == 200);
  }
  over = true;
  for (std::thread& each : asking) each.join();
  for (const std::string& each : wrong) CHECK(each.empty());
  CHECK(refused == reloads / 4);
  const std::size_t kept = plan_library_options().max_kept + 2;  // of `a`, and the one of `c` and of `d`
  CHECK(eventually([&] { return world.library.versions_in_memory() <= kept; }));  // once candidates have ended
  std::printf("%zu reloads, %zu of them refused, %zu answers\n", reloads, refused, answers.load());
}
