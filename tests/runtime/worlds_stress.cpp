// tests/runtime/worlds_stress.cpp: small worlds of homes, tasks and what these wait for, destroyed in any order
// allowed.
#include <braid/base/random.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/broadcast.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/sockets.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/future.hpp>

#include <doctest/doctest.h>

#include <tests/support/connections.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

using namespace braid;

namespace {

/// How many of these live, wherever they were made and destroyed.
class counted {
 public:
  explicit counted(atomic<int>& alive) noexcept : alive_(&alive) { alive.fetch_add(1, relaxed); }
  counted(counted&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}
  auto operator=(counted&&) -> counted& = delete;
  ~counted() {
    if (alive_ != nullptr) alive_->fetch_sub(1, relaxed);
  }

 private:
  atomic<int>* alive_;
};

/// Something that tasks wait for. Made, poked and destroyed by the test's thread.
class thing {
 public:
  explicit thing(loop* on = nullptr) noexcept : io(on) {}
  thing(const thing&) = delete;
  auto operator=(const thing&) -> thing& = delete;
  virtual ~thing() = default;

  virtual auto wait(counted held) -> task<void> = 0;
  virtual void poke() {}

  loop* const io;             // the home of its waiters; at most one then
  std::vector<char> used_by;  // for each home, whether tasks there know of it
};

/// As `send` and `receive` of one task may alternate, so do the two kinds of waits for a channel.
class channel_thing final : public thing {
 public:
  channel_thing(std::size_t room, bool sends, atomic<int>& alive) : line_(room), sends_(sends), alive_(alive) {}
  auto wait(counted held) -> task<void> override {
    if (sends_)
      static_cast<void>(co_await line_.send(std::move(held)));
    else
      static_cast<void>(co_await line_.receive());
  }
  void poke() override {
    if (sends_)
      static_cast<void>(line_.try_receive());
    else
      static_cast<void>(line_.try_send(counted(alive_)));
  }

 private:
  channel<counted> line_;
  const bool sends_;
  atomic<int>& alive_;
};

class semaphore_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override {
    const auto permit = co_await permits_.acquire();
    co_await sleep_for(200us);
  }
  void poke() override { permits_.release(); }

 private:
  async_semaphore permits_{1};
};

class mutex_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override {
    const auto held = co_await lock_.lock();
    co_await sleep_for(1h);
  }

 private:
  async_mutex lock_;
};

class latch_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override { co_await latch_.wait(); }
  void poke() override {
    if (!latch_.try_wait()) latch_.count_down();
  }

 private:
  async_latch latch_{2};
};

class barrier_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override { co_await barrier_.arrive_and_wait(); }

 private:
  async_barrier barrier_{3};
};

class event_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override { co_await happened_; }
  void poke() override {
    happened_.set();
    happened_.reset();
  }

 private:
  async_event happened_;
};

class watch_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override {
    auto observer = value_.observe();
    for (;;) static_cast<void>(co_await observer.changed());
  }
  void poke() override { value_.set(1); }

 private:
  braid::watch<int> value_{0};
};

class broadcast_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override {
    auto receiver = news_.subscribe();
    for (;;) static_cast<void>(co_await receiver.receive());
  }
  void poke() override { static_cast<void>(news_.send(1)); }

 private:
  broadcast<int> news_{2};
};

/// A waiter owns a part of it, so that it may go at any time.
class promise_thing final : public thing {
 public:
  auto wait(counted /*held*/) -> task<void> override {
    auto own = later_.then_inline([](int value) { return value; });
    static_cast<void>(co_await std::move(own));
  }
  void poke() override {
    if (promised_) std::ignore = std::exchange(promised_, std::nullopt)->set_value(1);
  }

 private:
  std::optional<promise<int>> promised_{std::in_place};
  shared_future<int> later_ = promised_->get_future().share();
};

class offload_thing final : public thing {
 public:
  explicit offload_thing(executor& to) noexcept : to_(&to) {}
  auto wait(counted held) -> task<void> override {
    auto computes = [own = std::move(held)] { std::this_thread::sleep_for(20us); };
    auto hop = offload(*to_, std::move(computes));
    co_await hop;
  }

 private:
  executor* to_;
};

class sleep_thing final : public thing {
 public:
  explicit sleep_thing(duration span) noexcept : span_(span) {}
  auto wait(counted /*held*/) -> task<void> override { co_await sleep_for(span_); }

