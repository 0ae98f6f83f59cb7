// braid/net/http_fields.hpp: the fields of a message, as views into the text that holds them.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/http_text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace braid {

/// A line `name: value`. Names are the same whatever their case.
struct http_field {
  std::string_view name;
  std::string_view value;
};

namespace detail {

/// Where a field stands in a text that may still move.
struct http_field_span {
  std::uint32_t name_at = 0;
  std::uint32_t name_size = 0;
  std::uint32_t value_at = 0;
  std::uint32_t value_size = 0;
};

}  // namespace detail

/// Fields in the order in which they came. Lifetime: a view; what gives it says how long the text stays. Threads: any,
/// as long as it stays. Cost: no copy of the text.
class http_fields {
 public:
  http_fields() = default;
  http_fields(const char* text, std::span<const detail::http_field_span> places) noexcept
      : text_(text), places_(places) {}

  [[nodiscard]] auto size() const noexcept -> std::size_t { return places_.size(); }
  [[nodiscard]] auto empty() const noexcept -> bool { return places_.empty(); }
  [[nodiscard]] auto operator[](std::size_t index) const noexcept -> http_field {
    const detail::http_field_span& at = places_[index];
    return {{text_ + at.name_at, at.name_size}, {text_ + at.value_at, at.value_size}};
  }

  /// The value of the first field of that name. Cost: looks at each field.
  [[nodiscard]] BRAID_API auto find(std::string_view name) const noexcept -> std::optional<std::string_view>;
  /// How many fields have that name.
  [[nodiscard]] BRAID_API auto count(std::string_view name) const noexcept -> std::size_t;

  class iterator;
  [[nodiscard]] auto begin() const noexcept -> iterator;
  [[nodiscard]] auto end() const noexcept -> iterator;

 private:
  const char* text_ = nullptr;
  std::span<const detail::http_field_span> places_;
};

class http_fields::iterator {
 public:
  using value_type = http_field;
  using difference_type = std::ptrdiff_t;

  iterator() = default;
  iterator(const http_fields& of, std::size_t index) noexcept : of_(&of), index_(index) {}
  auto operator*() const noexcept -> http_field { return (*of_)[index_]; }
  auto operator++() noexcept -> iterator& {
    ++index_;
    return *this;
  }
  auto operator++(int) noexcept -> iterator {
    iterator before = *this;
    ++index_;
    return before;
  }
  auto operator==(const iterator& other) const noexcept -> bool { return index_ == other.index_; }

 private:
  const http_fields* of_ = nullptr;
  std::size_t index_ = 0;
};

inline auto http_fields::begin() const noexcept -> iterator { return {*this, 0}; }
inline auto http_fields::end() const noexcept -> iterator { return {*this, size()}; }

namespace detail {

/// Whether both are the same name of a field. Threads: any.
[[nodiscard]] BRAID_API auto same_name(std::string_view a, std::string_view b) noexcept -> bool;

}  // namespace detail

}  // namespace braid
