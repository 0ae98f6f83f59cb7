// braid/base/timer_wheel.hpp: a hierarchical wheel of pending timers: arming and disarming take O(1), and no timer
// fires early.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace braid {

/// A timer: a function that is called at a point in time. It is a member of the object that waits.
/// Threads: the same as for the timer service that it is armed with. Lifetime: must be disarmed, fired or dropped
/// before it is destroyed.
class timer : public list_hook {
 public:
  using fire_fn = void (*)(timer&) noexcept;

  /// Constructs a timer. If the timer service may end before the timer fires, use a `droppable_timer`.
  explicit timer(fire_fn when_due) noexcept : fire_(when_due) {}

  [[nodiscard]] auto is_armed() const noexcept -> bool { return is_linked(); }

  /// Calls the function `when_due` that was passed to the constructor.
  void fire() noexcept { fire_(*this); }

  /// Calls the function `when_dropped` of a `droppable_timer`, because the timer service has ended and the timer will
  /// not fire.
  inline void drop() noexcept;

 private:
  friend class timer_wheel;
  friend class droppable_timer;
  static constexpr unsigned tick_bits = 50;
  static constexpr std::uint64_t max_tick = (std::uint64_t{1} << tick_bits) - 1;
  static constexpr unsigned slot_bits = 13;
  static constexpr std::uint64_t no_slot = (std::uint64_t{1} << slot_bits) - 1;
  static constexpr std::uint64_t among_few = no_slot - 1;  // in the list of few timers

  fire_fn fire_;
  std::uint64_t tick_ : tick_bits = 0;
  std::uint64_t slot_ : slot_bits = no_slot;
  std::uint64_t is_droppable_ : 1 = 0;
};

/// A timer whose owner must know if the timer service ends before the timer fires.
class droppable_timer : public timer {
 public:
  droppable_timer(fire_fn when_due, fire_fn when_dropped) noexcept : timer(when_due), drop_(when_dropped) {
    is_droppable_ = 1;
  }

 private:
  friend class timer;

  fire_fn drop_;
};

inline void timer::drop() noexcept {
  if (is_droppable_ != 0) static_cast<droppable_timer*>(this)->drop_(*this);
}

/// A set of pending timers, sorted by the tick of about 16 µs in which they are due. Deadlines are rounded up to a tick
/// and the current time is rounded down. So no timer fires early, and a timer fires at most one tick late. Threads: one
/// at a time. Cost: O(1) for each call. A timer is moved to a finer level at most once for each level before it fires.
/// Up to `max_few` timers are kept in a sorted list, which needs no allocation. The first time that more timers are
/// pending, the slots of the wheel are allocated (about 9 KiB). If that allocation fails, the list stays in use, and
/// arming a timer takes O(n). Source: Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987.
class BRAID_API timer_wheel {
 public:
  // docs/design/constants.md says what these values rest on.
  static constexpr unsigned tick_bits = 14;  ///< a tick is 2^14 ns
  static constexpr unsigned max_few = 8;     ///< the number of timers that need no slots

  explicit timer_wheel(time_point now) noexcept : elapsed_(tick_before(now)) {}

  /// Arms `item` for `time`. A timer that is already armed is moved to the new time. A time in the past is due at once.
  void arm(timer& item, time_point time) noexcept;

  /// Removes `item`, even if it is due and has not fired yet. Does nothing if it is not armed.
  void disarm(timer& item) noexcept;

  /// Advances the wheel to `now`. Appends every timer whose time has come to the list `due`. Timers whose time had
  /// already passed when they were armed come first. The others are in the order of their ticks, and within a tick in
  /// the order of arming. A timer in the list `due` still counts as armed and may be disarmed or armed again.
  void advance(time_point now, intrusive_list<timer>& due) noexcept;

  /// Appends every armed timer to the list `pending`, whether it is due or not. The timers still count as armed, as in
  /// `advance`.
  void take_all(intrusive_list<timer>& pending) noexcept;

  /// Returns a time before which no timer is due, or nothing if no timer is pending. The returned time may be earlier
  /// than the first deadline.
  [[nodiscard]] auto next_event() const noexcept -> std::optional<time_point>;

  [[nodiscard]] auto empty() const noexcept -> bool { return few_count_ == 0 && used_levels_ == 0 && overdue_.empty(); }

 private:
  // docs/design/constants.md says what this value rests on.
  static constexpr unsigned level_bits = 6;
  static constexpr unsigned slots_per_level = 1U << level_bits;
  static constexpr unsigned levels = 9;  // 2^(14 + 6·9) ns: every time_point has a slot

  struct position {
    std::uint64_t tick;
    unsigned level;
    unsigned slot;
  };

  static auto tick_before(time_point time) noexcept -> std::uint64_t;
  static auto tick_after(time_point time) noexcept -> std::uint64_t;

  /// The lists of the wheel, and a bit for each list that is not empty.
  struct wheel_slots {
    std::array<std::uint64_t, levels> used{};  // a bit for each slot, set if the slot has a timer
    std::array<intrusive_list<timer>, std::size_t{levels} * slots_per_level> lists;
  };

  void insert(timer& item) noexcept;
  void insert_among_few(timer& item) noexcept;
  [[nodiscard]] auto make_slots() noexcept -> bool;
  [[nodiscard]] auto first_slot() const noexcept -> std::optional<position>;
  void mark_empty(unsigned level, unsigned slot) noexcept;
  void empty_slot(const position& place, intrusive_list<timer>& due) noexcept;
  auto pop_few() noexcept -> timer&;

  std::uint64_t elapsed_;                 // every timer up to this tick has been returned
  std::uint32_t used_levels_ = 0;         // a bit for each level, set if the level has a timer
  std::uint32_t few_count_ = 0;           // the number of timers in `few_`
  intrusive_list<timer> few_;             // all later timers by tick, while there are no slots
  intrusive_list<timer> overdue_;         // armed for a time that had passed
  std::unique_ptr<wheel_slots> slots_{};  // created when more than `max_few` timers are pending
};

}  // namespace braid