 private:
  duration span_;
};

class socket_thing final : public thing {
 public:
  explicit socket_thing(loop& on) : thing(&on), both_(stream_socket::pair(on).value()) {}
  auto wait(counted /*held*/) -> task<void> override {
    std::array<std::byte, 4> room{};
    for (;;)
      if (!co_await both_.first.read_some(room)) break;
  }
  void poke() override { static_cast<void>(::send(both_.second.number(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT)); }

 private:
  std::pair<stream_socket, stream_socket> both_;
};

/// Both ends of a pipe, of which the task fills one.
class pipe_thing final : public thing {
 public:
  explicit pipe_thing(loop& on) : thing(&on), both_(pipe_stream::pair(on).value()) {}
  auto wait(counted /*held*/) -> task<void> override {
    const std::vector<std::byte> much(1U << 20U);
    static_cast<void>(co_await both_.second.write_all(much));
  }

 private:
  std::pair<pipe_stream, pipe_stream> both_;
};

class datagram_thing final : public thing {
 public:
  explicit datagram_thing(loop& on) : thing(&on), socket_(udp_socket::bind(on, socket_address::loopback(0)).value()) {}
  auto wait(counted /*held*/) -> task<void> override {
    std::array<std::byte, 4> room{};
    for (;;)
      if (!co_await socket_.receive(room)) break;
  }

 private:
  udp_socket socket_;
};

class listener_thing final : public thing {
 public:
  explicit listener_thing(loop& on)
      : thing(&on), listener_(stream_listener::listen(on, socket_address::loopback(0)).value()) {}
  auto wait(counted /*held*/) -> task<void> override { static_cast<void>(co_await listener_.accept()); }

 private:
  stream_listener listener_;
};

/// How a task waits for its things.
struct plan {
  enum class shape : std::uint8_t { plain, in_sequence, limited, either, family } how = shape::plain;
  std::vector<thing*> things;
  duration limit = 0us;
};

auto waits_for_each(plan by, atomic<int>& alive) -> task<void> {
  for (thing* each : by.things) co_await each->wait(counted(alive));
}

auto waits_as_family(plan by, atomic<int>& alive) -> task<void> {
  auto body = [&](scope& children) -> task<void> {
    for (thing* each : by.things) children.spawn(each->wait(counted(alive)));
    co_await sleep_for(by.limit);
  };
  co_await with_scope(std::ref(body));
}

auto waits_for_any(plan by, atomic<int>& alive) -> task<void> {
  std::vector<task<void>> all;
  for (thing* each : by.things) all.push_back(each->wait(counted(alive)));
  auto any = when_any(std::move(all));
  static_cast<void>(co_await std::move(any));
}

auto shaped(plan by, atomic<int>& alive) -> task<void> {
  switch (by.how) {
    case plan::shape::plain: return by.things.front()->wait(counted(alive));
    case plan::shape::either: return waits_for_any(std::move(by), alive);
    case plan::shape::family: return waits_as_family(std::move(by), alive);
    case plan::shape::in_sequence:
    case plan::shape::limited: break;
  }
  return waits_for_each(std::move(by), alive);
}

/// A world that ends completes some of its waiters with an error.
auto waits(plan by, atomic<int>& alive, counted /*held*/) -> task<void> {
  const duration limit = by.limit;
  const bool is_limited = by.how == plan::shape::limited;
  task<void> work = shaped(std::move(by), alive);
  try {
    if (is_limited)
      static_cast<void>(co_await with_timeout(limit, std::move(work)));
    else
      co_await std::move(work);
  } catch (const std::system_error&) {}
}

/// A loop with a thread of its own.
struct own_loop {
  own_loop() : io(loop::create().value()), thread([this] { io->run(); }) {
    while (io->status() != loop::state::running) std::this_thread::yield();
  }
  own_loop(const own_loop&) = delete;
  auto operator=(const own_loop&) -> own_loop& = delete;
  ~own_loop() { stop(); }
  void stop() {
    io->stop();
    if (thread.joinable()) thread.join();
  }

  std::unique_ptr<loop> io;
  std::thread thread;
};

/// What is left to be done to a world, and when it may be.
struct step {
  std::function<bool()> may_run;
  std::function<void()> run;
  bool done = false;
};

class world {
 public:
  world(std::uint64_t seed, atomic<int>& alive) : random_(seed), alive_(alive) {
    make_homes();
    make_things();
    for (auto left = 3 + random_.below(20); left != 0; --left) start_task();
  }

