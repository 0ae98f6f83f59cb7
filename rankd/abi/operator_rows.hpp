// rankd/abi/operator_rows.hpp: the rows that a library operator reads and writes, column by column.
#pragma once

#include <rankd/abi/c_operators.h>
#include <rankd/abi/operator_shape.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace rankd::operators {

/// Handles of columns, options and inputs. A handle contains the position of its column, option or input in the node.
/// `binding` creates the handles.
struct read_column {
  std::uint32_t at = 0;
};
struct written_column {
  std::uint32_t at = 0;
};
struct int_option {
  std::uint32_t at = 0;
};
struct float_option {
  std::uint32_t at = 0;
};
struct input_rows {
  std::uint32_t at = 0;
};

/// The handle of the rows that an operator is called on.
inline constexpr input_rows first_input{};

namespace detail {
template <typename Column>
auto typed(const Column& column, std::uint32_t type) -> const Column& {
  if (column.type != type) throw std::logic_error("the type of the column differs from the requested type");
  return column;
}
}  // namespace detail

/// The values of a column that an operator reads, indexed by row.
template <typename Stored, typename T = Stored>
class values {
 public:
  explicit values(const rankd_column& from) noexcept
      : values_(static_cast<const Stored*>(from.values)), valid_(from.valid) {}

  [[nodiscard]] auto is_null(std::size_t row) const noexcept -> bool {
    return valid_ != nullptr && ((valid_[row / 64] >> (row % 64)) & 1U) == 0;
  }
  /// Returns the value in a row. The value is unspecified if the row is null.
  [[nodiscard]] auto operator[](std::size_t row) const noexcept -> T {
    if constexpr (std::is_same_v<Stored, rankd_text>)
      return T(values_[row].data, values_[row].size);
    else
      return static_cast<T>(values_[row]);
  }

 private:
  const Stored* values_;
  const std::uint64_t* valid_;
};

/// A column that an operator writes, indexed by row. If the value of a row is not set, it is null.
template <typename Stored, typename T = Stored>
class written_values {
 public:
  explicit written_values(const rankd_written& to) noexcept
      : values_(static_cast<Stored*>(to.values)), valid_(to.valid) {}

  void set(std::size_t row, T value) noexcept {
    values_[row] = static_cast<Stored>(value);
    valid_[row / 64] |= std::uint64_t{1} << (row % 64);
  }
  void set_null(std::size_t row) noexcept { valid_[row / 64] &= ~(std::uint64_t{1} << (row % 64)); }

 protected:
  Stored* values_;
  std::uint64_t* valid_;
};

/// A column of texts that an operator writes. Texts are copied.
class written_texts : private written_values<rankd_text> {
 public:
  written_texts(const rankd_written& to, const rankd_run& run) noexcept : written_values(to), run_(&run) {}

  void set(std::size_t row, std::string_view text) {
    void* const copy = text.empty() ? nullptr : run_->allocate(run_->host, text.size());
    if (copy == nullptr && !text.empty()) throw std::bad_alloc();
    if (copy != nullptr) std::memcpy(copy, text.data(), text.size());
    written_values::set(row, rankd_text{static_cast<const char*>(copy), text.size()});
  }
  using written_values::set_null;

 private:
  const rankd_run* run_;
};

/// The rows of one input, numbered from 0 in the order of the input. Reading a column as a type other than its own
/// throws std::logic_error. Lifetime: until `run` returns.
class seen_rows {
 public:
  explicit seen_rows(const rankd_input& from) noexcept : input_(from) {}

  [[nodiscard]] auto size() const noexcept -> std::size_t { return static_cast<std::size_t>(input_.rows); }

  [[nodiscard]] auto ints(read_column column) const {
    return values<std::int64_t>(detail::typed(input_.reads[column.at], RANKD_TYPE_INT));
  }
  [[nodiscard]] auto floats(read_column column) const {
    return values<double>(detail::typed(input_.reads[column.at], RANKD_TYPE_FLOAT));
  }
  [[nodiscard]] auto bools(read_column column) const {
    return values<std::uint8_t, bool>(detail::typed(input_.reads[column.at], RANKD_TYPE_BOOL));
  }
  [[nodiscard]] auto texts(read_column column) const {
    return values<rankd_text, std::string_view>(detail::typed(input_.reads[column.at], RANKD_TYPE_TEXT));
  }
  /// `ids` returns the ids as integers, and `text_ids` returns them as texts. Throws std::logic_error if the project
  /// has ids of the other type.
  [[nodiscard]] auto ids() const { return values<std::int64_t>(detail::typed(input_.id, RANKD_TYPE_INT)); }
  [[nodiscard]] auto text_ids() const {
    return values<rankd_text, std::string_view>(detail::typed(input_.id, RANKD_TYPE_TEXT));
  }

 private:
  rankd_input input_;
};

