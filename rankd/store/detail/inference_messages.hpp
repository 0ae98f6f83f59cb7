// rankd/store/detail/inference_messages.hpp: writes requests of the inference protocol as gRPC messages, and reads
// scores from the answers.
#pragma once

#include <rankd/store/detail/model_messages.hpp>

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace rankd::detail {

/// The paths of the methods of a model server.
inline constexpr std::string_view infer_path = "/inference.GRPCInferenceService/ModelInfer";
inline constexpr std::string_view ready_path = "/inference.GRPCInferenceService/ServerReady";

/// Returns a message with the prefix that gRPC puts before each message.
auto framed_message(std::string_view message) -> std::string;

/// Returns the only message of a body, without its prefix, or a description of an error in the body.
auto only_message(std::string_view body) -> std::expected<std::string_view, std::string>;

/// Returns a serialized ModelInferRequest. Source: Open Inference Protocol V2, open_inference_grpc.proto.
auto inference_message(const model_call& call, row_range rows) -> std::string;

/// Writes the scores of a serialized ModelInferResponse in the order of `score_batch`. Returns a description of an
/// error in the answer, or nothing.
/// Allocates memory only for the scores of these rows, whatever the answer contains.
auto read_message_scores(std::string_view message, const model_call& call, row_range rows, std::span<double> into)
    -> std::string;

/// Returns the field `ready` of a serialized ServerReadyResponse.
auto is_ready_message(std::string_view message) -> bool;

/// Returns the decoded text of a field grpc-message, in which bytes are written as `%XX`.
auto status_text(std::string_view field) -> std::string;

}  // namespace rankd::detail
