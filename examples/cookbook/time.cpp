// examples/cookbook/time.cpp: what runs at its time, and tests that turn the
// clock.
#include <braid/coro.hpp>
#include <braid/io.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task.hpp>

#include <cstdio>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using braid::task;

// [every]
auto every(braid::duration interval, int times, int& ran) -> task<void> {
  for (auto next = std::chrono::steady_clock::now(); ran < times;
       next += interval) {
    // Points in time are added up, so nothing drifts.
    co_await braid::sleep_until(next);
    ++ran;
  }
}
// [/every]

// [on_pool]
auto beats(braid::pool& workers) -> braid::future<int> {
  braid::promise<int> all;
  auto counted = all.get_future();
  auto beat = [count = 0, all = std::move(all)](
                  const braid::scheduled_task& self) mutable {
    if (++count < 3) return;
    self.cancel();  // as a rule the owner of the handle does
    braid::or_throw(all.set_value(count));
  };
  braid::or_throw(post_every(workers, {.interval = 1ms}, std::move(beat)));
  return counted;
}
// [/on_pool]

// [once]
auto remind_me(braid::pool& workers) -> bool {
  auto reminder =
      spawn_after(workers, 24h, [] { std::printf("a day later\n"); });
  reminder.request_stop();
  return reminder.is_ready();  // with errc::stopped: it will not run any more
}
// [/once]

// [per_second]
class rate_limit {  // for the tasks of one loop
 public:
  explicit rate_limit(braid::duration interval) : interval_(interval) {}
  auto wait() -> task<void> {
    const auto mine =
        std::max<braid::time_point>(next_, std::chrono::steady_clock::now());
    next_ = mine + interval_;
    co_await braid::sleep_until(mine);
  }

 private:
  braid::duration interval_;
  braid::time_point next_{};
};
// [/per_second]

// [tested]
/// What is to be tested: it reminds an hour later, and once more after a day.
auto remind(std::vector<std::string>& sent) -> task<void> {
  co_await braid::sleep_for(1h);
  sent.push_back("soon");
  co_await braid::sleep_for(24h);
  sent.push_back("now");
}
// [/tested]

// [manual_clock]
auto reminds_at_its_time() -> bool {
  braid::manual_clock clock;
  const auto io = braid::or_throw(braid::loop::create({.clock = &clock}));
  std::vector<std::string> sent;
  io->spawn(remind(sent));

  io->run_once();  // up to the first sleep
  clock.advance(59min);
  io->run_once();
  const bool nothing_early = sent.empty();
  // A little more than is left: timers may be 16 us late, and never early.
  clock.advance(2min);
  io->run_once();
  const bool first = sent == std::vector<std::string>{"soon"};
  clock.advance(25h);
  io->run_once();

  io->stop();
  while (io->run_once()) {}
  return nothing_early && first && sent.size() == 2;
}
// [/manual_clock]

auto program() -> task<void> {
  int ran = 0;
  co_await every(1ms, 5, ran);
  std::printf("ran %d times\n", ran);
  rate_limit limit(1ms);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) co_await limit.wait();
  std::printf("five took four milliseconds or more: %d\n",
              std::chrono::steady_clock::now() - begin >= 4ms);
}

int main() {
  braid::spawn(program()).get();
  braid::pool& workers = braid::default_runtime().workers();
  std::printf("beats %d, cancelled %d\n", beats(workers).get(),
              remind_me(workers));
  std::printf("reminds at its time: %d\n", reminds_at_its_time());
}
