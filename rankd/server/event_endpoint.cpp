// rankd/server/event_endpoint.cpp: POST /v1/events: what users did, on the disk before it is answered.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/server/counter_writer.hpp>
#include <rankd/server/embedded_counters.hpp>
#include <rankd/server/event_log.hpp>

#include <braid/coro/bridge.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

using kind = exposition::kind;

using braid::http_status;

auto wall_clock() -> std::chrono::milliseconds {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

/// Counts a call when it ends, whatever way; log and audit have those that failed.
struct shard::event_end {
  shard* by;  // null: other code reports
  request_record* record;
  ~event_end() {
    if (by == nullptr) return;
    by->metrics_.count_end(endpoint::events, record->status, by->io_->now() - record->begun, by->gate_.counts(),
                           by->unread());
    if (record->status != http_status::ok) by->report(*record);
  }
};

auto shard::take_events(braid::http_exchange& x) -> braid::task<void> {
  request_record record = new_record();
  event_end end{this, &record};
  if (!check_head(x, record)) return {};
  if (all_->context.events == nullptr) {
    fail(x, record,
         answer_error(http_status::not_found, "no_events", "this server takes no events: it runs without --events",
                      record.request_id));
    return {};
  }
  if (!record.may_send_events) {
    fail(x, record,
         answer_error(http_status::forbidden, "events_forbidden",
                      "only a client whose token has the right `events` sends events", record.request_id));
    return {};
  }
  end.by = nullptr;  // the coroutine reports it
  return read_events(x, std::move(record));
}

auto shard::read_events(braid::http_exchange& x, request_record record) -> braid::task<void> {
  const event_end end{this, &record};
  held_body body(*this);
  std::optional<braid::result<void>> read = read_body_now(x, body);
  if (!read) {
    auto reading = read_body(x, body);
    read = co_await std::move(reading);
  }
  if (!*read) co_return fail_body(x, record, read->error());

  const std::chrono::milliseconds now = wall_clock();
  const event_rules& rules = *all_->context.rules;
  const auto events = parse_events(body.text, rules, *all_->context.declared, all_->options.max_events, now);
  if (!events) {
    const bool is_large = events.error().front().code == "events_too_large";
    const http_status status = is_large ? http_status::content_too_large : http_status::bad_request;
    co_return fail(x, record, answer_error(status, events.error(), record.request_id));
  }
  auto writing = all_->context.events->add(*events, rules, now);
  const event_outcome outcome = co_await std::move(writing);
  if (outcome.result != event_outcome::result_kind::written) {
    const bool is_full = outcome.result == event_outcome::result_kind::full;
    co_return fail(x, record,
                   answer_error(http_status::service_unavailable, is_full ? "events_overloaded" : "events_not_written",
                                is_full ? "too many events wait for the disk; send these again later"
                                        : "the disk did not take the events; send them again",
                                record.request_id));
  }
  record.status = http_status::ok;
  record.code = "ok";
  x.reply(http_status::ok, json_type,
          "{\"accepted\":" + std::to_string(outcome.accepted) +
              ",\"duplicates\":" + std::to_string(outcome.duplicates) + "}\n");
}

void shard::write_events(exposition& out) const {
  if (all_->context.events != nullptr) {
    const event_counts counts = all_->context.events->counts();
    out.family("rankd_events_total", kind::counter, "Events that came, by what became of them.");
    out.sample({{"result", "accepted"}}, static_cast<double>(counts.accepted));
    out.sample({{"result", "duplicate"}}, static_cast<double>(counts.duplicates));
    out.sample({{"result", "refused"}}, static_cast<double>(counts.refused));
    out.sample({{"result", "failed"}}, static_cast<double>(counts.failed));
    out.family("rankd_event_syncs_total", kind::counter, "Times that the log of events was synced.");
    out.sample({}, static_cast<double>(counts.syncs));
    out.family("rankd_event_bytes_total", kind::counter, "Bytes that went to the log of events.");
    out.sample({}, static_cast<double>(counts.bytes));
    out.family("rankd_event_ids_forgotten_total", kind::counter,
               "Ids of events that were forgotten before their window ended, because there were too many.");
    out.sample({}, static_cast<double>(counts.forgotten));
  }
  write_counters(out);
}

void shard::write_counters(exposition& out) const {
  const counter_writer* redis = all_->context.counters;
  const embedded_counters* embedded = all_->context.embedded;
  if (redis == nullptr && embedded == nullptr) return;
  counter_counts counts = redis == nullptr ? counter_counts() : redis->counts();
  if (embedded != nullptr) {
    const counter_counts more = embedded->counts();
    counts.written += more.written;
    counts.lost += more.lost;
  }
  out.family("rankd_counter_steps_total", kind::counter, "Additions to counters, by what became of them.");
  out.sample({{"result", "written"}}, static_cast<double>(counts.written));
  out.sample({{"result", "lost"}}, static_cast<double>(counts.lost));
  if (embedded == nullptr) return;
  out.family("rankd_counter_hashes", kind::gauge, "Hashes of counters in memory.");
  out.sample({}, static_cast<double>(embedded->hashes()));
  out.family("rankd_counter_bytes", kind::gauge, "Memory that hashes of counters take.");
  out.sample({}, static_cast<double>(embedded->bytes()));
  out.family("rankd_counter_snapshots_failed_total", kind::counter,
             "Snapshots of counters that the disk did not take.");
  out.sample({}, static_cast<double>(embedded->snapshots_failed()));
}

}  // namespace rankd::detail
