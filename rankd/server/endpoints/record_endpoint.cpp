// rankd/server/endpoints/record_endpoint.cpp: POST /v1/records: changes records of an embedded store before it answers.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/routes.hpp>
#include <rankd/server/detail/served_request.hpp>
#include <rankd/server/records/record_writer.hpp>

#include <rankd/registry/names.hpp>

#include <braid/coro/offload.hpp>
#include <braid/net/http_client.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;
using outcome_kind = record_outcome::result_kind;

constexpr std::string_view id_field = "Idempotency-Key";

auto is_call_id(std::string_view id) -> bool {
  return !id.empty() && id.size() <= record_writer::max_id &&
         std::ranges::all_of(id, [](char c) { return c > ' ' && c <= '~'; });
}

/// Returns the record writer of the endpoint that the query names. If the query names no endpoint and there is only one
/// writer, returns that writer. If no writer is found, answers the request and returns null.
auto find_writer(served_request& call) -> record_writer* {
  const auto& all = call.context->serving().records;
  const auto named = braid::http_url::query_value(call.exchange->request().query, "endpoint");
  if (!named && all.size() == 1) return all.front().second;
  const auto found = std::ranges::find_if(all, [&](const auto& each) { return named && each.first == *named; });
  if (found != all.end()) return found->second;
  std::string names;
  for (const auto& each : all) names += (names.empty() ? "" : ", ") + each.first;
  const std::string what =
      named ? "no embedded store is called " + quote_name(*named) : "the project has several embedded stores";
  call.fail(answer_error(http_status::bad_request, "unknown_endpoint",
                         what + "; name one of these with `?endpoint=`: " + names, call.record.request_id));
  return nullptr;
}

auto refusal_of(const record_outcome& outcome, std::string_view request_id) -> error_answer {
  switch (outcome.result) {
    case outcome_kind::refused: return answer_error(http_status::bad_request, outcome.problems, request_id);
    case outcome_kind::reused:
      return answer_error(
          http_status::conflict, "id_reused",
          "an earlier call with this Idempotency-Key had other records; send these records with a new key", request_id);
    case outcome_kind::unserved:
      return answer_error(http_status::service_unavailable, "records_not_served",
                          "the records are stored on the disk as generation " + std::to_string(outcome.generation) +
                              ", which this server cannot open; the event `store_refused` in its log has the reason. "
                              "Send the call again with the same Idempotency-Key",
                          request_id);
    default: break;
  }
  const std::string why = outcome.problems.empty() ? "there is no memory" : outcome.problems.front().message;
  return answer_error(http_status::service_unavailable, "records_not_written",
                      "the records could not be written: " + why + "; send them again", request_id);
}

auto write_records(endpoint_context& context, served_request call, record_writer* writer, std::string id)
    -> braid::task<void> {
  std::optional<braid::result<void>> read = call.body.read_now(*call.exchange);
  if (!read) read = co_await call.body.read(*call.exchange);
  if (!*read) co_return call.fail_body(read->error());
  const auto place = enter_route(context, endpoint::records);
  if (!place)
    co_return call.refuse_busy("records_busy",
                               "the maximum number of calls is already waiting for the disk; try again later");

  const auto apply = [writer, &id, lines = call.body.text()] { return writer->apply(id, lines); };
  auto applying = braid::offload(context.runtime->blocking(), apply);
  const record_outcome outcome = co_await std::move(applying);
  const bool is_repeated = outcome.result == outcome_kind::repeated;
  if (outcome.result != outcome_kind::written && !is_repeated)
    co_return call.fail(refusal_of(outcome, call.record.request_id));
  call.record.status = http_status::ok;
  call.record.code = "ok";
  call.exchange->reply(http_status::ok, json_type,
                       "{\"generation\":" + std::to_string(outcome.generation) + ",\"records\":" +
                           std::to_string(outcome.records) + ",\"deletions\":" + std::to_string(outcome.deletions) +
                           ",\"repeated\":" + (is_repeated ? "true" : "false") + "}\n");
}

}  // namespace

auto answer_records(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  served_request call(context, endpoint::records, x);
  if (!call.check_head()) return {};
  if (context.serving().records.empty()) {
    call.fail(answer_error(http_status::not_found, "no_records",
                           "this server accepts no records: start it with --accept-records, in a project with an "
                           "embedded store",
                           call.record.request_id));
    return {};
  }
  if (!call.record.may_write) {
    call.fail(answer_error(http_status::forbidden, "records_forbidden",
                           "only a client whose token has the right `write` may change records",
                           call.record.request_id));
    return {};
  }
  const auto given = x.request().fields.find(id_field);
  if (given && !is_call_id(*given)) {
    call.fail(answer_error(http_status::bad_request, "bad_idempotency_key",
                           "the header field Idempotency-Key must have 1 to 128 printable characters without spaces",
                           call.record.request_id));
    return {};
  }
  record_writer* const writer = find_writer(call);
  if (writer == nullptr) return {};
  return write_records(context, std::move(call), writer, std::string(given.value_or("")));
}

}  // namespace rankd::detail
