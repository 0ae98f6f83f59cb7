// bench/loop/asio.cpp: Boost.Asio, told that one thread runs the loop.
#include <bench/harness/moment.hpp>
#include <bench/loop/contenders.hpp>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace bench {

namespace asio = boost::asio;

auto post_by_asio(unsigned producers, std::size_t each) -> std::uint64_t {
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

auto timers_by_asio(std::size_t count) -> timers_result {
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

}  // namespace bench
