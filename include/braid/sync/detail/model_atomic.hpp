// braid/sync/detail/model_atomic.hpp: the atomic of the model build; the explorer decides the result of each access.
#pragma once

#include <braid/base/clock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <type_traits>

namespace braid::detail {

/// Locates the history of an atomic: it is the history with the index `index` in the run with the number `run`. In
/// other runs the atomic has no history.
struct model_location {
  std::uint64_t run = 0;  // runs count from one
  std::size_t index = 0;
};

/// The data about an access that the explorer needs. `initial` becomes the first value of the atomic's history if the
/// run has not used the atomic before.
struct model_access {
  model_location& place;
  std::uint64_t initial;
  std::memory_order order;
  std::source_location where;
};

/// Selects whether a compare-exchange may fail although the atomic has the expected value.
enum class model_strength : std::uint8_t { weak, strong };

struct model_compared {
  std::uint64_t seen = 0;
  bool equal = false;
};

/// Returns whether the calling thread belongs to a run. If the result is false, atomics and futexes work normally. If
/// it is true, they call the functions below. At each call except `model_replace`, the explorer may switch to another
/// thread.
[[nodiscard]] auto model_active() noexcept -> bool;

[[nodiscard]] auto model_load(const model_access& access) noexcept -> std::uint64_t;
void model_store(const model_access& access, std::uint64_t value) noexcept;

/// The first half of a read-modify-write: returns the newest value. `model_replace` is the second half. No other thread
/// runs between the two calls.
[[nodiscard]] auto model_fetch(const model_access& access) noexcept -> std::uint64_t;
void model_replace(const model_access& access, std::uint64_t value) noexcept;

/// Performs the comparison of a compare-exchange. If the newest value equals `expected`, this acts as `model_fetch`,
/// and the caller must then call `model_replace`. Otherwise, this acts as a load with the order `failure`.
[[nodiscard]] auto model_compare(const model_access& access, std::memory_order failure, std::uint64_t expected,
                                 model_strength strength) noexcept -> model_compared;

/// Lets another thread continue, if there is a thread that can continue.
void model_yield() noexcept;

/// Returns the number of the calling thread in the run.
[[nodiscard]] auto model_thread() noexcept -> std::size_t;

/// Records the light or heavy side of an asymmetric barrier in the explorer's memory model.
void model_light_barrier(std::source_location location) noexcept;
void model_heavy_barrier(std::source_location location) noexcept;

/// A std::atomic of up to eight bytes. The explorer decides the results of accesses by threads of a run. For an atomic
/// that was created outside of a run, each run begins with the atomic's current value. Runs do not change that value.
template <typename T>
class model_atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  using memory_order = std::memory_order;
  using source = std::source_location;

  static constexpr bool is_counter = std::is_integral_v<T> && !std::is_same_v<T, bool>;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  constexpr model_atomic() noexcept = default;
  constexpr model_atomic(T initial) noexcept : value_(initial) {}  // NOLINT: as std::atomic
  model_atomic(const model_atomic&) = delete;
  auto operator=(const model_atomic&) -> model_atomic& = delete;
  ~model_atomic() = default;

  [[nodiscard]] auto is_lock_free() const noexcept -> bool { return value_.is_lock_free(); }

  auto load(memory_order order = seq_cst, source location = source::current()) const noexcept -> T {
    if (!model_active()) return value_.load(order);
    return value_of(model_load(access(order, location)));
  }

  void store(T value, memory_order order = seq_cst, source location = source::current()) noexcept {
    if (!model_active()) return value_.store(value, order);
    model_store(access(order, location), bits_of(value));
  }

  auto exchange(T value, memory_order order = seq_cst, source location = source::current()) noexcept -> T {
    if (!model_active()) return value_.exchange(value, order);
    return update(access(order, location), [value](T) { return value; });
  }

  auto compare_exchange_weak(T& expected, T desired, memory_order success, memory_order failure,
                             source location = source::current()) noexcept -> bool {
    if (!model_active()) return value_.compare_exchange_weak(expected, desired, success, failure);
    return compare_exchange(access(success, location), failure, expected, desired, model_strength::weak);
  }

  auto compare_exchange_weak(T& expected, T desired, memory_order order = seq_cst,
                             source location = source::current()) noexcept -> bool {
    return compare_exchange_weak(expected, desired, order, loading_part(order), location);
  }

