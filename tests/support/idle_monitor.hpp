// tests/support/idle_monitor.hpp: proves that a worker slept while work was there that it could have run.
#pragma once

#include <braid/base/random.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/support/seed.hpp>
#include <tests/support/system_threads.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace braid::testing {

/// Pieces of work that a test gives to a pool, by number. Each is offered, runs once and ends; then comes the next
/// round.
class work_board {
 public:
  enum class state : std::uint32_t { absent, runnable, running, ended };
  struct item {
    atomic<std::uint32_t> word{0};  // the round and the state; written by the threads that offer and run it
    atomic<int> home{0};            // the only thread that can run it, or 0: any worker; written before it is offered
  };

  explicit work_board(std::size_t size) : items_(size) {}

  /// The work can be run from now on, if it has not begun yet. Threads: one for each item.
  void offer(std::size_t index, int home = 0) {
    item& offered = items_[index];
    offered.home.store(home, relaxed);
    std::uint32_t absent = word_of(state::absent);
    offered.word.compare_exchange_strong(absent, word_of(state::runnable), release,
                                         relaxed);  // edge work_board.item: publish
  }

  /// Runs `work` as this item. Until it returns the thread is one that is at work.
  template <typename Fn>
  void run(std::size_t index, Fn work) {
    items_[index].word.store(word_of(state::running), relaxed);
    running_.fetch_add(1, relaxed);
    own_mark().begin();
    work();
    own_mark().end();
    running_.fetch_sub(1, relaxed);
    items_[index].word.store(word_of(state::ended), relaxed);
    ended_.fetch_add(1, release);  // edge work_board.ended: publish
  }

  /// The same for work that sleeps for so long: it leaves the processor to the others.
  void leaf(std::size_t index, std::chrono::microseconds length) {
    run(index, [length] { std::this_thread::sleep_for(length); });
  }

  /// Blocks until so many items of the round have ended. Threads: one.
  void wait_for(std::size_t count) const {
    while (ended_.load(acquire) < count)  // edge work_board.ended: observe
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

  /// The same, and begins another round.
  void finish_round(std::size_t count) {
    wait_for(count);
    ended_.store(0, relaxed);
    round_.fetch_add(states, relaxed);
    for (item& each : items_) each.word.store(word_of(state::absent), relaxed);
  }

  [[nodiscard]] auto items() const -> const std::deque<item>& { return items_; }
  [[nodiscard]] auto running() const -> std::size_t { return running_.load(relaxed); }
  [[nodiscard]] static auto is_runnable(std::uint32_t word) -> bool {
    return word % states == static_cast<std::uint32_t>(state::runnable);
  }

 private:
  static constexpr std::uint32_t states = 4;

  [[nodiscard]] auto word_of(state now) const -> std::uint32_t {
    return round_.load(relaxed) + static_cast<std::uint32_t>(now);
  }

  std::deque<item> items_;
  atomic<std::uint32_t> round_{0};  // written between rounds
  atomic<std::size_t> running_{0};  // written by threads that run items
  atomic<std::size_t> ended_{0};    // of this round
};

/// What a stress of idle workers leaves to chance.
struct idle_chance {
  static constexpr std::size_t max_items = 32;

  random_source random;

