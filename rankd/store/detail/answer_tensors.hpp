// rankd/store/detail/answer_tensors.hpp: the tensors in the answer of a model server, and the conversion of these
// tensors to the scores of a call.
#pragma once

#include <rankd/store/detail/model_messages.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// The maximum number of dimensions in a shape, and the maximum nesting of arrays in `data`.
inline constexpr std::size_t max_dimensions = 8;

/// The maximum length of a datatype's name. Longer names are truncated.
inline constexpr std::size_t max_datatype = 16;

/// One tensor of an answer, without the values that the call cannot use.
struct tensor_in_answer {
  std::optional<std::string> name;
  std::string datatype;
  std::vector<std::uint64_t> shape;
  bool has_shape = false;  ///< whether `shape` is an array of integers
  bool has_data = false;   ///< whether `data` is an array
  std::vector<double> values;
  std::size_t count = 0;                   ///< the number of all values, including discarded ones
  std::optional<std::size_t> first_wrong;  ///< the position of the first value that is not a number

  /// Adds a value. Pass nothing for a value that is not a finite number, and NaN for a missing value. Stores at most
  /// `max_values` values.
  void add(std::optional<double> number, std::size_t max_values);
};

/// Limits on the parts of an answer that are stored.
struct tensor_limits {
  std::size_t columns = 1;  ///< the maximum number of columns of a tensor
  std::size_t values = 0;   ///< the maximum number of values of a tensor
  std::size_t tensors = 0;
};

/// Returns the limits for the answer to these rows of a call.
auto limits_of(const model_call& call, row_range rows) -> tensor_limits;

/// Returns the names of the tensors that a call requests, without duplicates.
auto asked_tensors(const model_call& call) -> std::vector<std::string_view>;

/// The tensors of an answer.
struct answer_tensors {
  std::span<const tensor_in_answer> tensors;  ///< the first tensors of the answer
  std::size_t count = 0;                      ///< the number of all tensors, including those that were not stored
};

/// Writes the scores of an answer in the order of `score_batch`. Returns a description of an error in the answer, or
/// nothing.
auto take_scores(const answer_tensors& answer, const model_call& call, row_range rows, std::span<double> into)
    -> std::string;

}  // namespace rankd::detail
