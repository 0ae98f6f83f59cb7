// rankd/expr/detail/evaluation.hpp: the data that all blocks of one evaluation share: columns, params, and the strings
// that match each test.
#pragma once

#include <rankd/expr/detail/program.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/registry/value.hpp>
#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace rankd::detail {

/// One evaluation of one program.
/// Threads: any, after `begin`. Lifetime: the program, the rows, the params and the arena outlive it.
class evaluation {
 public:
  evaluation(const program& code, const row_set& rows, braid::arena& memory);

  /// Reads the params, compiles patterns in them, and applies each string test to the strings of the batch. Must be
  /// called first.
  auto begin(std::span<const scalar> params) -> std::optional<evaluation_error>;

  [[nodiscard]] auto code() const noexcept -> const program& { return code_; }
  [[nodiscard]] auto rows() const noexcept -> const row_set& { return rows_; }
  [[nodiscard]] auto params() const noexcept -> std::span<const scalar> { return params_; }

  /// Returns the column of a key, by its index in `program::keys`. Returns nothing if the batch does not have the
  /// column.
  [[nodiscard]] auto find_column(std::uint32_t key) const noexcept -> const std::optional<column>& {
    return columns_[key];
  }
  /// Returns the result of a string test, which is given by its index in `program::texts`: a bit for each dictionary
  /// code of the tested key, which is set if the string with this code matches. Returns no bits if the key has no
  /// strings.
  [[nodiscard]] auto matching_codes(std::uint32_t test) const noexcept -> std::span<const std::uint32_t> {
    return sets_[test];
  }

 private:
  using code_set = std::span<const std::uint32_t>;

  auto ask(const text_test& test) -> evaluated<code_set>;
  [[nodiscard]] auto compiled(const param_pattern& pattern) const -> evaluated<text_matcher>;
  auto find_codes(const text_matcher& matcher, const std::optional<column>& source) -> code_set;
  void ask_all(const text_matcher& matcher, const string_values& text, std::span<std::uint32_t> set) const;
  void ask_occurring(const text_matcher& matcher, const string_values& text, bitmap validity,
                     std::span<std::uint32_t> set);

  const program& code_;
  const row_set& rows_;
  braid::arena& memory_;
  std::span<const scalar> params_;
  std::span<std::optional<column>> columns_;  ///< in the order of `program::keys`
  std::span<code_set> sets_;                  ///< in the order of `program::texts`
};

}  // namespace rankd::detail
