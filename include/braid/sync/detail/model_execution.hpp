// braid/sync/detail/model_execution.hpp: one run of the explorer: its threads, of which only one runs at a time, and
// their steps.
#pragma once

#include <braid/sync/detail/model_atomic.hpp>
#include <braid/sync/detail/model_memory.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <ucontext.h>

namespace braid::detail {

/// A source location at which an atomic is accessed with an order above relaxed.
struct model_site {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string_view file;  // has static storage duration

  auto operator<=>(const model_site&) const = default;
};

/// Returns the location as text, such as "parker.hpp:52:34".
[[nodiscard]] auto to_string(const model_site& site) -> std::string;

/// The kinds of decisions. Some decisions have a cost, which is subtracted from a budget. Such decisions are possible
/// only while the budget lasts.
enum class model_question : std::uint8_t {
  preempt,   ///< 0: the running thread continues; otherwise it costs a preemption
  surprise,  ///< 0: the newest value, no spurious failure, no early end of a wait; costs a surprise otherwise
  next,      ///< the thread that continues if the running thread cannot
  wake,      ///< the waiter that a wake wakes
};

/// The interface of a decider, which makes the decisions of a run, such as which thread continues.
class model_decider {
 public:
  model_decider() = default;
  model_decider(const model_decider&) = delete;
  auto operator=(const model_decider&) -> model_decider& = delete;
  virtual ~model_decider() = default;

  /// Returns a number below `count`, which is at least two.
  virtual auto decide(model_question question, std::size_t count) -> std::size_t = 0;
};

/// The limits of a run.
struct model_bounds {
  unsigned preemptions = 2;   ///< the number of times that a thread which could continue is interrupted
  unsigned surprises = 2;     ///< stale values, spurious failures and wakes, timeouts while others can continue
  std::size_t steps = 2'000;  ///< a run with more steps is reported as a run that never ends
  std::optional<model_site> weakened;  ///< accesses at this place are relaxed, whatever order they name
};

/// A set of threads of a run. Threads are identified by their numbers.
struct model_threads {
  std::array<std::size_t, model_thread_limit> ids{};
  std::size_t count = 0;

  void add(std::size_t id) noexcept { ids[count++] = id; }
};

struct model_fiber;
enum class model_state : std::uint8_t;

/// A set of threads that take turns on the calling thread, each with its own stack. Every access to an atomic is a
/// step, before which the decider may switch to another thread. The run ends early after a deadlock, too many steps, a
/// race, a failed check, or an uncaught exception of a thread. Stack frames that have not returned by then are
/// abandoned, with everything they own.
class model_execution {
 public:
  model_execution(const model_bounds& bounds, model_decider& decider, std::vector<model_site>& ordered);
  model_execution(const model_execution&) = delete;
  auto operator=(const model_execution&) -> model_execution& = delete;
  ~model_execution();

  /// Runs `body` and the threads that it starts until all have ended. Returns a description of the failure, or an empty
  /// string.
  [[nodiscard]] auto run(std::function<void()> body) -> std::string;

  /// Returns the last steps of the threads, one line for each step.
  [[nodiscard]] auto trace() const -> std::string;

  /// Returns the run to which the calling thread belongs, or null.
  static auto current() noexcept -> model_execution*;

  // The following functions are called by the threads of the run.
  void start(std::function<void()> body);
  void join();
  void yield();
  [[nodiscard]] auto thread() const noexcept -> std::size_t { return running_; }
  [[noreturn]] void fail(std::string message);
  void on_read(model_plain& plain);
  void on_write(model_plain& plain);

  // The following functions implement those declared in model_atomic.hpp.
  auto on_load(const model_access& access) -> std::uint64_t;
  void on_store(const model_access& access, std::uint64_t value);
  auto on_fetch(const model_access& access) -> std::uint64_t;
  void on_replace(const model_access& access, std::uint64_t value);
  auto on_compare(const model_access& access, std::memory_order failure, std::uint64_t expected,
                  model_strength strength) -> model_compared;
  auto on_wait(const model_access& word, std::uint32_t expected, const std::optional<time_point>& deadline) -> bool;
  void on_wake(const model_access& word, int count);
  void on_light_barrier(std::source_location location);
  void on_heavy_barrier(std::source_location location);

 private:
  struct event {
    static constexpr std::size_t no_atomic = -1;  // the value for a step that is a barrier

    std::size_t thread = 0;
    const char* what = "";
    std::size_t atomic = no_atomic;
    std::uint64_t value = 0;
    std::size_t age = 0;
    std::memory_order order = std::memory_order_relaxed;
    std::source_location where;
  };

  static void enter() noexcept;
  auto running() noexcept -> model_fiber&;
  auto with_state(model_state state) const noexcept -> model_threads;
  void step();
  auto step(const model_access& access) -> std::size_t;
  void count_step();
  auto weakened(const std::source_location& location) -> bool;
  auto find_order(const model_access& access) -> std::memory_order;
  auto decide(model_question question, std::size_t count) -> std::size_t;
  auto decide_surprise(std::size_t count) -> std::size_t;
  void note(const char* operation, const model_access& access, std::uint64_t value, std::size_t age = 0);
  auto format_line(const event& done) const -> std::string;
  void leave_to_another();
  void switch_to(std::size_t thread);
  auto deadlock() const -> std::string;

  const model_bounds& bounds_;
  model_decider& decider_;
  std::vector<model_site>& ordered_;
  model_memory memory_;
  unsigned preemptions_;
  unsigned surprises_;
  std::size_t steps_ = 0;
  std::vector<std::unique_ptr<model_fiber>> fibers_;
  ucontext_t explorer_{};  // the context that called `run`
  std::size_t running_ = 0;
  std::string failure_;
  std::vector<event> events_;
};

}  // namespace braid::detail
