// rankd/op/detail/own_rows.hpp: builds a row set from the rows that a library operator creates, or takes from its
// inputs.
#pragma once

#include <rankd/abi/c_operators.h>
#include <rankd/op/detail/own_columns.hpp>
#include <rankd/op/operator.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail {

/// An input of a node with a library operator.
struct own_input {
  std::string_view name;             ///< the name of the input's option; empty: the rows that the operator is called on
  std::optional<std::size_t> place;  ///< its position among the inputs of the node; nothing if the plan leaves it out
  row_set rows = {};
};

/// The memory for the output of a library operator in one run, and the row set that is built from it. The library
/// writes into the memory of the request. Its output is checked afterwards.
class own_rows {
 public:
  /// Creates the object without allocating rows. Lifetime: the arguments must outlive the object.
  own_rows(node_context& context, std::span<const own_input> inputs, std::span<const written_key> writes,
           value_type ids, row_change effect)
      : context_(&context),
        inputs_(inputs),
        writes_(writes),
        ids_(ids),
        makes_(makes_rows(effect)),
        merges_(effect == row_change::merged) {}

  /// Allocates `count` rows for the library to fill. Returns null after an error, which is stored in `refusal`.
  auto make(std::uint64_t count) -> const rankd_made*;
  [[nodiscard]] auto refusal() const noexcept -> const std::optional<op_error>& { return refusal_; }

  /// Returns the row set, in the order in which the library stored the rows. It does not include the columns that the
  /// library wrote: these are in `written`, with the rows in the same order. Errors: a sentence about the error.
  auto finish() -> std::expected<row_set, std::string>;
  [[nodiscard]] auto written() const noexcept -> std::span<const rankd_written> { return written_; }

 private:
  [[nodiscard]] auto is_own(std::size_t index) const noexcept -> bool {
    return !merges_ || origins_[index].input == RANKD_NO_INPUT;
  }
  [[nodiscard]] auto row_bytes() const -> std::size_t;
  void refuse(std::string_view code, std::string message) {
    refusal_ = op_error{std::string(code), std::move(message)};
  }
  [[nodiscard]] auto wrong_origin() const -> std::string;
  auto list_ids(std::span<const std::uint32_t> own) const -> std::expected<batch, std::string>;
  auto merged() -> std::expected<row_set, std::string>;

  node_context* context_;
  std::span<const own_input> inputs_;
  std::span<const written_key> writes_;
  value_type ids_;
  bool makes_;
  bool merges_;  ///< whether the operator merges rows of its inputs
  std::optional<rankd_made> made_;
  std::size_t count_ = 0;
  std::vector<rankd_written> written_;
  std::span<rankd_origin> origins_;
  std::optional<op_error> refusal_;
};

}  // namespace rankd::detail
