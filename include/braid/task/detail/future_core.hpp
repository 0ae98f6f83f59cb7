// braid/task/detail/future_core.hpp: the type-independent state of a result that producers, futures and continuations
// share.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/continuation.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace braid::detail {

/// States whether readers other than the owner of a future may read its value.
enum class readers : std::uint8_t { none, perhaps };

/// The kind of result with which a future settled.
enum class verdict : std::uintptr_t { value = 4, failure = 6 };

/// The shared state of a future without its value: the list of continuations, and the reference count. The derived
/// class stores the result. It writes the result before `settle` is called, and never again after that.
///
/// The producer holds a reference until `settle` drops it. Each reader holds a reference, and so does the future, or
/// each copy of a shared future. A consumer takes over the reference of the future, and thereby gets the right to move
/// the value out. The consumer is notified when its reference is the only one left.
/// Protocol: docs/design/future.md
class BRAID_API future_core : public continuation {
 public:
  /// Returns the executor of the producer, on which continuations run if they name no other executor. The executor may
  /// no longer exist. Returns an empty id if there is no executor.
  [[nodiscard]] auto where() const noexcept -> executor_id { return executor_; }

  [[nodiscard]] auto is_settled() const noexcept -> bool {
    return (head_.load(acquire) & settled) != 0;  // edge future.result: observe the value or failure
  }

  /// Returns how the future has settled. Requires that the caller knows that the future has settled.
  [[nodiscard]] auto how() const noexcept -> verdict { return static_cast<verdict>(head_.load(relaxed) & state_mask); }

  /// Marks the future as settled. Called once by the producer after it has stored the result. The producer must not
  /// access the object afterwards.
  void settle(verdict as, cascade& more) noexcept;

  /// Notifies `node` once the future settles. The node holds its own reference and only reads the value.
  void read_by(continuation& node, cascade& more) noexcept {
    if (!try_attach(node, pending)) more.add(node);
  }

  /// Notifies `node` once the future has settled and no reader needs the value any more. The node takes over the
  /// future's reference.
  void consume_by(continuation& node, readers others, cascade& more) noexcept {
    if (try_attach(node, claimed)) return;
    if (others == readers::none || !try_defer(node)) more.add(node);
  }

  void add_reference() noexcept { refs_.fetch_add(1, relaxed); }

  /// Drops the reference that a future held, or that a producer held which never started.
  void drop_reference() noexcept {
    cascade none;
    drop_reference(none);
  }

  /// Drops a reference. Notifies the consumer if this was the reference for which it waited.
  void drop_reference(cascade& more) noexcept;

  /// Blocks until the future has settled. Returns false if `deadline` passes first. A worker runs other jobs during the
  /// wait.
  /// Errors: std::system_error with errc::would_deadlock on the thread that must settle the future, and on a thread
  /// that also waits for I/O.
  auto wait(std::optional<time_point> deadline = std::nullopt) -> bool { return is_settled() || wait_slowly(deadline); }

  auto wait_for(duration limit) -> bool;

  /// Blocks until no reader needs the value. Requires that the future has settled, and that the caller holds the only
  /// future.
  /// Errors: would_deadlock if the call would block a thread that also waits for I/O; in that case nothing has changed.
  void wait_for_readers();

  /// Requests that the producer stops. Does nothing if the producer cannot be stopped, or has settled the future. The
  /// caller must hold a reference.
  virtual void request_stop(errc /*reason*/) noexcept {}

  /// Returns the identity of the producer, or null if it is not a task.
  [[nodiscard]] virtual auto info() const noexcept -> const task_info* { return nullptr; }

 protected:
  explicit future_core(act_fn act, executor_id executor) noexcept : continuation(act), executor_(executor) {}
  ~future_core() = default;

  /// Returns whether no reader will use the result. The producer calls this before it settles the future.
  [[nodiscard]] auto is_abandoned() const noexcept -> bool {
    return head_.load(relaxed) == pending && refs_.load(relaxed) == 1;
  }

  /// Destroys the result and this object. An override can call `how()` to check whether the result is a value or an
  /// exception.
  virtual void destroy() noexcept = 0;

