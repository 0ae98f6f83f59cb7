// rankd/store/detail/model_messages.hpp: writes requests of the inference protocol as JSON, and reads scores from the
// answers.
#pragma once

#include <rankd/store/model_call.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rankd::detail {

/// A range `[begin, end)` of the rows of a call.
struct row_range {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return end - begin; }
};

/// The maximum number of columns that a tensor of an answer may have, if one of these columns is read as scores.
inline constexpr std::size_t max_score_columns = 64;

/// Returns whether a text can name a tensor of an answer, or one column of a tensor, such as `probabilities[1]`.
/// Returns false if the text is empty, or if its brackets contain a number that no column can have.
[[nodiscard]] auto is_output_name(std::string_view text) noexcept -> bool;

/// Returns the path for the inference of a model, such as `/v2/models/ctr/versions/3/infer`.
auto inference_path(std::string_view model, std::string_view version) -> std::string;

/// Returns the body of a request. Source: Open Inference Protocol V2 (KServe, Triton, MLServer), "Inference Request
/// JSON Object".
auto inference_body(const model_call& call, row_range rows) -> std::string;

/// Returns the maximum size in bytes of the answer for these rows.
auto max_answer_bytes(const model_call& call, row_range rows) -> std::size_t;

/// Writes the scores of an answer in the order of `score_batch`. Returns a description of an error in the answer, or
/// nothing.
/// Allocates memory for a few copies of the body and for the scores of these rows, whatever the answer contains.
auto read_scores(std::string_view body, const model_call& call, row_range rows, std::span<double> into) -> std::string;

/// Returns the member `error` in the body of an error response. Returns an empty text if there is no such member, or if
/// the body is too long for an error.
auto refusal_text(std::string_view body) -> std::string;

}  // namespace rankd::detail
