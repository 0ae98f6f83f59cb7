// rankd/expr/compile.hpp: trees checked against the registries and made into programs.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace rankd {

namespace detail {
struct program;
}

/// A compiled tree. Copying one shares the program.
/// Threads: any.
class compiled_tree {
 public:
  /// A guess of the time that `evaluate` takes, in nanoseconds: whatever the rows, and for each of them.
  struct cost_guess {
    double once_ns = 0;
    double row_ns = 0;
  };

  explicit compiled_tree(std::shared_ptr<const detail::program> code) noexcept : code_(std::move(code)) {}

  /// Returns whether this stands in place of a tree that was refused. Nothing else may be asked of it then.
  [[nodiscard]] auto is_refused() const noexcept -> bool { return code_ == nullptr; }

  /// Returns the keys that it reads, each once, in ascending order.
  [[nodiscard]] auto reads() const noexcept -> std::span<const std::uint32_t>;
  [[nodiscard]] auto cost() const noexcept -> cost_guess;
  [[nodiscard]] auto code() const noexcept -> const detail::program& { return *code_; }

 private:
  std::shared_ptr<const detail::program> code_;
};

class expr_program : public compiled_tree {
 public:
  explicit expr_program(std::shared_ptr<const detail::program> code,
                        std::shared_ptr<const detail::program> of_integers = nullptr,
                        std::shared_ptr<const detail::program> of_strings = nullptr) noexcept
      : compiled_tree(std::move(code)), of_integers_(std::move(of_integers)), of_strings_(std::move(of_strings)) {}

  /// Returns whether its values can be read as numbers. Those of a key of strings can: they are null then.
  [[nodiscard]] auto gives_numbers() const noexcept -> bool {
    return of_strings_ == nullptr || &code() != of_strings_.get();
  }

  /// Returns whether every value is an integer or null, whatever the rows.
  [[nodiscard]] auto gives_integers() const noexcept -> bool { return of_integers_ != nullptr; }
  /// Requires `gives_integers()`.
  [[nodiscard]] auto code_of_integers() const noexcept -> const detail::program& { return *of_integers_; }

  /// Returns whether every value is a string or null, whatever the rows.
  [[nodiscard]] auto gives_strings() const noexcept -> bool { return of_strings_ != nullptr; }
  /// Requires `gives_strings()`.
  [[nodiscard]] auto code_of_strings() const noexcept -> const detail::program& { return *of_strings_; }

 private:
  std::shared_ptr<const detail::program> of_integers_;
  std::shared_ptr<const detail::program> of_strings_;
};

class pred_program : public compiled_tree {
 public:
  using compiled_tree::compiled_tree;
};

/// Compiles an expression.
/// Errors: every diagnostic at once, from left to right: `unknown_key`, `unreadable_key`, `blocked_key`,
/// `unknown_param`, `unreadable_param`, `blocked_param`, `in_wants_string_key` (a list of strings with anything else on
/// the left), `regex_wants_string_key`, `regex_wants_string_param`, `bad_regex`, `text_wants_string`; then
/// `bucket_wants_integer`; then `string_in_arithmetic` (a string in place of a number) and `text_wants_string` (the
/// reverse). Cost: linear in the size of the tree, plus RE2's time for each literal pattern.
auto compile_expr(const expr_tree& tree, const registries& known) -> braid::checked<expr_program>;

/// Returns the program of a predicate. Errors and cost as for `compile_expr`.
auto compile_pred(const pred_tree& tree, const registries& known) -> braid::checked<pred_program>;

}  // namespace rankd
