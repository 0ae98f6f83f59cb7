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

/// What is cancelled is told its end in `rest`.
class asio_wheel {
 public:
  explicit asio_wheel(asio::io_context& loop) : loop_(&loop) {
    for (std::size_t i = 0; i < bench::timers_armed_at_once; ++i) all_.emplace_back(loop);
  }

  void arm(std::size_t i, std::chrono::microseconds due) {
    all_[i].expires_at(start_ + due);
    all_[i].async_wait([](const boost::system::error_code&) {});
    ++armed_;
  }
  void disarm(std::size_t i) { armed_ -= all_[i].cancel(); }
  [[nodiscard]] auto armed() const -> std::size_t { return armed_; }
  void rest() { loop_->poll(); }

 private:
  asio::io_context* loop_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<asio::steady_timer> all_;
  std::size_t armed_ = 0;
};

auto arm(const bench::parameters& given) -> bench::sample {
  const std::size_t pending = given.number("pending", 1'000'000);
  asio::io_context loop(1);
  std::vector<asio::steady_timer> others;
  others.reserve(pending);
  for (std::size_t i = 0; i < pending; ++i)
    others.emplace_back(loop, bench::arm_due(i)).async_wait([](const boost::system::error_code&) {});
  asio_wheel wheel(loop);
  return bench::timed_arms(wheel);
}

struct busy_iteration {
  asio::io_context* loop;
  std::uint64_t steps;

  void operator()() const {
    bench::work_for(steps);
    asio::post(*loop, *this);
  }
};

auto hop(const bench::parameters& given) -> bench::sample {
  const bench::loop_is state = bench::loop_state(given);
  asio::io_context loop(1);
  const auto keep = asio::make_work_guard(loop);
  if (state == bench::loop_is::busy)
    asio::post(loop, busy_iteration{.loop = &loop, .steps = bench::steps_of(bench::busy_job_ns)});
  std::thread thread([&] { loop.run(); });
  const bench::sample measured =
      bench::timed_hops(given, state, [&](bench::moment& start) { asio::post(loop, start.as_task()); });
  loop.stop();
  thread.join();
  return measured;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using bench::parameters;
  const bench::contender who{.name = "Boost.Asio", .kind = bench::kind::rival, .version = BOOST_LIB_VERSION};
  return bench::run_program(
      count, arguments, "loop",
      {{"post", who, [](const parameters& given) { return bench::timed_posts(given, post_all); }},
       {"timers", who, [](const parameters& given) { return bench::timed_timers(given, run_timers); }},
       {"rearm", who, rearm},
       {"arm", who, arm},
       {"hop", who, hop}});
}