  /// Most are short, some far longer than a worker may sleep beside them.
  auto length() -> std::chrono::microseconds {
    constexpr std::uint64_t usual = 1'000;
    constexpr std::uint64_t longest = 9'000;
    return std::chrono::microseconds(50 + random.below(random.below(2) == 0 ? usual : longest));
  }
  /// Of items in a round.
  auto count() -> std::size_t { return 2 + random.below(max_items - 2); }
  /// Workers fall asleep meanwhile, or do not.
  void pause() {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(2) == 0 ? 0 : random.below(2'000)));
  }
};

/// What the monitor takes for a worker that has nothing to do.
enum class idle_rule : std::uint8_t {
  parked_thread,   ///< a thread of the pool that sleeps and runs no item
  missing_thread,  ///< fewer items run than there are workers: where threads may wait within jobs, and others take over
};

/// What the monitor is to look at.
struct monitored {
  std::string threads;  ///< what the names of the pool's threads begin with
  std::size_t workers = 0;
  /// How long a worker may sleep beside the same runnable work. Ten times as long where no run of stresses was asked
  /// for: the machine may be anybody's.
  std::chrono::microseconds limit{2'000};
  idle_rule rule = idle_rule::parked_thread;
};

/// Looks every 100 µs, and counts what it can prove. By what the system says of each thread, a worker slept from one
/// look to the next if it sleeps at both and was not given a processor in between. What was held up proves nothing: the
/// time begins anew whenever the monitor was late, or a thread that it has on each processor for comparison, or a
/// thread of the pool or the one that posts waited for a processor.
class idle_monitor {
 public:
  /// Threads: the one that posts. Requires that the threads of the pool are there.
  idle_monitor(const work_board& board, monitored what)
      : board_(board),
        what_(on_this_machine(std::move(what))),
        seen_(board.items().size()),
        poster_(own_thread_number()) {
    for (const int processor : allowed_processors()) controls_.emplace_back(processor);
    thread_ = std::thread([this] { watch(); });
  }
  idle_monitor(const idle_monitor&) = delete;
  auto operator=(const idle_monitor&) -> idle_monitor& = delete;
  ~idle_monitor() { stop(); }

  /// Ends the looking. What was proved is there afterwards.
  void stop() {
    stopped_.store(true, relaxed);
    if (thread_.joinable()) thread_.join();
    for (control& each : controls_) each.stop();
  }

  /// How often a worker slept beside runnable work for longer than the limit. Threads: any.
  [[nodiscard]] auto violations() const -> std::size_t { return violations_.load(relaxed); }

  /// Prints the longest sleep that was proved, and how many looks proved nothing. Requires that it was stopped.
  void print(std::string_view name) const {
    std::printf("%-46.*s longest %5lld us, %zu looks, %zu held up, %zu violations\n", static_cast<int>(name.size()),
                name.data(), static_cast<long long>(longest_.count()), looks_, held_up_looks_, violations());
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds interval{100};
  static constexpr std::chrono::microseconds late{500};

  struct thread_seen {
    explicit thread_seen(int number) : thread(number) {}
    thread_account thread;
    thread_times times;
    std::uint64_t marks = 0;
    clock::time_point asleep_since;
    bool is_known = false;
  };

  struct item_seen {
    std::uint32_t word = 0;
    clock::time_point since;
  };

  /// A thread on one processor that does nothing but wake up.
  class control {
   public:
    explicit control(int processor) : thread_([this, processor] { beat(processor); }) {}
    void stop() {
      stopped_.store(true, relaxed);
      if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] auto last() const -> clock::time_point {
      return clock::time_point(clock::duration(last_.load(relaxed)));
    }

   private:
    void beat(int processor) {
      stay_on(processor);
      wake_precisely();
      while (!stopped_.load(relaxed)) {
        last_.store(clock::now().time_since_epoch().count(), relaxed);
        std::this_thread::sleep_for(interval);
      }
    }

    atomic<clock::rep> last_{0};  // when it was awake last; written by it
    atomic<bool> stopped_{false};
    std::thread thread_;
  };

  static auto on_this_machine(monitored what) -> monitored {
    if (!is_stress_run()) what.limit *= 10;
    return what;
  }

  void watch() {
    wake_precisely();
    for (clock::time_point last = clock::now(); !stopped_.load(relaxed); std::this_thread::sleep_for(interval)) {
      const clock::time_point now = clock::now();
      ++looks_;
      if (now - last > interval + late || controls_are_late(now)) held_up_at(now);
      last = now;
      look(now);
    }
  }

  void held_up_at(clock::time_point now) {
    held_up_ = now;
    ++held_up_looks_;
  }

  [[nodiscard]] auto controls_are_late(clock::time_point now) const -> bool {
    return std::any_of(controls_.begin(), controls_.end(),
                       [&](const control& each) { return now - each.last() > interval + late; });
  }

  void look(clock::time_point now) {
    if (!look_at_items(now)) {
      for (thread_seen& each : threads_) each.is_known = false;
      return;
    }
    find_threads();
    for (thread_seen& each : threads_) look_at(each, now);
    std::erase_if(threads_, [](const thread_seen& each) { return !each.thread.is_there(); });
    judge(now);
  }

  /// Whether there is anything runnable.
  auto look_at_items(clock::time_point now) -> bool {
    bool any = false;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const std::uint32_t word = board_.items()[i].word.load(acquire);  // edge work_board.item: observe
      if (word != seen_[i].word) seen_[i] = {.word = word, .since = now};
      any = any || work_board::is_runnable(word);
    }
    return any;
  }

