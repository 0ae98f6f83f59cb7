// examples/25_beside_asio.cpp: Asio and braid on one thread of one program.
#include <braid/coro/await_callback.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/io/loop.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// [loop]
/// Runs a loop of braid on the thread of an io_context, which sleeps for both.
class loop_in_asio {
 public:
  loop_in_asio(asio::io_context& io, braid::loop& inner)
      : inner_(&inner),
        ready_(io, ::dup(inner.backend().descriptor())),
        timer_(io) {
    asio::post(io, [this] { turn(); });
  }

 private:
  void turn() {
    ++turns_;  // older waits have no effect any more
    if (!inner_->run_once()) return ready_.close();
    const auto limit = inner_->prepare_sleep();
    if (limit == braid::duration::zero())
      return asio::post(timer_.get_executor(), [this] { turn(); });
    const auto turn_if_latest = [this, mine = turns_](auto /*error*/) {
      if (mine == turns_) turn();
    };
    ready_.async_wait(asio::posix::stream_descriptor::wait_read,
                      turn_if_latest);
    if (!limit) return;
    timer_.expires_after(*limit);
    timer_.async_wait(turn_if_latest);
  }

  braid::loop* inner_;
  asio::posix::stream_descriptor ready_;
  asio::steady_timer timer_;
  unsigned turns_ = 0;
};
// [/loop]

// [task]
/// A task of braid that awaits an operation of Asio.
auto wait_for(asio::steady_timer& timer) -> braid::task<bool> {
  using done = braid::awaited_callback<std::error_code>;
  auto expiry = braid::await_callback<std::error_code>(
      [&](done call) { timer.async_wait(std::move(call)); },
      [&] { timer.cancel(); });
  const braid::result<void> ended = co_await expiry;
  co_return ended.has_value();
}

auto greet(asio::io_context& io, braid::loop& here) -> braid::task<int> {
  asio::steady_timer timer(io, 2ms);
  const bool expired = co_await wait_for(timer);
  std::printf("braid: Asio's timer has expired: %s\n", expired ? "yes" : "no");
  co_await braid::sleep_for(2ms);
  std::printf("braid: still on the loop: %s\n",
              here.is_current() ? "yes" : "no");
  co_return 42;
}
// [/task]

}  // namespace

auto main() -> int {
  // [main]
  asio::io_context io(1);
  const auto here = braid::or_throw(
      braid::loop::create({.backend = braid::io_backend::kind::epoll}));
  const loop_in_asio both(io, *here);
  auto answer = braid::spawn(*here, greet(io, *here));
  // Called on this thread, where a handler of Asio may continue with it.
  auto told = std::move(answer).then_inline([&](int value) {
    std::printf("Asio: braid answers %d\n", value);
    here->stop();
  });
  io.run();  // until both are done
  // [/main]
}
