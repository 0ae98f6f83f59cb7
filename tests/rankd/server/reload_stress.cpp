// tests/rankd/server/reload_stress.cpp: plans change under requests over HTTP: none fails, none is of two versions.
// BRAID_STRESS=100 makes 10^4 reloads.
#include <tests/rankd/server/changing_world.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace braid::testing;

namespace {

/// Asks over one connection until it is over; gives what was wrong first, or nothing.
auto ask(const changing_world& world, const std::atomic<bool>& over, std::atomic<std::size_t>& answers) -> std::string {
  auto one = world.caller();
  const std::string request = request_text("POST", "/v1/rank", {}, request_to_a);
  for (int newest = 0; !over;) {
    if (!one.say(request)) return "the connection was closed";
    const auto answer = one.hear();
    if (!answer) return "the connection ended";
    if (answer->status != 200) return answer->body;
    const int mark = mark_in(answer->body);
    if (mark < newest) return "after " + std::to_string(newest) + " came " + std::to_string(mark);
    newest = mark;
    ++answers;
  }
  return {};
}

}  // namespace

TEST_CASE("requests under good and bad reloads all succeed, each by one version, never by an earlier one") {
  const watchdog dog(std::chrono::seconds(1200));
  changing_world world;
  std::atomic<bool> over = false;
  std::atomic<std::size_t> answers = 0;
  std::vector<std::string> wrong(2);
  std::vector<std::thread> asking;
  for (std::string& mine : wrong) asking.emplace_back([&] { mine = ask(world, over, answers); });

  const std::size_t reloads = scaled(100);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < reloads; ++at) {
    const bool is_bad = at % 4 == 3;
    world.write("a", static_cast<int>(at) + 2);
    if (is_bad) world.folder.write("b.json", "{");
    const int status = world.ask("POST", "/v1/reload").status;
    CHECK(status == (is_bad ? 422 : 200));
    if (status != 200) ++refused;
    if (is_bad) std::filesystem::remove(world.folder.path() / "b.json");
  }
  over = true;
  for (std::thread& each : asking) each.join();
  for (const std::string& each : wrong) CHECK(each.empty());
  CHECK(refused == reloads / 4);
  CHECK(world.library.versions_in_memory() <= plan_library_options().max_kept);
  std::printf("%zu reloads, %zu of them refused, %zu answers\n", reloads, refused, answers.load());
}