  /// Pokes what is there, stops some tasks, and then destroys everything in an order of its own.
  void live_and_end() {
    for (auto left = random_.below(40); left != 0; --left) something_happens();
    plan_the_end();
    for (std::size_t left = steps_.size(); left != 0; --left) {
      std::vector<step*> possible;
      for (step& each : steps_)
        if (!each.done && each.may_run()) possible.push_back(&each);
      REQUIRE_FALSE(possible.empty());
      step& next = *possible[random_.below(possible.size())];
      next.done = true;
      next.run();
      if (random_.below(3) == 0) something_happens();
    }
  }

 private:
  enum class kind : std::uint8_t { runtime, own_loop, strand };
  struct place {
    home* where;
    loop* io;  // or null
    kind of;
    std::size_t index;  // of the loop or strand
  };

  void make_homes() {
    const auto shape = random_.below(2) == 0 ? runtime_shape::separate : runtime_shape::merged;
    const auto workers = static_cast<unsigned>(1 + random_.below(2));
    all_ = runtime::create({.workers = workers, .shape = shape}).value();
    for (loop* each : all_->loops()) places_.push_back({each, each, kind::runtime, 0});
    for (auto left = random_.below(3); left != 0; --left) {
      loops_.push_back(std::make_unique<own_loop>());
      places_.push_back({loops_.back()->io.get(), loops_.back()->io.get(), kind::own_loop, loops_.size() - 1});
    }
    for (auto left = random_.below(3); left != 0; --left) {
      strands_.push_back(std::make_unique<serial_executor>(all_->workers()));
      places_.push_back({strands_.back().get(), nullptr, kind::strand, strands_.size() - 1});
    }
    over_.assign(places_.size(), 0);
  }

