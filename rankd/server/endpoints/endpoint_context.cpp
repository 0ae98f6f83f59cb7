// rankd/server/endpoints/endpoint_context.cpp: implements functions that answer requests, which all endpoints share.
#include <rankd/server/detail/endpoint_context.hpp>

#include <rankd/server/grpc/grpc_status.hpp>

#include <string>
#include <utility>

namespace rankd::detail {

using braid::http_status;

endpoint_context::endpoint_context(serve_shared& all, shard_shares limits)
    : shared(&all),
      shares(limits),
      gate({.max_under_way = limits.in_flight, .queue = limits.queue, .max_wait = all.options.max_wait}),
      tokens(all.options.tokens ? std::make_shared<const token_list>(*all.options.tokens) : nullptr),
      overloaded(
          answer_error(http_status::service_unavailable, "overloaded", "the server is overloaded; try again later")),
      sinks(make_request_sinks(*this)) {}

auto given_request_id(const braid::http_request_head& head) noexcept -> std::string_view {
  return head.fields.find("X-Request-Id").value_or(std::string_view());
}

void send_error(braid::http_exchange& x, const error_answer& error) {
  if (!is_grpc_type(x.request().fields.find("Content-Type").value_or(std::string_view())))
    return x.reply(error.status, json_type, error.body);
  for (const auto& [name, value] : grpc_failure_fields(error)) static_cast<void>(x.set_field(name, value));
  x.reply(http_status::ok, grpc_type, {});
}

void reply(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, http_status status,
           std::string_view type, std::string_view body) {
  context.metrics.count_answer(endpoint, status);
  x.reply(status, type, body);
}

void reply(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, const error_answer& error) {
  context.metrics.count_answer(endpoint, error.status);
  send_error(x, error);
}

auto find_client(const endpoint_context& context, const braid::http_exchange& x) -> std::optional<token_client> {
  if (!context.tokens) return token_client();
  const auto field = x.request().fields.find("Authorization");
  // Refuses a request with two Authorization fields, because the two fields might belong to two different clients.
  if (!field || x.request().fields.count("Authorization") != 1) return std::nullopt;
  return context.tokens->find_client(*field);
}

auto unread_body(std::error_code error, const braid::http_limits& limits, std::string_view request_id) -> error_answer {
  if (error.category() != braid::detail::http_category()) error = braid::http_errc::truncated;
  const auto fault = static_cast<braid::http_errc>(error.value());
  return answer_error(braid::status_of(fault), std::string(code_of(fault)), format_sentence(fault, limits), request_id);
}

}  // namespace rankd::detail
