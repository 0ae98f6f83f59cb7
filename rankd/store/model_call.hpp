// rankd/store/model_call.hpp: a request for the scores of some rows from a model server, and its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace rankd {

/// The width of floats in requests. Many servers accept only the float type of their model.
enum class float_width : std::uint8_t { bits_64, bits_32 };

/// An input of a model: one value for each row. Floats are finite.
struct model_input {
  using texts = std::span<const std::string_view>;

  std::string_view name;
  std::variant<std::span<const double>, std::span<const std::int64_t>, std::span<const bool>, texts> values;
};

/// The answer to a model call: the first score of all rows, then the second score of all rows, and so on. A missing
/// score is NaN.
struct score_batch {
  std::span<const double> values;
  std::size_t scores = 1;  ///< the number of scores for each row

  [[nodiscard]] auto rows() const noexcept -> std::size_t { return values.size() / scores; }
  [[nodiscard]] auto at(std::size_t row, std::size_t score) const noexcept -> double {
    return values[score * rows() + row];
  }
};

/// A request for scores of a model. Lifetime: everything that the call refers to must outlive it.
struct model_call {
  using answer = score_batch;

  std::string_view model;
  std::string_view version = {};  ///< empty: the server chooses
  std::span<const model_input> inputs;
  /// The name of one tensor that contains all inputs, which are then floats. If it is empty, there is one tensor for
  /// each input.
  std::string_view tensor = {};
  float_width floats = float_width::bits_64;
  /// The tensors of the answer that contain the scores, one for each score. If there are none, the only tensor of the
  /// answer is used.
  std::span<const std::string_view> outputs = {};
  std::size_t scores = 1;  ///< the number of scores that are requested for each row
  std::size_t rows = 0;
  std::size_t rows_per_call = 1000;  ///< the maximum number of rows in one call
};

}  // namespace rankd
