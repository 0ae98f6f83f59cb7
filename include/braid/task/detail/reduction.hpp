// braid/task/detail/reduction.hpp: a deterministic tree reduction, whose shape depends only on the number of elements.
#pragma once

#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A reduction tree. A node has up to 16 children, which are combined from left to right. A leaf has up to a grain of
/// elements, also combined from left to right. With so many children, a worker simply continues with the next child if
/// no thief requests work.
template <typename T, typename Stop, typename Iterator, typename Combine, typename Proj>
class reduction {
 public:
  /// The result for a part of the range. The result is empty if a stop was requested.
  using part = std::conditional_t<std::is_same_v<Stop, never_stopped>, T, std::optional<T>>;

  reduction(const Stop& stop, Iterator first, Combine& combine, Proj& proj, std::size_t grain) noexcept
      : stop_(stop), first_(std::move(first)), combine_(combine), proj_(proj), grain_(grain) {}

  /// Reduces a range of at least one element on a worker.
  [[gnu::always_inline]] auto node(worker* self, std::size_t from, std::size_t to) const -> part {
    const std::size_t step = choose_step(to - from);
    if (self != nullptr && !self->has_fork_at_hand() && to - from > step) [[unlikely]]
      return spread(std::nullopt, from, to, step);
    part total = child(from, std::min(from + step, to));
    for (std::size_t next = from + step; next < to; next += step) {
      if (self != nullptr && !self->has_fork_at_hand()) [[unlikely]]
        return spread(std::move(total), next, to, step);
      total = both(std::move(total), child(next, std::min(next + step, to)));
    }
    return total;
  }

  /// Reduces a range on a thread that is not a worker. Each node is a parallel loop over its children, which this
  /// thread begins.
  [[gnu::noinline]] auto outside(std::size_t from, std::size_t to) const -> part {
    if (!begins_here()) return run_elsewhere([&] { return node(worker_of_thread, from, to); });
    if (to - from <= grain_) return reduce_part(from, to);
    return spread(std::nullopt, from, to, choose_step(to - from));
  }

  /// Combines the results of a left part and a right part.
  [[nodiscard]] auto both(part left, part right) const -> part {
    if constexpr (std::is_same_v<part, T>)
      return std::invoke(combine_, std::move(left), std::move(right));
    else
      return left && right ? part(std::invoke(combine_, *std::move(left), *std::move(right))) : std::nullopt;
  }

 private:
  // docs/design/constants.md says what this value rests on.
  static constexpr std::size_t max_children = 16;

  [[nodiscard]] auto choose_step(std::size_t count) const noexcept -> std::size_t {
    return std::max(grain_, (count + max_children - 1) / max_children);
  }

  [[gnu::always_inline]] auto child(std::size_t from, std::size_t to) const -> part {
    if (to - from <= grain_) return reduce_part(from, to);
    return inner(from, to);
  }

  [[gnu::noinline]] auto inner(std::size_t from, std::size_t to) const -> part {
    worker* const self = worker_of_thread;
    return self != nullptr ? node(self, from, to) : outside(from, to);
  }

  auto reduce_part(std::size_t from, std::size_t to) const -> part {
    if constexpr (!std::is_same_v<part, T>)
      if (stop_.reason()) return std::nullopt;
    T total(std::invoke(proj_, at(first_, from)));
    for (std::size_t i = from + 1; i != to; ++i)
      total = std::invoke(combine_, std::move(total), T(std::invoke(proj_, at(first_, i))));
    return total;
  }

  /// Computes the children of a range on any workers, in any order, and then combines the results from left to right.
  [[gnu::noinline]] auto spread(std::optional<part> total, std::size_t from, std::size_t to, std::size_t step) const
      -> part {
    std::array<std::optional<part>, max_children> parts;
    const std::size_t count = (to - from + step - 1) / step;
    const auto children = [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i != last; ++i)
        parts[i].emplace(child(from + i * step, std::min(from + (i + 1) * step, to)));
    };
    for_chunks(count, 1, never_stopped{}, children, step);
    std::size_t i = 0;
    if (!total) total.emplace(*std::move(parts[i++]));
    for (; i != count; ++i) total.emplace(both(*std::move(total), *std::move(parts[i])));
    return *std::move(total);
  }

  const Stop& stop_;
  const Iterator first_;
  Combine& combine_;
  Proj& proj_;
  const std::size_t grain_;
};

}  // namespace braid::detail
