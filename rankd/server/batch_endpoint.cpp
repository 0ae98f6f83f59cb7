// rankd/server/batch_endpoint.cpp: POST /v1/rank/batch: several requests in one call, answered in order.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/server/request_batch.hpp>

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

/// The name of one request where the head has named the call.
auto part_id(std::string_view call, std::size_t at) -> std::string {
  return call.empty() ? std::string() : std::string(call) + "." + std::to_string(at);
}

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

}  // namespace

/// Counts a call when it ends, whatever way. One that failed as a whole is in log and audit; otherwise its requests
/// are.
struct shard::call_end {
  shard* by;  // null: other code reports
  request_record* record;
  ~call_end() {
    if (by == nullptr) return;
    if (record->status != http_status::ok) {
      by->note(*record, endpoint::batch);
      return;
    }
    record->took = by->io_->now() - record->begun;
    by->metrics_.count_end(endpoint::batch, record->status, record->took, by->gate_.counts(), by->unread());
    by->export_spans(*record, endpoint::batch);
  }
};

/// As `rank`: what does not depend on the body needs no coroutine.
auto shard::rank_batch(braid::http_exchange& x) -> braid::task<void> {
  request_record record = new_record();
  call_end end{this, &record};
  if (!check_head(x, record)) return {};
  if (may_refuse_unread(x) && gate_.refuses(record.begun)) {
    overloaded(x, record);
    return {};
  }
  end.by = nullptr;  // the coroutine reports it
  return read_batch(x, std::move(record));
}

/// All requests of the call are under way at the same time, as if each had come by a connection of its own.
auto shard::read_batch(braid::http_exchange& x, request_record record) -> braid::task<void> {
  const call_end end{this, &record};
  held_body body(*this);
  std::optional<braid::result<void>> read = read_body_now(x, body);
  if (!read) {
    auto reading = read_body(x, body);
    read = co_await std::move(reading);
    if (*read && gate_.refuses(io_->now())) co_return overloaded(x, record);
  }
  if (!*read) co_return fail_body(x, record, read->error());

  const auto texts = split_batch(body.text, all_->options.max_batch);
  if (!texts) {
    const bool is_large = texts.error().front().code == "batch_too_large";
    const http_status status = is_large ? http_status::content_too_large : http_status::bad_request;
    co_return fail(x, record, answer_error(status, texts.error(), record.request_id));
  }
  metrics_.count_batch(texts->size());
  std::vector<std::string> answers(texts->size());
  bool is_shed = false;
  auto one = [&](std::size_t at) -> braid::task<void> {
    request_record part;
    part.time = record.time;
    part.begun = record.begun;
    part.request_id = part_id(record.request_id, at);
    if (record.trace) part.trace = record.trace->child();
    part.client = record.client;
    part.is_known = record.is_known;
    part.may_force = record.may_force;
    auto ranking_part = rank_part((*texts)[at], std::move(part), answers[at]);
    is_shed = co_await std::move(ranking_part) || is_shed;
  };
  auto start_all = [&](braid::scope& children) -> braid::task<void> {
    for (std::size_t at = 0; at < answers.size(); ++at) children.spawn(one(at));
    co_return;
  };
  braid::task<void> all = braid::with_scope(std::ref(start_all));
  co_await std::move(all);
  record.status = http_status::ok;
  record.code = "ok";
  if (is_shed) x.pace();
  x.reply(http_status::ok, json_type, joined(answers));
}

/// One request of a batch, counted for its client, its plan and the gate like one that came alone. Gives whether it was
/// refused because the server is full.
auto shard::rank_part(std::string_view text, request_record record, std::string& answer) -> braid::task<bool> {
  struct part_end {
    shard* by;
    request_record* record;
    ~part_end() {
      by->report(*record);
      by->export_spans(*record, std::nullopt);
    }
  };
  const part_end end{this, &record};
  const reply_place to(answer);
  const auto of_client =
      all_->of_clients.try_enter(record.client, record.client.empty() ? std::nullopt : all_->options.client_in_flight);
  if (!of_client) {
    record.request_id = request_id_of(text, {.line = 0, .request_id = record.request_id});
    busy(to, record, "client_busy", "this client has as many requests under way as it may; try again later");
    co_return false;
  }
  auto ready = prepare(to, record, text);
  if (!ready) co_return false;
  braid::task<void> work = run(to, record, *ready);
  co_await std::move(work);
  co_return record.is_shed;
}

}  // namespace rankd::detail