  auto compare_exchange_strong(T& expected, T desired, memory_order success, memory_order failure,
                               source location = source::current()) noexcept -> bool {
    if (!model_active()) return value_.compare_exchange_strong(expected, desired, success, failure);
    return compare_exchange(access(success, location), failure, expected, desired, model_strength::strong);
  }

  auto compare_exchange_strong(T& expected, T desired, memory_order order = seq_cst,
                               source location = source::current()) noexcept -> bool {
    return compare_exchange_strong(expected, desired, order, loading_part(order), location);
  }

  auto fetch_add(T operand, memory_order order = seq_cst, source location = source::current()) noexcept -> T
    requires is_counter
  {
    if (!model_active()) return value_.fetch_add(operand, order);
    return update(access(order, location),
                  [operand](T old) { return static_cast<T>(bits_of(old) + bits_of(operand)); });
  }

  auto fetch_sub(T operand, memory_order order = seq_cst, source location = source::current()) noexcept -> T
    requires is_counter
  {
    if (!model_active()) return value_.fetch_sub(operand, order);
    return update(access(order, location),
                  [operand](T old) { return static_cast<T>(bits_of(old) - bits_of(operand)); });
  }

  auto fetch_or(T operand, memory_order order = seq_cst, source location = source::current()) noexcept -> T
    requires is_counter
  {
    if (!model_active()) return value_.fetch_or(operand, order);
    return update(access(order, location), [operand](T old) { return static_cast<T>(old | operand); });
  }

  auto fetch_and(T operand, memory_order order = seq_cst, source location = source::current()) noexcept -> T
    requires is_counter
  {
    if (!model_active()) return value_.fetch_and(operand, order);
    return update(access(order, location), [operand](T old) { return static_cast<T>(old & operand); });
  }

  auto fetch_add(std::ptrdiff_t count, memory_order order = seq_cst, source location = source::current()) noexcept -> T
    requires std::is_pointer_v<T>
  {
    if (!model_active()) return value_.fetch_add(count, order);
    return update(access(order, location), [count](T old) { return old + count; });
  }

  auto fetch_sub(std::ptrdiff_t count, memory_order order = seq_cst, source location = source::current()) noexcept -> T
    requires std::is_pointer_v<T>
  {
    if (!model_active()) return value_.fetch_sub(count, order);
    return update(access(order, location), [count](T old) { return old - count; });
  }

  /// Returns the data about an access that the explorer needs. The functions for futexes also use it, to find the
  /// history of this atomic.
  [[nodiscard]] auto access(memory_order order, source location) const noexcept -> model_access {
    return {place_, bits_of(value_.load(std::memory_order_relaxed)), order, location};
  }

 private:
  static constexpr memory_order seq_cst = std::memory_order_seq_cst;

  static auto bits_of(T value) noexcept -> std::uint64_t {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }

  static auto value_of(std::uint64_t bits) noexcept -> T {
    T value{};
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  /// Converts the single memory order of a compare-exchange to the order of its load in the case that it fails.
  static constexpr auto loading_part(memory_order order) noexcept -> std::memory_order {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    return order == std::memory_order_release ? std::memory_order_relaxed : order;
  }

  template <typename Change>
  static auto update(const model_access& access, Change change) noexcept -> T {
    const T old = value_of(model_fetch(access));
    model_replace(access, bits_of(change(old)));
    return old;
  }

  static auto compare_exchange(const model_access& access, memory_order failure, T& expected, T desired,
                               model_strength strength) noexcept -> bool {
    const model_compared compared = model_compare(access, failure, bits_of(expected), strength);
    if (compared.equal)
      model_replace(access, bits_of(desired));
    else
      expected = value_of(compared.seen);
    return compared.equal;
  }

  std::atomic<T> value_{};  // must be first: its address is the address of the real futex
  mutable model_location place_;
};

static_assert(std::is_standard_layout_v<model_atomic<std::uint32_t>>);

/// Waits on the futex of a run. Returns false if the deadline has passed; the explorer may let the deadline pass at any
/// time. A wake does not synchronise the two threads: the waiter observes the waker's writes only by its own loads.
[[nodiscard]] auto model_wait(const model_atomic<std::uint32_t>& word, std::uint32_t expected,
                              const std::optional<time_point>& deadline) noexcept -> bool;
void model_wake(const model_atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace braid::detail