  /// The threads of the pool, and the one that posts. New ones come only where threads take over from each other.
  void find_threads() {
    if (!threads_.empty() && what_.rule == idle_rule::parked_thread) return;
    for (const int number : threads_of_process(what_.threads)) find(number);
    find(poster_);
  }

  void find(int number) {
    const auto is_it = [number](const thread_seen& each) { return each.thread.number() == number; };
    if (std::none_of(threads_.begin(), threads_.end(), is_it)) threads_.emplace_back(number);
  }

  void look_at(thread_seen& each, clock::time_point now) {
    const thread_times before = std::exchange(each.times, each.thread.read());
    const std::uint64_t marks = std::exchange(each.marks, marks_of(each.thread.number()));
    const thread_times& times = each.times;
    if (!std::exchange(each.is_known, true)) {
      each.asleep_since = now;
      return;
    }
    const bool ran = times.slices != before.slices;
    if (times.waited - before.waited > late) held_up_at(now);
    if (!ran && before.state != 'S' && times.state != 'S')
      held_up_at(now);  // it may wait for a processor since the last look
    if (ran || before.state != 'S' || times.state != 'S' || marks != each.marks) each.asleep_since = now;
  }

  void judge(clock::time_point now) {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (!work_board::is_runnable(seen_[i].word)) continue;
      const clock::time_point idle = idle_since(board_.items()[i].home.load(relaxed), now);
      const auto slept =
          std::chrono::duration_cast<std::chrono::microseconds>(now - std::max({seen_[i].since, held_up_, idle}));
      longest_ = std::max(longest_, slept);
      if (slept <= what_.limit) continue;
      constexpr std::size_t printed = 8;
      if (violations_.fetch_add(1, relaxed) < printed)
        std::fprintf(stderr, "a worker slept for %lld us beside item %zu, which could run\n",
                     static_cast<long long>(slept.count()), i);
      held_up_ = now;  // the next is another one
    }
  }

  /// Since when a worker that could run such an item has slept all the time; `now` if none has.
  [[nodiscard]] auto idle_since(int home, clock::time_point now) const -> clock::time_point {
    clock::time_point first = now;
    clock::time_point last;
    for (const thread_seen& each : threads_) {
      if (each.thread.number() == poster_) continue;
      last = std::max(last, each.asleep_since);
      const bool may_run = home == 0 || home == each.thread.number();
      if (may_run && each.marks % 2 == 0) first = std::min(first, each.asleep_since);
    }
    if (what_.rule == idle_rule::parked_thread) return first;
    return board_.running() < what_.workers ? last : now;
  }

  const work_board& board_;
  const monitored what_;
  std::vector<item_seen> seen_;
  const int poster_;
  std::deque<control> controls_;
  std::deque<thread_seen> threads_;
  clock::time_point held_up_;
  std::chrono::microseconds longest_{0};
  std::size_t looks_ = 0;
  std::size_t held_up_looks_ = 0;
  atomic<std::size_t> violations_{0};  // written by the monitor
  atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace braid::testing
