// bench/loop/asio.cpp: Boost.Asio, told that one thread runs the loop.
#include <bench/harness/moment.hpp>
#include <bench/loop/cases.hpp>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/version.hpp>

namespace {

using bench::now_ns;
using bench::timers_result;

namespace asio = boost::asio;

auto post_all(unsigned producers, std::size_t each) -> std::uint64_t {
  asio::io_context loop(1);
  auto keep = asio::make_work_guard(loop);
  std::uint64_t ran = 0;
  const std::uint64_t expected = producers * each;
  const auto work = [&] {
    if (++ran == expected) keep.reset();
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < producers; ++i)
    threads.emplace_back([&loop, work, each] {
      for (std::size_t n = 0; n < each; ++n) asio::post(loop, work);
    });
  loop.run();
  for (std::thread& thread : threads) thread.join();
  return ran;
}

auto run_timers(std::size_t count) -> timers_result {
  asio::io_context loop(1);
  timers_result result;
  std::vector<std::unique_ptr<asio::steady_timer>> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_unique<asio::steady_timer>(loop, std::chrono::milliseconds(1)));
    const std::int64_t due_ns = now_ns() + 1'000'000;
    all.back()->async_wait([&result, due_ns](const boost::system::error_code&) {
      ++result.fired;
      if (now_ns() + 2'000 < due_ns) ++result.early;  // it took its own time a moment before
    });
  }
  loop.run();
  return result;
}

/// What is cancelled would be told its end by the loop, which does not run here.
auto rearm(const bench::parameters& given) -> bench::sample {
  const std::size_t pending = given.number("pending", 1'000'000);
  asio::io_context loop(1);
  const auto start = std::chrono::steady_clock::now();
  std::vector<asio::steady_timer> all;
  all.reserve(pending);
  const auto arm = [&](asio::steady_timer& each, std::chrono::microseconds due) {
    each.expires_at(start + due);  // which cancels what waits
    each.async_wait([](const boost::system::error_code&) {});
  };
  for (std::size_t i = 0; i < pending; ++i) arm(all.emplace_back(loop), bench::rearm_due(i));
  return bench::timed_rearm(pending, [&](std::size_t i, std::chrono::microseconds due) { arm(all[i], due); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using bench::parameters;
  const bench::contender who{.name = "Boost.Asio", .kind = bench::kind::rival, .version = BOOST_LIB_VERSION};
  return bench::run_program(
      count, arguments, "loop",
      {{"post", who, [](const parameters& given) { return bench::timed_posts(given, post_all); }},
       {"timers", who, [](const parameters& given) { return bench::timed_timers(given, run_timers); }},
       {"rearm", who, rearm}});
}
