// rankd/expr/compile.hpp: checks trees against the registries and compiles them to programs.
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

/// A compiled tree. Copies share the program.
/// Threads: any.
class compiled_tree {
 public:
  /// An estimate of the time that `evaluate` takes, in nanoseconds: a fixed part, and a part for each row.
  struct cost_guess {
    double once_ns = 0;
    double row_ns = 0;
  };

  explicit compiled_tree(std::shared_ptr<const detail::program> code) noexcept : code_(std::move(code)) {}

  /// Returns whether this object stands for a tree that could not be compiled. If so, no other function of the object
  /// may be called.
  [[nodiscard]] auto is_refused() const noexcept -> bool { return code_ == nullptr; }

  /// Returns the keys that the tree reads, each once, in ascending order.
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

  /// Returns whether the values can be read as numbers. Also returns true for an expression that consists only of a
  /// string key. If such a key is read as numbers, all values are null.
  [[nodiscard]] auto gives_numbers() const noexcept -> bool {
    return of_strings_ == nullptr || &code() != of_strings_.get();
  }

  /// Returns whether every value is an integer or null for all possible rows.
  [[nodiscard]] auto gives_integers() const noexcept -> bool { return of_integers_ != nullptr; }
  /// Returns the program that computes integers. Requires `gives_integers()`.
  [[nodiscard]] auto code_of_integers() const noexcept -> const detail::program& { return *of_integers_; }

  /// Returns whether every value is a string or null for all possible rows.
  [[nodiscard]] auto gives_strings() const noexcept -> bool { return of_strings_ != nullptr; }
  /// Returns the program that computes strings. Requires `gives_strings()`.
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
/// Errors: all diagnostics at once, from left to right: `unknown_key`, `unreadable_key`, `blocked_key`,
/// `unknown_param`, `unreadable_param`, `blocked_param`, `in_wants_string_key` (a list of strings whose left operand is
/// not a string), `regex_wants_string_key`, `regex_wants_string_param`, `bad_regex`, `text_wants_string`.
/// `bucket_wants_integer` is reported only if there is none of these errors. `string_in_arithmetic` (a string instead
/// of a number) and `text_wants_string` (another value instead of a string) are reported only if there is no other
/// error.
/// Cost: linear in the size of the tree, plus the time to compile each literal pattern with RE2.
auto compile_expr(const expr_tree& tree, const registries& known) -> braid::checked<expr_program>;

/// Compiles a predicate. Errors and cost: the same as for `compile_expr`.
auto compile_pred(const pred_tree& tree, const registries& known) -> braid::checked<pred_program>;

}  // namespace rankd