/// The output rows, numbered from 0. Each row is either an input row with all its columns, or a new row with its own
/// id.
class made_rows {
 public:
  made_rows(const rankd_made& to, const rankd_run& run) noexcept : target_(&to), run_(&run) {}

  /// Sets the id of a row. Throws std::logic_error if the project has ids of another type.
  void set_id(std::size_t row, std::int64_t id) {
    written_values<std::int64_t>(detail::typed(target_->id, RANKD_TYPE_INT)).set(row, id);
  }
  void set_id(std::size_t row, std::string_view id) {
    written_texts(detail::typed(target_->id, RANKD_TYPE_TEXT), *run_).set(row, id);
  }
  /// Takes the row at position `from` of an input as the output row `row`. Only an operator that merges rows may call
  /// this function. Each input row may be taken only once.
  void take(std::size_t row, input_rows input, std::size_t from) {
    if (target_->from == nullptr) throw std::logic_error("only an operator that merges rows may take input rows");
    target_->from[row] = {input.at, static_cast<std::uint32_t>(from)};
  }

 private:
  const rankd_made* target_;
  const rankd_run* run_;
};

/// The rows of a node for one request: the rows that the operator is called on, the rows of other inputs, and the
/// output rows. An operator that makes or merges rows first calls `make`, and then writes columns of its output rows.
/// All other operators write columns of the rows that they are called on.
class rows : public seen_rows {
 public:
  rows(const rankd_run& from, effect does) noexcept
      : seen_rows({from.rows, from.id, from.reads}), input_(&from), does_(does) {}

  /// Returns the rows of the input that an option names.
  [[nodiscard]] auto input(input_rows handle) const noexcept -> seen_rows {
    return seen_rows(input_->inputs[handle.at]);
  }

  [[nodiscard]] auto write_ints(written_column column) {
    return written_values<std::int64_t>(detail::typed(writes()[column.at], RANKD_TYPE_INT));
  }
  [[nodiscard]] auto write_floats(written_column column) {
    return written_values<double>(detail::typed(writes()[column.at], RANKD_TYPE_FLOAT));
  }
  [[nodiscard]] auto write_bools(written_column column) {
    return written_values<std::uint8_t, bool>(detail::typed(writes()[column.at], RANKD_TYPE_BOOL));
  }
  [[nodiscard]] auto write_texts(written_column column) {
    return written_texts(detail::typed(writes()[column.at], RANKD_TYPE_TEXT), *input_);
  }

  /// Returns the value of an option for this request, or `otherwise` if neither the plan nor the request sets the
  /// option.
  [[nodiscard]] auto value(int_option option, std::int64_t otherwise = 0) const noexcept -> std::int64_t {
    return input_->options[option.at].given != 0 ? input_->options[option.at].integer : otherwise;
  }
  [[nodiscard]] auto value(float_option option, double otherwise = 0) const noexcept -> double {
    return input_->options[option.at].given != 0 ? input_->options[option.at].number : otherwise;
  }

  /// Adds an input row to the output. The output rows are in the order of the calls. Only an operator that filters,
  /// orders or selects rows may call this function. If the operator keeps no row, it must call `keep_none`.
  void keep(std::uint32_t row) {
    if (!chooses()) throw std::logic_error("only an operator that filters, orders or selects rows may call keep");
    if (kept_ == input_->rows) throw std::logic_error("more rows are kept than there are input rows");
    input_->order[kept_++] = row;
    *input_->kept = kept_;
  }
  void keep_none() {
    kept_ = 0;
    *input_->kept = 0;
  }

  /// Allocates `count` output rows. An operator that makes or merges rows must call this function once. Throws if the
  /// count is not allowed; the node then fails.
  auto make(std::size_t count) -> made_rows {
    if (!makes()) throw std::logic_error("only an operator that makes or merges rows may call make");
    made_ = input_->make(input_->host, count);
    if (made_ == nullptr) throw std::length_error("the output has more rows than a node may return");
    return {*made_, *input_};
  }

  /// Returns whether the answer is no longer needed. A long computation should call this function regularly, and return
  /// early if the result is true.
  [[nodiscard]] auto stopped() const noexcept -> bool { return input_->stopped(input_->host) != 0; }

 private:
  [[nodiscard]] auto makes() const noexcept -> bool {
    return does_ == effect::makes_rows || does_ == effect::merges_rows;
  }
  [[nodiscard]] auto chooses() const noexcept -> bool { return !makes() && does_ != effect::keeps_rows; }
  [[nodiscard]] auto writes() const -> const rankd_written* {
    if (!makes()) return input_->writes;
    if (made_ == nullptr) throw std::logic_error("call make before writing columns");
    return made_->writes;
  }

  const rankd_run* input_;
  const rankd_made* made_ = nullptr;
  effect does_;
  std::uint64_t kept_ = 0;
};

}  // namespace rankd::operators
