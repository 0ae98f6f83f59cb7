// rankd/server/endpoints/error_answer.cpp: maps error codes to HTTP statuses, and writes errors as JSON.
#include <rankd/server/endpoints/error_answer.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace rankd {
namespace {

using braid::http_errc;
using braid::http_status;

struct code_status {
  std::string_view code;
  http_status status;
};

/// The HTTP statuses for error codes of plans. A code that is not listed has the status 422, because the error is in
/// the plan or the request.
constexpr std::array run_statuses{
    code_status{"deadline_exceeded", http_status::gateway_timeout},
    code_status{"time_budget_exceeded", http_status::gateway_timeout},
    code_status{"node_timeout", http_status::gateway_timeout},
    code_status{"store_timeout", http_status::gateway_timeout},
    code_status{"model_timeout", http_status::gateway_timeout},
    code_status{"stopped", http_status::service_unavailable},
    code_status{"out_of_memory", http_status::service_unavailable},
    code_status{"store_unreachable", http_status::service_unavailable},
    code_status{"store_not_ready", http_status::service_unavailable},
    code_status{"store_overloaded", http_status::service_unavailable},
    code_status{"model_unreachable", http_status::service_unavailable},
    code_status{"model_overloaded", http_status::service_unavailable},
    code_status{"model_refused", http_status::bad_gateway},
    code_status{"model_bad_answer", http_status::bad_gateway},
    code_status{"model_untrusted", http_status::bad_gateway},
    code_status{"store_unauthorized", http_status::bad_gateway},
    code_status{"store_untrusted", http_status::bad_gateway},
    code_status{"store_bad_reply", http_status::bad_gateway},
    code_status{"store_corrupt", http_status::bad_gateway},
    code_status{"store_error", http_status::bad_gateway},
    code_status{"bad_cursor", http_status::bad_request},
    code_status{"foreign_cursor", http_status::bad_request},
    code_status{"expired_cursor", http_status::bad_request},
    code_status{"no_cursor_key", http_status::internal_server_error},
    code_status{"internal_error", http_status::internal_server_error},
};

auto make_body(const rank_error& error, std::string_view diagnostics, std::string_view request_id) -> std::string {
  std::string out = "{\"error\":{";
  append_json_unless_empty(out, "code", error.code);
  append_json_unless_empty(out, "message", error.message);
  append_json_unless_empty(out, "node", error.node);
  append_json_unless_empty(out, "pointer", error.pointer);
  out += '}';
  if (!diagnostics.empty()) (out += ",\"diagnostics\":") += diagnostics;
  append_json_unless_empty(out, "request_id", request_id);
  return out + "}\n";
}

}  // namespace

auto status_of_run(std::string_view code) noexcept -> http_status {
  const auto* const found = std::ranges::find(run_statuses, code, &code_status::code);
  return found == run_statuses.end() ? http_status::unprocessable_content : found->status;
}

auto answer_error(http_status status, std::string code, std::string_view message, std::string_view request_id)
    -> error_answer {
  std::string body = make_body({code, std::string(message), {}, {}}, {}, request_id);
  return {.status = status, .code = std::move(code), .body = std::move(body)};
}

auto with_request_id(std::string_view body, std::string_view request_id) -> std::string {
  constexpr std::string_view end = "}\n";
  std::string out(body.substr(0, body.size() - end.size()));
  append_json_unless_empty(out, "request_id", request_id);
  return out += end;
}

auto answer_error(http_status status, const braid::diagnostics& problems, std::string_view request_id) -> error_answer {
  const std::string all = problems.size() > 1 ? diagnostics_json(problems) : "";
  return {.status = status, .code = problems.front().code, .body = make_body(first_error(problems), all, request_id)};
}

auto answer_left_out(std::string_view plan, const braid::diagnostics& problems, std::string_view request_id)
    -> error_answer {
  braid::diagnostics shown;
  for (braid::diagnostic each : problems) {
    each.source = std::filesystem::path(each.source).filename().string();
    shown.add(std::move(each));
  }
  const braid::diagnostic& first = shown.front();
  const std::string message =
      "the plan " + quote_name(std::string(plan)) +
      " was left out when the plans were loaded: " + (first.source.empty() ? "" : first.source + ": ") + first.message;
  std::string code = "plan_left_out";
  std::string body = make_body({code, message, {}, {}}, diagnostics_json(shown), request_id);
  return {.status = http_status::unprocessable_content, .code = std::move(code), .body = std::move(body)};
}

auto answer_error(const rank_error& error, std::string_view request_id) -> error_answer {
  return {.status = status_of_run(error.code), .code = error.code, .body = make_body(error, {}, request_id)};
}

auto code_of(http_errc error) noexcept -> std::string_view {
  switch (error) {
    case http_errc::bad_start_line: return "bad_start_line";
    case http_errc::bad_version: return "bad_version";
    case http_errc::unknown_method: return "unknown_method";
    case http_errc::bad_target: return "bad_target";
    case http_errc::target_too_long: return "target_too_long";
    case http_errc::bad_line_end: return "bad_line_end";
    case http_errc::folded_field: return "folded_field";
    case http_errc::bad_field: return "bad_field";
    case http_errc::too_many_fields: return "too_many_fields";
    case http_errc::head_too_large: return "head_too_large";
    case http_errc::bad_host: return "bad_host";
    case http_errc::bad_length: return "bad_length";
    case http_errc::length_and_encoding: return "length_and_encoding";
    case http_errc::bad_encoding: return "bad_encoding";
    case http_errc::unknown_encoding: return "unknown_encoding";
    case http_errc::unknown_expectation: return "unknown_expectation";
    case http_errc::body_too_large: return "body_too_large";
    case http_errc::bad_chunk: return "bad_chunk";
    case http_errc::trailers_too_large: return "trailers_too_large";
    case http_errc::forbidden_trailer: return "forbidden_trailer";
    case http_errc::truncated: return "truncated";
    case http_errc::too_slow: return "too_slow";
    case http_errc::reserved_field:
    case http_errc::too_many_responses:
    case http_errc::too_many_redirects:
    case http_errc::bad_url:
    case http_errc::no_resolver:
    case http_errc::answered_twice:
    case http_errc::used_twice:
    case http_errc::no_http2:
    case http_errc::bad_frame:
    case http_errc::refused_stream:
    case http_errc::reset_stream:
    case http_errc::speaks_http1:
    case http_errc::no_answer: break;  // never reported to a request
  }
  return "internal_error";
}

auto format_sentence(http_errc error, const braid::http_limits& limits) -> std::string {
  const auto with = [error](std::uint64_t most, std::string_view option) {
    return make_error_code(error).message() + ": this server accepts up to " + std::to_string(most) + " bytes (" +
           std::string(option) + ")";
  };
  if (error == http_errc::body_too_large) return with(limits.body_bytes, "--max-body-bytes");
  if (error == http_errc::head_too_large) return with(limits.head_bytes, "--max-header-bytes");
  return make_error_code(error).message();
}

}  // namespace rankd
