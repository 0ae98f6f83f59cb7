// rankd/abi/operator_rows.hpp: the rows that an operator of a library works on, column by column.
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

/// Columns and options that requests give, by their place; made by `binding`.
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

/// The rows that an operator is called on, as one of its inputs.
inline constexpr input_rows first_input{};

namespace detail {
template <typename Column>
auto typed(const Column& column, std::uint32_t type) -> const Column& {
  if (column.type != type) throw std::logic_error("a column is of another type than it is asked for by");
  return column;
}
}  // namespace detail

/// The values of a column that is read, by row.
template <typename Stored, typename T = Stored>
class values {
 public:
  explicit values(const rankd_column& from) noexcept
      : values_(static_cast<const Stored*>(from.values)), valid_(from.valid) {}

  [[nodiscard]] auto is_null(std::size_t row) const noexcept -> bool {
    return valid_ != nullptr && ((valid_[row / 64] >> (row % 64)) & 1U) == 0;
  }
  /// The value for a null is unspecified.
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

/// A column that is written, by row. A row that is not set is null.
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

/// The same of texts, which are copied.
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

/// The rows of one input, from 0 on, in their order. Asking for a column by another type than it has throws
/// std::logic_error. Lifetime: within `run`.
class seen_rows {
 public:
  explicit seen_rows(const rankd_input& from) noexcept : input_(from) {}

  [[nodiscard]] auto size() const noexcept -> std::size_t { return static_cast<std::size_t>(input_.rows); }

  [[nodiscard]] auto ints(read_column of) const {
    return values<std::int64_t>(detail::typed(input_.reads[of.at], RANKD_TYPE_INT));
  }
  [[nodiscard]] auto floats(read_column of) const {
    return values<double>(detail::typed(input_.reads[of.at], RANKD_TYPE_FLOAT));
  }
  [[nodiscard]] auto bools(read_column of) const {
    return values<std::uint8_t, bool>(detail::typed(input_.reads[of.at], RANKD_TYPE_BOOL));
  }
  [[nodiscard]] auto texts(read_column of) const {
    return values<rankd_text, std::string_view>(detail::typed(input_.reads[of.at], RANKD_TYPE_TEXT));
  }
  /// The ids, of whichever type they are.
  [[nodiscard]] auto ids() const { return values<std::int64_t>(detail::typed(input_.id, RANKD_TYPE_INT)); }
  [[nodiscard]] auto text_ids() const {
    return values<rankd_text, std::string_view>(detail::typed(input_.id, RANKD_TYPE_TEXT));
  }

 private:
  rankd_input input_;
};

/// The rows of a result, from 0 on. Each is one of an input, with the columns of that, or has an id of its own.
class made_rows {
 public:
  made_rows(const rankd_made& to, const rankd_run& run) noexcept : target_(&to), run_(&run) {}

  /// Ids must have the id type of the project; another type throws std::logic_error.
  void set_id(std::size_t row, std::int64_t id) {
    written_values<std::int64_t>(detail::typed(target_->id, RANKD_TYPE_INT)).set(row, id);
  }
  void set_id(std::size_t row, std::string_view id) {
    written_texts(detail::typed(target_->id, RANKD_TYPE_TEXT), *run_).set(row, id);
  }
  /// For an operator that merges rows: the result row is the row at `from` of an input. An input row may be in the
  /// result only once.
  void take(std::size_t row, input_rows of, std::size_t from) {
    if (target_->from == nullptr) throw std::logic_error("only an operator that merges rows takes them over");
    target_->from[row] = {of.at, static_cast<std::uint32_t>(from)};
  }

 private:
  const rankd_made* target_;
  const rankd_run* run_;
};

/// The rows of a node for one request: the rows that it is called on, the rows of other inputs, and its output. An
/// operator that makes or merges rows writes columns of its result, after it has called `make`; all others write
/// columns of the rows that they are called on.
class rows : public seen_rows {
 public:
  rows(const rankd_run& from, effect does) noexcept
      : seen_rows({from.rows, from.id, from.reads}), input_(&from), does_(does) {}

  /// Returns the rows of another node.
  [[nodiscard]] auto input(input_rows of) const noexcept -> seen_rows { return seen_rows(input_->inputs[of.at]); }

  [[nodiscard]] auto write_ints(written_column of) {
    return written_values<std::int64_t>(detail::typed(writes()[of.at], RANKD_TYPE_INT));
  }
  [[nodiscard]] auto write_floats(written_column of) {
    return written_values<double>(detail::typed(writes()[of.at], RANKD_TYPE_FLOAT));
  }
  [[nodiscard]] auto write_bools(written_column of) {
    return written_values<std::uint8_t, bool>(detail::typed(writes()[of.at], RANKD_TYPE_BOOL));
  }
  [[nodiscard]] auto write_texts(written_column of) {
    return written_texts(detail::typed(writes()[of.at], RANKD_TYPE_TEXT), *input_);
  }

  /// Returns the value for this request.
  [[nodiscard]] auto value(int_option of, std::int64_t otherwise = 0) const noexcept -> std::int64_t {
    return input_->options[of.at].given != 0 ? input_->options[of.at].integer : otherwise;
  }
  [[nodiscard]] auto value(float_option of, double otherwise = 0) const noexcept -> double {
    return input_->options[of.at].given != 0 ? input_->options[of.at].number : otherwise;
  }

  /// Keeps a row; the rows of the result are in the order of the calls. For an operator that filters, orders or selects
  /// rows. If it keeps no row, it must call `keep_none`.
  void keep(std::uint32_t row) {
    if (!chooses()) throw std::logic_error("only an operator that filters, orders or selects rows keeps some");
    if (kept_ == input_->rows) throw std::logic_error("more rows are kept than came in");
    input_->order[kept_++] = row;
    *input_->kept = kept_;
  }
  void keep_none() {
    kept_ = 0;
    *input_->kept = 0;
  }

  /// Allocates `count` rows of the result. For an operator that makes or merges rows, which calls it once. Throws if
  /// the count exceeds the limit; then the node fails.
  auto make(std::size_t count) -> made_rows {
    if (!makes()) throw std::logic_error("only an operator that makes or merges rows has rows of its own");
    made_ = input_->make(input_->host, count);
    if (made_ == nullptr) throw std::length_error("there is no room for so many rows");
    return {*made_, *input_};
  }

  /// Returns whether the answer is no longer needed. A long computation checks this now and then, and returns.
  [[nodiscard]] auto stopped() const noexcept -> bool { return input_->stopped(input_->host) != 0; }

 private:
  [[nodiscard]] auto makes() const noexcept -> bool {
    return does_ == effect::makes_rows || does_ == effect::merges_rows;
  }
  [[nodiscard]] auto chooses() const noexcept -> bool { return !makes() && does_ != effect::keeps_rows; }
  [[nodiscard]] auto writes() const -> const rankd_written* {
    if (!makes()) return input_->writes;
    if (made_ == nullptr) throw std::logic_error("rows are made before columns of them are written");
    return made_->writes;
  }

  const rankd_run* input_;
  const rankd_made* made_ = nullptr;
  effect does_;
  std::uint64_t kept_ = 0;
};

}  // namespace rankd::operators
