// rankd/server/endpoints/batch_endpoint.cpp: POST /v1/rank/batch: answers several requests of one call in their order.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/rank_request.hpp>
#include <rankd/server/endpoints/request_batch.hpp>

#include <braid/coro/with_scope.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

using braid::http_status;

auto joined(const std::vector<std::string>& answers) -> std::string {
  constexpr std::string_view begin = R"({"responses":[)";
  constexpr std::string_view end = "]}\n";
  std::size_t size = begin.size() + end.size();
  for (const std::string& each : answers) size += each.size() + 1;
  std::string out(begin);
  out.reserve(size);
  for (const std::string& each : answers) {
    if (out.size() != begin.size()) out += ',';
    out += each;
  }
  return out += end;
}

/// Ranks one request of a batch. The request counts against the limits of its client, its plan and the gate like a
/// single request. Returns true if the request was refused because the server is full.
auto rank_part(endpoint_context& context, served_request request, std::string_view text) -> braid::task<bool> {
  if (!request.enter_client(text)) co_return false;
  auto asked = prepare_request(request, text);
  if (!asked) co_return false;
  co_await rank_prepared(context, request, *asked);
  co_return request.record.is_shed;
}

/// Runs all requests of the call at the same time, as if each request had its own connection.
auto read_batch(endpoint_context& context, served_request call) -> braid::task<void> {
  if (!co_await read_body(call)) co_return;
  const auto texts = split_batch(call.body.text(), context.options().max_batch);
  if (!texts) {
    const bool is_large = texts.error().front().code == "batch_too_large";
    const http_status status = is_large ? http_status::content_too_large : http_status::bad_request;
    co_return call.fail(answer_error(status, texts.error(), call.record.request_id));
  }
  context.metrics.count_batch(texts->size());
  std::vector<std::string> answers(texts->size());
  bool is_shed = false;
  auto one = [&](std::size_t index) -> braid::task<void> {
    is_shed = co_await rank_part(context, served_request(call, index, answers[index]), (*texts)[index]) || is_shed;
  };
  auto start_all = [&](braid::scope& children) -> braid::task<void> {
    for (std::size_t at = 0; at < answers.size(); ++at) children.spawn(one(at));
    co_return;
  };
  co_await braid::with_scope(std::ref(start_all));
  call.record.status = http_status::ok;
  call.record.code = "ok";
  if (is_shed) call.exchange->pace();
  call.exchange->reply(http_status::ok, json_type, joined(answers));
}

}  // namespace

/// The steps that do not depend on the body run without a coroutine, as in `answer_rank`.
auto answer_batch(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  served_request call(context, endpoint::batch, x);
  if (!call.check_head() || call.is_refused_unread()) return {};
  return read_batch(context, std::move(call));
}

}  // namespace rankd::detail
