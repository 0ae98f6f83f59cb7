// braid/thread/cpu_set.hpp: a set of CPUs, used for affinity masks, topology and quotas.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid {

/// A set of the CPU numbers that the system uses. The numbers may have gaps. This is a value type: copies are
/// independent. Threads: like a standard container.
class BRAID_API cpu_set {
 public:
  class iterator;
  using value_type = unsigned;

  /// One more than the largest CPU number that a set can contain. No Linux kernel has more CPUs.
  static constexpr unsigned limit = 8192;

  cpu_set() = default;
  /// Constructs a set of these CPUs. Requires that each number is below `limit`.
  cpu_set(std::initializer_list<unsigned> cpus);

  /// Parses a list such as `0-3,8`, in the format of the system's files. The list may be empty, and blanks around it
  /// are allowed. Errors: invalid_argument for another format, a descending range, or a number that is not below
  /// `limit`.
  [[nodiscard]] static auto parse(std::string_view text) -> result<cpu_set>;

  /// Returns the CPUs from `first` to `last`, inclusive. Requires that `first` is not greater than `last`, and that
  /// `last` is below `limit`.
  static auto range(unsigned first, unsigned last) -> cpu_set;

  /// Adds a CPU. Requires that `cpu` is below `limit`.
  void add(unsigned cpu);
  void remove(unsigned cpu) noexcept;

  [[nodiscard]] auto contains(unsigned cpu) const noexcept -> bool;
  [[nodiscard]] auto contains_all(const cpu_set& other) const noexcept -> bool;
  [[nodiscard]] auto size() const noexcept -> std::size_t;
  [[nodiscard]] auto empty() const noexcept -> bool { return words_.empty(); }

  /// Returns the smallest number, or nothing if the set is empty.
  [[nodiscard]] auto first() const noexcept -> std::optional<unsigned>;

  /// Iterates over the members in ascending order.
  [[nodiscard]] auto begin() const noexcept -> iterator;
  [[nodiscard]] auto end() const noexcept -> iterator;

  /// Returns the set as text that `parse` accepts, such as `0-3,8`. For an empty set, the text is empty.
  [[nodiscard]] auto to_string() const -> std::string;

  /// Intersects this set with `other`. The following operators compute the union and the difference.
  auto operator&=(const cpu_set& other) -> cpu_set&;
  auto operator|=(const cpu_set& other) -> cpu_set&;
  auto operator-=(const cpu_set& other) -> cpu_set&;
  friend auto operator&(cpu_set left, const cpu_set& right) -> cpu_set { return left &= right; }
  friend auto operator|(cpu_set left, const cpu_set& right) -> cpu_set { return left |= right; }
  friend auto operator-(cpu_set left, const cpu_set& right) -> cpu_set { return left -= right; }

  auto operator==(const cpu_set&) const -> bool = default;

 private:
  static constexpr unsigned word_bits = 64;

  void trim() noexcept;
  [[nodiscard]] auto next_from(unsigned cpu) const noexcept -> unsigned;

  std::vector<std::uint64_t> words_;  // bit n of word w is CPU 64 w + n; the last word is never 0
};

/// An iterator over the members in ascending order. Lifetime: it is valid until the set changes.
class cpu_set::iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = unsigned;
  using difference_type = std::ptrdiff_t;
  using pointer = const unsigned*;
  using reference = unsigned;

  iterator() = default;

  auto operator*() const noexcept -> unsigned { return cpu_; }
  auto operator++() noexcept -> iterator& {
    cpu_ = set_->next_from(cpu_ + 1);
    return *this;
  }
  auto operator++(int) noexcept -> iterator {
    iterator before = *this;
    ++*this;
    return before;
  }
  auto operator==(const iterator&) const -> bool = default;

 private:
  friend class cpu_set;
  iterator(const cpu_set* set, unsigned cpu) noexcept : set_(set), cpu_(cpu) {}

  const cpu_set* set_ = nullptr;
  unsigned cpu_ = 0;
};

}  // namespace braid