 private:
  class sleeper;

  [[nodiscard]] auto is_alone_soon() const noexcept -> bool;

  // The meaning of the low bits of head_. The other bits are the address of the newest continuation, or of the consumer
  // that waits for readers.
  static constexpr std::uintptr_t watched = 1;  // a thread sleeps until `signal_` changes
  static constexpr std::uintptr_t pending = 0;
  static constexpr std::uintptr_t claimed = 2;  // pending, and the newest continuation is the consumer
  static constexpr std::uintptr_t settled = 4;  // settled with a value; with `claimed`: settled with a failure
  static constexpr std::uintptr_t state_mask = settled | claimed;
  static constexpr std::uintptr_t mask = state_mask | watched;
  static constexpr std::uint32_t deferred = std::uint32_t{1} << 31U;  // a bit of refs_: a consumer waits for the others

  static auto find_node(std::uintptr_t head) noexcept -> continuation* {
    return reinterpret_cast<continuation*>(head & ~mask);
  }

  auto try_attach(continuation& node, std::uintptr_t as) noexcept -> bool;
  void settle_many(std::uintptr_t before, verdict as, cascade& more) noexcept;
  auto try_defer(continuation& node) noexcept -> bool;
  void wake_sleepers() noexcept;
  auto announce_sleep() noexcept -> bool;
  auto wait_slowly(std::optional<time_point> deadline) -> bool;

  atomic<std::uintptr_t> head_{pending};
  executor_id executor_;
  atomic<std::uint32_t> refs_{2};    // references, and the bit `deferred`; written by each holder of a reference
  atomic<std::uint32_t> signal_{0};  // 1 if settled; written by the producer if the head is watched
};

static_assert(alignof(continuation) >= 8, "the low bits of the address of a continuation must be zero");

inline void future_core::settle(verdict as, cascade& more) noexcept {
  // edge future.result: publish the value or the failure; edge future.continuation: observe the waiting nodes
  const std::uintptr_t before = head_.exchange(static_cast<std::uintptr_t>(as), acq_rel);
  continuation* const newest = find_node(before);
  if ((before & mask) == claimed && newest->next == nullptr) [[likely]] {
    refs_.store(1, relaxed);  // only the consumer refers to the object
    more.add(*newest);
  } else if (before == pending) {
    drop_reference(more);
  } else {
    settle_many(before, as, more);
  }
}

inline void future_core::drop_reference(cascade& more) noexcept {
  if (refs_.load(acquire) == 1) return destroy();  // edge future.reference: observe the last use by the others
  // edge future.reference: both, because the last holder must see all uses before it destroys the state
  const std::uint32_t before = refs_.fetch_sub(1, acq_rel);
  if (before == 1) return destroy();
  if (before != (deferred | 2)) return;
  refs_.store(1, relaxed);  // only the consumer is left
  more.add(*find_node(head_.load(relaxed)));
}

/// Attaches a continuation. Returns false if the future has already settled.
inline auto future_core::try_attach(continuation& node, std::uintptr_t as) noexcept -> bool {
  std::uintptr_t seen = head_.load(acquire);  // edge future.result: observe, the caller reads it if this fails
  do {
    if ((seen & settled) != 0) return false;
    node.next = find_node(seen);
    // edge future.continuation: publish the node; edge future.result: observe the result, which the caller reads if
    // this exchange fails
  } while (!head_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&node) | as | (seen & watched), release,
                                        acquire));
  return true;
}

/// Constructs a `State` in memory for jobs. Errors: std::bad_alloc, and exceptions of the constructor of `State`.
template <typename State, typename... Args>
[[nodiscard]] auto make_state(Args&&... args) -> State& {
  void* place = allocate_block<State>();
  try {
    return *::new (place) State(std::forward<Args>(args)...);
  } catch (...) {
    free_block<State>(place);
    throw;
  }
}

/// Destroys a state that `make_state` created, and frees its memory.
template <typename State>
void destroy_state(State& state) noexcept {
  std::destroy_at(&state);
  free_block<State>(&state);
}

}  // namespace braid::detail
