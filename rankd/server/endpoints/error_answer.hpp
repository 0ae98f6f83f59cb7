// rankd/server/endpoints/error_answer.hpp: what a request that failed is answered: a status, and the reason as JSON.
#pragma once

#include <rankd/engine/ranking.hpp>

#include <braid/base/error.hpp>
#include <braid/net/http_message.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// The Content-Type of answers, failures among them.
inline constexpr std::string_view json_type = "application/json";

/// A failure on its way to the client.
struct error_answer {
  braid::http_status status = braid::http_status::internal_server_error;
  std::string code;
  std::string body;  ///< `{"error":{"code","message",…},"request_id"}`
};

/// The status of an error that a plan ended with: 422, where it cannot run; 502 to 504 for its store, 504 for time that
/// ran out, 500 for what should not happen.
auto status_of_run(std::string_view code) noexcept -> braid::http_status;

/// The code and the sentence of one failure. An empty id is left out.
auto answer_error(braid::http_status status, std::string code, std::string_view message,
                  std::string_view request_id = {}) -> error_answer;

/// The body of an answer that has no id, with one. Requires that it is not empty.
auto with_request_id(std::string_view body, std::string_view request_id) -> std::string;

/// All diagnostics about one request or plan: the first as the error, the list of all where there are several. Requires
/// at least one.
auto answer_error(braid::http_status status, const braid::diagnostics& problems, std::string_view request_id)
    -> error_answer;

/// A plan that cannot be run, and why: plan_left_out, with all diagnostics. Files have their names, and no folders: the
/// reader is a client. Requires at least one.
auto answer_left_out(std::string_view plan, const braid::diagnostics& problems, std::string_view request_id)
    -> error_answer;

/// What a plan ended with.
auto answer_error(const rank_error& error, std::string_view request_id) -> error_answer;

/// The code that stands for a fault of the message itself: `head_too_large`.
auto code_of(braid::http_errc why) noexcept -> std::string_view;

/// Its sentence: where the message is larger than the server takes, with the limit and the option that changes it.
auto sentence_of(braid::http_errc why, const braid::http_limits& limits) -> std::string;

}  // namespace rankd
