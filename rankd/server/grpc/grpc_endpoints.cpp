// rankd/server/grpc/grpc_endpoints.cpp: implements the methods of the service rankd.v1.Ranking, which pass requests to
// the functions of the HTTP endpoints.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/rank_request.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/grpc/grpc_call.hpp>
#include <rankd/server/grpc/grpc_messages.hpp>

#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

/// The answer to one request of a RankBatch call.
class grpc_part final : public answer_form {
 public:
  explicit grpc_part(std::size_t index) { message_.set_index(static_cast<std::uint32_t>(index)); }

  void answer(served_request& /*request*/, const ranking& ranked) override {
    *message_.mutable_response() = to_message(ranked);
  }
  void fail(served_request& /*request*/, const error_answer& error) override {
    *message_.mutable_error() = to_message(error);
  }
  [[nodiscard]] auto message() const noexcept -> const v1::RankBatchResponse& { return message_; }

 private:
  v1::RankBatchResponse message_;
};

/// Ranks one request, which is a whole call or a part of a call.
auto rank_message(endpoint_context& context, served_request& request, const grpc_call& call,
                  const v1::RankRequest& message) -> braid::task<void> {
  auto text = to_json(message);
  if (!text) co_return request.fail(answer_error(http_status::bad_request, text.error(), request.record.request_id));
  if (request.part != nullptr && !request.enter_client(*text)) co_return;
  if (!request.body.hold(std::move(*text))) co_return request.refuse_overloaded();
  auto asked = prepare_request(request, request.body.text());
  if (!asked) co_return;
  asked->deadline = call.limited(asked->deadline);
  co_await rank_prepared(context, request, *asked);
}

/// Runs all requests of a call at the same time, and sends each answer when it is ready.
auto rank_all(endpoint_context& context, served_request& request, grpc_call& call, const v1::RankBatchRequest& message)
    -> braid::task<void> {
  braid::http_exchange& x = *request.exchange;
  braid::async_mutex writing;
  braid::scope* parts = nullptr;
  bool is_shed = false;
  auto one = [&](int index) -> braid::task<void> {
    grpc_part answer(static_cast<std::size_t>(index));
    std::string text;
    {
      served_request part(request, static_cast<std::size_t>(index), text);
      part.form = &answer;
      co_await rank_message(context, part, call, message.requests(index));
      is_shed = is_shed || part.record.is_shed;
    }
    const auto alone = co_await writing.lock();
    if (!co_await x.write(call.framed(answer.message()))) parts->request_stop();
  };
  auto start_all = [&](braid::scope& children) -> braid::task<void> {
    parts = &children;
    for (int at = 0; at < message.requests_size(); ++at) children.spawn(one(at));
    co_return;
  };
  co_await braid::with_scope(std::ref(start_all));
  if (is_shed) x.pace();
}

}  // namespace

auto answer_grpc_rank(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  grpc_call call(x);
  served_request request(context, endpoint::grpc_rank, x);
  if (!call.check_head(request) || !request.enter_client() || request.is_refused_unread()) co_return;
  if (!co_await read_body(request)) co_return;
  v1::RankRequest message;
  if (!call.parse(request, message)) co_return;
  co_await rank_message(context, request, call, message);
}

auto answer_grpc_batch(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  grpc_call call(x);
  served_request request(context, endpoint::grpc_batch, x);
  if (!call.check_head(request) || request.is_refused_unread()) co_return;
  if (!co_await read_body(request)) co_return;
  v1::RankBatchRequest message;
  if (!call.parse(request, message)) co_return;
  const auto count = static_cast<std::size_t>(message.requests_size());
  if (const std::size_t max_count = context.options().max_batch; count > max_count)
    co_return request.fail(answer_error(
        http_status::content_too_large, "batch_too_large",
        "the call has " + std::to_string(count) + " requests; at most " + std::to_string(max_count) + " are allowed",
        request.record.request_id));
  context.metrics.count_batch(count);
  call.begin();
  co_await rank_all(context, request, call, message);
  request.record.status = http_status::ok;
  request.record.code = "ok";
  call.end();
}

auto answer_grpc_events(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  grpc_call call(x);
  served_request request(context, endpoint::grpc_events, x);
  if (!call.check_head(request) || !may_send_events(context, request)) co_return;
  if (!co_await read_body(request)) co_return;
  v1::EventsRequest message;
  if (!call.parse(request, message)) co_return;
  if (!request.body.hold(to_json(message))) co_return request.refuse_overloaded();
  const auto outcome = co_await write_events(context, request, request.body.text());
  if (!outcome) co_return;
  v1::EventsResponse answer;
  answer.set_accepted(static_cast<std::uint32_t>(outcome->accepted));
  answer.set_duplicates(static_cast<std::uint32_t>(outcome->duplicates));
  call.reply(answer);
}

/// Refuses a method that the service does not have.
auto answer_grpc_other(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  grpc_call call(x);
  served_request request(context, endpoint::grpc_other, x);
  if (call.check_head(request))
    request.fail(answer_error(http_status::method_not_allowed, "unknown_method",
                              "rankd.v1.Ranking has no method `" + std::string(x.value("method")) + "`",
                              request.record.request_id));
  return {};
}

}  // namespace rankd::detail
