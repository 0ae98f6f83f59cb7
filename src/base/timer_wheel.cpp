// src/base/timer_wheel.cpp: implements hierarchical timing wheels: chooses the slot of a timer, and empties slots as
// time passes.
#include <braid/base/timer_wheel.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

namespace braid {

// A timer is stored at the level of the highest 6-bit digit in which its tick differs from elapsed_. The value of that
// digit is the number of its slot. So every used slot of a level is later than elapsed_, and all timers of a level are
// due before any timer of the next level. The next slot to process is therefore the first used slot of the lowest used
// level. When elapsed_ reaches the start of a slot, the slot's timers differ from elapsed_ in a lower digit only, and
// move down a level. If elapsed_ jumps over the starts of several used slots, all of these slots are emptied, so the
// rule stays true for the other slots.
//
// Before the slots exist, all timers that are later than elapsed_ are in the list `few_`, sorted by tick. When the
// slots are created, all of these timers move to the slots.

auto timer_wheel::tick_before(time_point time) noexcept -> std::uint64_t {
  const auto ns = std::max<duration::rep>(time.time_since_epoch().count(), 0);
  return static_cast<std::uint64_t>(ns) >> tick_bits;
}

auto timer_wheel::tick_after(time_point time) noexcept -> std::uint64_t {
  const auto ns = std::max<duration::rep>(time.time_since_epoch().count(), 0);
  return (static_cast<std::uint64_t>(ns) + ((1U << tick_bits) - 1)) >> tick_bits;
}

void timer_wheel::arm(timer& item, time_point time) noexcept {
  disarm(item);
  item.tick_ = tick_after(time) & timer::max_tick;  // no time_point has a later tick
  insert(item);
}

void timer_wheel::insert(timer& item) noexcept {
  if (item.tick_ <= elapsed_) {
    item.slot_ = timer::no_slot;
    overdue_.push_back(item);
    return;
  }
  if (slots_ == nullptr && !make_slots()) return insert_among_few(item);
  const auto highest_bit = static_cast<unsigned>(std::bit_width(item.tick_ ^ elapsed_)) - 1;
  const unsigned level = highest_bit / level_bits;
  const auto slot = static_cast<unsigned>(item.tick_ >> (level * level_bits)) % slots_per_level;
  item.slot_ = (level * slots_per_level + slot) & timer::no_slot;
  slots_->lists[item.slot_].push_back(item);
  slots_->used[level] |= std::uint64_t{1} << slot;
  used_levels_ |= 1U << level;
}

/// Inserts a timer into the sorted list, behind all timers with the same tick. Most timers are later than all timers in
/// the list, so the search begins at the back.
void timer_wheel::insert_among_few(timer& item) noexcept {
  item.slot_ = timer::among_few;
  few_.insert_behind(item, [&item](const timer& other) { return other.tick_ <= item.tick_; });
  ++few_count_;
}

/// Creates the slots if the list has no room for one more timer, and moves the timers from the list to the slots.
/// Returns false if no slots were created, because the list has enough room or the allocation has failed.
[[gnu::noinline]] auto timer_wheel::make_slots() noexcept -> bool {
  if (few_count_ < max_few) return false;
  slots_.reset(new (std::nothrow) wheel_slots);
  if (slots_ == nullptr) return false;
  while (few_count_ > 0) insert(pop_few());
  return true;
}

auto timer_wheel::pop_few() noexcept -> timer& {
  timer& first = *few_.pop_front();
  first.slot_ = timer::no_slot;
  --few_count_;
  return first;
}

void timer_wheel::disarm(timer& item) noexcept {
  if (!item.is_armed()) return;
  item.unlink();
  if (item.slot_ == timer::among_few) --few_count_;
  if (item.slot_ >= timer::among_few || !slots_->lists[item.slot_].empty()) return;
  mark_empty(item.slot_ / slots_per_level, item.slot_ % slots_per_level);
}

void timer_wheel::mark_empty(unsigned level, unsigned slot) noexcept {
  slots_->used[level] &= ~(std::uint64_t{1} << slot);
  if (slots_->used[level] == 0) used_levels_ &= ~(1U << level);
}

auto timer_wheel::first_slot() const noexcept -> std::optional<position> {
  if (used_levels_ == 0) return std::nullopt;
  const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
  const auto slot = static_cast<unsigned>(std::countr_zero(slots_->used[level]));
  const unsigned shift = level * level_bits;
  const std::uint64_t above = elapsed_ >> (shift + level_bits) << (shift + level_bits);
  return position{above | (std::uint64_t{slot} << shift), level, slot};
}

void timer_wheel::empty_slot(const position& place, intrusive_list<timer>& due) noexcept {
  mark_empty(place.level, place.slot);
  intrusive_list<timer> moving;
  moving.splice_back(slots_->lists[place.level * slots_per_level + place.slot]);
  while (timer* item = moving.pop_front()) {
    if (item->tick_ > elapsed_) {
      insert(*item);
    } else {
      item->slot_ = timer::no_slot;
      due.push_back(*item);
    }
  }
}

void timer_wheel::advance(time_point now, intrusive_list<timer>& due) noexcept {
  due.splice_back(overdue_);
  const std::uint64_t target = tick_before(now);
  while (few_count_ > 0 && few_.front().tick_ <= target) due.push_back(pop_few());
  for (auto next = first_slot(); next && next->tick <= target; next = first_slot()) {
    elapsed_ = next->tick;
    empty_slot(*next, due);
  }
  elapsed_ = std::max(elapsed_, target);
}

void timer_wheel::take_all(intrusive_list<timer>& pending) noexcept {
  pending.splice_back(overdue_);
  while (few_count_ > 0) pending.push_back(pop_few());
  for (auto at = first_slot(); at; at = first_slot()) {
    mark_empty(at->level, at->slot);
    while (timer* item = slots_->lists[at->level * slots_per_level + at->slot].pop_front()) {
      item->slot_ = timer::no_slot;
      pending.push_back(*item);
    }
  }
}

auto timer_wheel::next_event() const noexcept -> std::optional<time_point> {
  if (!overdue_.empty()) return time_point{duration{static_cast<duration::rep>(elapsed_ << tick_bits)}};
  std::uint64_t tick = 0;
  if (few_count_ > 0)
    tick = few_.front().tick_;
  else if (const auto at = first_slot(); at)
    tick = at->tick;
  else
    return std::nullopt;
  constexpr auto last_tick = static_cast<std::uint64_t>(std::numeric_limits<duration::rep>::max()) >> tick_bits;
  return time_point{duration{static_cast<duration::rep>(std::min(tick, last_tick) << tick_bits)}};
}

}  // namespace braid
