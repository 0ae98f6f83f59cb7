// rankd/server/endpoints/error_answer.hpp: the answer to a failed request: a status, and the reason as JSON.
#pragma once

#include <rankd/engine/ranking.hpp>

#include <braid/base/error.hpp>
#include <braid/net/http_message.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// The Content-Type of answers, including errors.
inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view json_lines_type = "application/x-ndjson";

/// An answer that reports an error to a client.
struct error_answer {
  braid::http_status status = braid::http_status::internal_server_error;
  std::string code;
  std::string body;  ///< `{"error":{"code","message",…},"request_id"}`
};

/// Returns the status for the error of a plan: 422 if the plan cannot run; 502 to 504 if its store failed; 504 if time
/// ran out; 500 for internal errors.
auto status_of_run(std::string_view code) noexcept -> braid::http_status;

/// Returns the answer for one failure, with its code and message. An empty request id is left out.
auto answer_error(braid::http_status status, std::string code, std::string_view message,
                  std::string_view request_id = {}) -> error_answer;

/// Adds a request id to the body of an answer that has no id. Requires a body that is not empty.
auto with_request_id(std::string_view body, std::string_view request_id) -> std::string;

/// Returns the answer for diagnostics about a request or plan. The first diagnostic is the error. If there are several
/// diagnostics, the answer also lists all of them. Requires at least one diagnostic.
auto answer_error(braid::http_status status, const braid::diagnostics& problems, std::string_view request_id)
    -> error_answer;

/// Returns the error plan_left_out with the diagnostics that explain why a plan cannot run. Files are named without
/// their folders, because clients see the answer. Requires at least one diagnostic.
auto answer_left_out(std::string_view plan, const braid::diagnostics& problems, std::string_view request_id)
    -> error_answer;

/// Returns the answer for the error of a plan.
auto answer_error(const rank_error& error, std::string_view request_id) -> error_answer;

/// Returns the code for an invalid HTTP message, such as `head_too_large`.
auto code_of(braid::http_errc error) noexcept -> std::string_view;

/// Returns the message for an HTTP error. If the request is too large, the message includes the limit and the option
/// that changes it.
auto format_sentence(braid::http_errc error, const braid::http_limits& limits) -> std::string;

}  // namespace rankd