  auto made_thing() -> std::unique_ptr<thing> {
    loop* const on = any_loop();
    switch (random_.below(16)) {
      case 0: return std::make_unique<channel_thing>(random_.below(3), true, alive_);
      case 1: return std::make_unique<channel_thing>(random_.below(3), false, alive_);
      case 2: return std::make_unique<semaphore_thing>();
      case 3: return std::make_unique<mutex_thing>();
      case 4: return std::make_unique<latch_thing>();
      case 5: return std::make_unique<barrier_thing>();
      case 6: return std::make_unique<event_thing>();
      case 7: return std::make_unique<watch_thing>();
      case 8: return std::make_unique<broadcast_thing>();
      case 9: return std::make_unique<promise_thing>();
      case 10: return std::make_unique<offload_thing>(all_->workers());
      case 11: return std::make_unique<offload_thing>(all_->blocking());
      case 12: return std::make_unique<socket_thing>(*on);
      case 13: return std::make_unique<pipe_thing>(*on);
      case 14: return std::make_unique<datagram_thing>(*on);
      default: return std::make_unique<sleep_thing>(std::chrono::microseconds(random_.below(1'000)));
    }
  }

  void make_things() {
    for (auto left = 2 + random_.below(8); left != 0; --left) {
      things_.push_back(made_thing());
      things_.back()->used_by.assign(places_.size(), 0);
    }
    things_.push_back(std::make_unique<listener_thing>(*any_loop()));
    things_.back()->used_by.assign(places_.size(), 0);
    things_.push_back(std::make_unique<sleep_thing>(1h));
    things_.back()->used_by.assign(places_.size(), 0);
  }

  [[nodiscard]] auto any_loop() -> loop* {
    for (;;)
      if (loop* const io = places_[random_.below(places_.size())].io) return io;
  }

  /// Whether a task at home there may wait for it. One task at a time waits for a descriptor: the first that is told.
  [[nodiscard]] auto fits(const thing& it, const place& there) const -> bool {
    if (it.io == nullptr) return true;
    return it.io == there.io && std::ranges::count(it.used_by, 1) == 0;
  }

  void start_task() {
    const std::size_t index = random_.below(places_.size());
    const place& there = places_[index];
    plan by{.how = static_cast<plan::shape>(random_.below(5)),
            .things = {},
            .limit = std::chrono::microseconds(random_.below(800))};
    for (auto left = 1 + random_.below(3); left != 0; --left) {
      thing& one = *things_[random_.below(things_.size())];
      if (!fits(one, there)) continue;
      one.used_by[index] = 1;
      by.things.push_back(&one);
    }
    if (by.things.empty()) return;
    auto handle = spawn(*there.where, waits(std::move(by), alive_, counted(alive_)));
    if (random_.below(2) == 0) handles_.push_back(std::move(handle));
  }

  void something_happens() {
    if (const auto index = random_.below(things_.size()); things_[index] != nullptr) things_[index]->poke();
    if (!handles_.empty() && random_.below(8) == 0) handles_[random_.below(handles_.size())].request_stop();
    if (!handles_.empty() && random_.below(8) == 0) handles_.pop_front();
    if (random_.below(4) == 0) std::this_thread::yield();
  }

  /// A runtime ends all of its loops.
  void note_end(kind of, std::size_t index) {
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i].of == of && places_[i].index == index) over_[i] = 1;
  }

  [[nodiscard]] auto may_go(const thing& it) const -> bool {
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (it.used_by[i] != 0 && over_[i] == 0) return false;
    return true;
  }

  /// Whether nothing is open there any more, as far as things know.
  [[nodiscard]] auto is_free(const loop& io) const -> bool {
    return std::ranges::none_of(things_, [&](const auto& each) { return each != nullptr && each->io == &io; });
  }

  /// Those at home elsewhere may send functions to the workers of the runtime.
  [[nodiscard]] auto runtime_may_go() const -> bool {
    const auto is_over = [&](std::size_t i) { return over_[i] != 0 || places_[i].of == kind::runtime; };
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (!is_over(i)) return false;
    for (loop* each : all_->loops())
      if (!is_free(*each)) return false;
    return true;
  }

  void plan_the_end() {
    constexpr shutdown_mode modes[] = {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now};
    const auto always = [] { return true; };
    for (auto& each : things_)
      steps_.push_back({.may_run = [this, &each] { return may_go(*each); }, .run = [&each] { each.reset(); }});
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      steps_.push_back({.may_run = always, .run = [this, i] {
                          loops_[i]->stop();
                          note_end(kind::own_loop, i);
                        }});
      steps_.push_back({.may_run = [this, i] { return !loops_[i]->thread.joinable() && is_free(*loops_[i]->io); },
                        .run = [this, i] { loops_[i].reset(); }});
    }
    for (std::size_t i = 0; i < strands_.size(); ++i)
      steps_.push_back({.may_run = always, .run = [this, i] {
                          strands_[i].reset();
                          note_end(kind::strand, i);
                        }});
    const auto shuts_down = [this, mode = modes[random_.below(3)]] {
      if (all_ == nullptr) return;
      CHECK(all_->shutdown(mode));
      note_end(kind::runtime, 0);
    };
    steps_.push_back({.may_run = always, .run = shuts_down});
    steps_.push_back({.may_run = [this] { return runtime_may_go(); },
                      .run =
                          [this] {
                            all_.reset();
                            note_end(kind::runtime, 0);
                          }});
    steps_.push_back({.may_run = always, .run = [this] { handles_.clear(); }});
  }

  random_source random_;
  atomic<int>& alive_;
  std::unique_ptr<runtime> all_;
  std::vector<std::unique_ptr<own_loop>> loops_;
  std::vector<std::unique_ptr<serial_executor>> strands_;
  std::vector<place> places_;
  std::vector<char> over_;  // for each place, whether its tasks have ended
  std::vector<std::unique_ptr<thing>> things_;
  std::deque<future<void>> handles_;
  std::deque<step> steps_;
};

}  // namespace

TEST_CASE("worlds of homes, tasks and what they wait for go in any order, and leave nothing behind") {
  const testing::watchdog dog(250s);
  random_source seeds(testing::printed_seed());
  std::size_t descriptors = 0;
  for (std::size_t round = 0; round < testing::scaled(1'000); ++round) {
    const std::uint64_t seed = seeds();
    CAPTURE(round);
    CAPTURE(seed);
    atomic<int> alive{0};
    {
      world one(seed, alive);
      one.live_and_end();
    }
    REQUIRE(alive.load(relaxed) == 0);
    if (round == 0) descriptors = testing::open_descriptors();
    REQUIRE(testing::open_descriptors() == descriptors);
  }
}
