// rankd/server/grpc/grpc_messages.hpp: converts gRPC messages to the JSON of the HTTP interface, and answers to gRPC
// messages.
#pragma once

#include <rankd/engine/ranking.hpp>
#include <rankd/server/endpoints/error_answer.hpp>

#include <braid/base/error.hpp>

#include <string>

#include <rankd.pb.h>

namespace rankd {

/// Converts a message to the JSON of the same request, as POST /v1/rank accepts it. Members are in the order of the
/// message's fields, and members of maps are sorted by name, so that equal messages have equal texts. Errors:
/// bad_column for a column whose values have two types, or whose nulls are at positions beyond its rows; bad_rows for
/// rows with both kinds of ids; wrong_value if `output_keys` are given together with `ids_only`.
[[nodiscard]] auto to_json(const v1::RankRequest& request) -> braid::checked<std::string>;

/// Converts a message to the JSON of the same events, as POST /v1/events accepts it.
[[nodiscard]] auto to_json(const v1::EventsRequest& request) -> std::string;

/// Returns the gRPC message for an answer. Requires an answer without an error.
[[nodiscard]] auto to_message(const ranking& answer) -> v1::RankResponse;

/// Returns the gRPC message for an answer that reports an error.
[[nodiscard]] auto to_message(const error_answer& error) -> v1::Error;

}  // namespace rankd
