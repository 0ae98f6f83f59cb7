// rankd/server/endpoints/error_answer.hpp: the answer to a failed request: a status, and the reason as JSON.
#pragma once

#include <rankd/engine/ranking.hpp>

#include <braid/base/error.hpp>
#include <braid/net/http_message.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// The Content-Type of answers, including failures.
inline constexpr std::string_view json_type = "application/json";

/// A failure on its way to the client.
struct error_answer {
  braid::http_status status = braid::http_status::internal_server_error;
  std::string code;
  std::string body;  ///< `{"error":{"code","message",…},"request_id"}`
};

/// Returns the status for the error of a plan: 422 if it cannot run; 502 to 504 for its store, 504 if time ran out, 500
/// for what should not happen.
auto status_of_run(std::string_view code) noexcept -> braid::http_status;

/// The code and the sentence of one failure. An empty id is left out.
auto answer_error(braid::http_status status, std::string code, std::string_view message,
                  std::string_view request_id = {}) -> error_answer;

/// Adds an id to the body of an answer without one. Requires a body that is not empty.
auto with_request_id(std::string_view body, std::string_view request_id) -> std::string;

/// Returns all diagnostics about one request or plan: the first as the error, and the list of all if there are several.
/// Requires at least one.
auto answer_error(braid::http_status status, const braid::diagnostics& problems, std::string_view request_id)
    -> error_answer;

/// Returns why a plan cannot run: plan_left_out, with all diagnostics. Files have their names without folders, because
/// the reader is a client. Requires at least one.
auto answer_left_out(std::string_view plan, const braid::diagnostics& problems, std::string_view request_id)
    -> error_answer;

/// Returns the answer for the error of a plan.
auto answer_error(const rank_error& error, std::string_view request_id) -> error_answer;

/// Returns the code for a fault of the message itself, such as `head_too_large`.
auto code_of(braid::http_errc error) noexcept -> std::string_view;

/// Returns the sentence of an error. If the message is larger than the server accepts, it includes the limit and the
/// option that changes it.
auto format_sentence(braid::http_errc error, const braid::http_limits& limits) -> std::string;

}  // namespace rankd
