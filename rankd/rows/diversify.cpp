// rankd/rows/diversify.cpp: chooses rows greedily, with a queue of postponed rows for each value.
#include <rankd/rows/diversify.hpp>

#include <rankd/rows/equal_rows.hpp>

#include <algorithm>
#include <functional>
#include <memory_resource>
#include <queue>
#include <span>
#include <vector>

namespace rankd {
namespace {

/// Counts how many of the most recently placed rows have each value.
class recent_values {
 public:
  recent_values(const numbered_values& values, const window_options& options, braid::arena& memory)
      : options_(options),
        counts_(memory.filled(values.count, std::uint32_t{0})),
        placed_(memory.uninitialized<std::uint32_t>(values.numbers.size())) {}

  [[nodiscard]] auto may_come(std::uint32_t value) const -> bool {
    return value == no_value || counts_[value] < options_.at_most;
  }

  /// Removes the row that leaves the window before the next row is placed. If this makes the value of the removed row
  /// allowed again, returns that value.
  auto leave() -> std::uint32_t {
    if (options_.window == 0 || size_ < options_.window) return no_value;
    const std::uint32_t value = placed_[size_ - options_.window];
    if (value == no_value) return no_value;
    return --counts_[value] + 1 == options_.at_most ? value : no_value;
  }

  void place(std::uint32_t value) {
    placed_[size_++] = value;
    if (value != no_value) ++counts_[value];
  }

 private:
  window_options options_;
  std::span<std::uint32_t> counts_;
  std::span<std::uint32_t> placed_;  // values, one for each row that was placed
  std::size_t size_ = 0;
};

/// The rows that were not allowed when it was their turn. These rows are stored as one queue of positions for each
/// value.
class waiting_rows {
 public:
  static constexpr std::uint32_t none = no_value;

  waiting_rows(const numbered_values& values, braid::arena& memory)
      : ends_(memory.filled(values.count, queue_ends{})),
        next_(memory.uninitialized<std::uint32_t>(values.numbers.size())) {}

  /// Returns the first position in the queue of a value. Returns `none` if the queue is empty.
  [[nodiscard]] auto first(std::uint32_t value) const -> std::uint32_t {
    return value == no_value ? none : ends_[value].first;
  }

  void push(std::uint32_t value, std::uint32_t position) {
    queue_ends& queue = ends_[value];
    next_[position] = none;
    if (queue.first == none)
      queue.first = position;
    else
      next_[queue.last] = position;
    queue.last = position;
  }

  void pop(std::uint32_t value) { ends_[value].first = next_[ends_[value].first]; }

 private:
  struct queue_ends {
    std::uint32_t first = none;
    std::uint32_t last = none;
  };

  std::span<queue_ends> ends_;     // per value
  std::span<std::uint32_t> next_;  // per position
};

/// Chooses a row for each position: the first remaining row that is allowed there.
class spreader {
 public:
  spreader(const row_set& rows, const window_options& options, braid::arena& memory)
      : rows_(rows),
        values_(number_values(rows, options.key_id, memory)),
        recent_(values_, options, memory),
        waiting_(values_, memory),
        is_placed_(memory.filled(words_for(rows.size()), std::uint64_t{0})),
        ready_(std::greater{}, std::pmr::vector<std::uint32_t>(&memory)) {}

  auto run(braid::arena& memory) -> row_set {
    const std::span<std::uint32_t> order = memory.uninitialized<std::uint32_t>(rows_.size());
    bool has_moved = false;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::uint32_t position = next();
      has_moved = has_moved || position != at;
      order[at] = rows_.row(position);
    }
    return has_moved ? row_set(rows_.table(), order) : rows_;
  }

 private:
  auto next() -> std::uint32_t {
    make_ready(recent_.leave());
    const std::uint32_t position = choose();
    set_bit(is_placed_.data(), position);
    const std::uint32_t value = values_.numbers[position];
    recent_.place(value);
    if (waiting_.first(value) != position) return position;
    waiting_.pop(value);
    if (recent_.may_come(value)) make_ready(value);
    return position;
  }

  /// Returns the position of the next row. Postponed rows that are allowed again are chosen before rows that were not
  /// considered yet.
  auto choose() -> std::uint32_t {
    if (!ready_.empty()) {
      const std::uint32_t position = ready_.top();
      ready_.pop();
      return position;
    }
    for (; unseen_ < rows_.size(); ++unseen_) {
      const std::uint32_t value = values_.numbers[unseen_];
      if (recent_.may_come(value)) return static_cast<std::uint32_t>(unseen_++);
      waiting_.push(value, static_cast<std::uint32_t>(unseen_));
    }
    while (test_bit(is_placed_.data(), left_)) ++left_;
    return static_cast<std::uint32_t>(left_);
  }

  void make_ready(std::uint32_t value) {
    if (const std::uint32_t position = waiting_.first(value); position != waiting_rows::none) ready_.push(position);
  }

  row_set rows_;
  numbered_values values_;
  recent_values recent_;
  waiting_rows waiting_;
  std::span<std::uint64_t> is_placed_;
  /// The first postponed position of each value that is allowed again.
  std::priority_queue<std::uint32_t, std::pmr::vector<std::uint32_t>, std::greater<>> ready_;
  std::size_t unseen_ = 0;  // the first position that was not looked at
  std::size_t left_ = 0;    // no position before it is left
};

auto drop_repeats(const row_set& rows, const window_options& options, braid::arena& memory) -> row_set {
  const numbered_values values = number_values(rows, options.key_id, memory);
  recent_values recent(values, options, memory);
  const std::span<std::uint64_t> stays = memory.filled(words_for(rows.size()), std::uint64_t{0});
  bool leaves = true;  // a row leaves the window once for each that is placed
  for (std::size_t position = 0; position < rows.size(); ++position) {
    if (leaves) static_cast<void>(recent.leave());
    leaves = recent.may_come(values.numbers[position]);
    if (!leaves) continue;
    recent.place(values.numbers[position]);
    set_bit(stays.data(), position);
  }
  return rows.select(bitmap(stays.data()), memory);
}

}  // namespace

auto limit_repeats(const row_set& rows, const window_options& options, braid::arena& memory) -> row_set {
  return options.overflow == overflow_rule::drop ? drop_repeats(rows, options, memory)
                                                 : spreader(rows, options, memory).run(memory);
}

auto fill_slots(const row_set& rows, bitmap wanted, const slot_options& options, braid::arena& memory) -> row_set {
  const std::span<std::uint32_t> order = memory.uninitialized<std::uint32_t>(rows.size());
  std::size_t slot = options.first - 1;  // the next one
  std::size_t in_slot = 0;               // no wanted position before it is left
  std::size_t other = 0;                 // no other position before it is left
  const auto skip = [&](std::size_t& position, bool is_wanted) {
    while (position < rows.size() && wanted[position] != is_wanted) ++position;
    return position < rows.size();
  };
  std::size_t size = 0;
  while (size < rows.size()) {
    const bool is_slot = size == slot;
    if (is_slot) slot += std::min(options.every, rows.size());
    const bool has_wanted = skip(in_slot, true);
    const bool has_other = skip(other, false);
    if (!has_other && !is_slot && options.overflow == overflow_rule::drop) break;
    const bool takes_wanted = has_wanted && (is_slot || !has_other);
    order[size++] = rows.row(takes_wanted ? in_slot++ : other++);
  }
  return row_set(rows.table(), order.first(size));
}

}  // namespace rankd
