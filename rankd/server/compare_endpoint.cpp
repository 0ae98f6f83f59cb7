// rankd/server/compare_endpoint.cpp: two plans compared by their answers: to one request, and to recorded traffic.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/engine/answer_comparison.hpp>
#include <rankd/engine/moved_ids.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/traffic_findings.hpp>
#include <rankd/store/replayed_reads.hpp>

#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/net/http_client.hpp>
#include <braid/task/executor.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr std::string_view lines_type = "application/x-ndjson";
constexpr std::size_t max_comparisons = 4;  // of answers, at a time
constexpr std::size_t answer_depth = 10;    // of `overlap_at`
constexpr std::size_t max_depth = 100'000;
constexpr std::size_t max_changed = 1000;
constexpr auto first_pause = std::chrono::milliseconds(5);
constexpr auto max_pause = std::chrono::milliseconds(250);  // between two reports of progress

auto number_text(double value) -> std::string {
  std::string out;
  append_json_number(out, value);
  return out;
}

/// A whole number in this range; nothing for another text.
auto number_between(std::string_view text, std::size_t low, std::size_t high) -> std::optional<std::size_t> {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < low || number > high) return std::nullopt;
  return number;
}

/// The records that are there now; none where a place cannot be read.
auto records_of(const std::vector<std::filesystem::path>& places) -> std::vector<std::filesystem::path> {
  std::vector<std::filesystem::path> out;
  for (const auto& each : places) {
    auto found = list_records({each});
    if (found) out.insert(out.end(), found->begin(), found->end());
  }
  std::error_code error;
  std::erase_if(out, [&](const auto& each) { return !std::filesystem::exists(each, error); });
  return out;
}

/// One of the two plans, and what it answers.
struct compared_side {
  /// A request that does not suit a plan gets what is wrong with it in place of an answer.
  compared_side(plan_handle which, const rank_request& asked, const registries& declared)
      : plan(std::move(which)), request(asked) {
    const auto unfit = fit_to_plan(*request, *plan, declared);
    if (unfit.empty()) return;
    request.reset();
    answer.error = rank_error{unfit.front().code, unfit.front().message, unfit.front().node, unfit.front().pointer};
    explained = answer;
  }

  void append_to(std::string& out, std::string_view name) const {
    append_json_string(out, name);
    out += ":{\"plan\":";
    append_json_string(out, plan->name);
    out += ",\"digest\":";
    append_json_string(out, plan->digest);
    out += ",\"code\":";
    append_json_string(out, answer.error ? answer.error->code : "ok");
    out += ",\"answer\":";
    append_json(out, answer);
    out += '}';
  }

  plan_handle plan;
  std::optional<rank_request> request;  // nothing where the request does not suit the plan
  ranking answer;
  ranking explained;
  std::string reads;
};

/// Of two plans that may have 10 000 nodes each.
auto answers_json(const compared_side& before, const compared_side& after, const registries& declared) -> std::string {
  const answer_verdict verdict = compare_answers(before.answer, after.answer, answer_depth);
  std::size_t moved = 0;
  std::vector<moved_id> moves = moves_between(before.answer, after.answer, moved);
  move_explainer(*before.plan, *after.plan, declared).explain(moves, before.explained, after.explained);
  std::string out = "{";
  before.append_to(out, "before");
  out += ',';
  after.append_to(out, "after");
  out += ",\"change\":\"" + std::string(to_string(verdict.change)) + "\",\"depth\":" + std::to_string(answer_depth) +
         ",\"overlap\":" + number_text(verdict.overlap) + ",\"rbo\":" + number_text(verdict.rbo) +
         ",\"moved\":" + std::to_string(moved) + ",\"moves\":" + to_json(moves);
  return out + "}\n";
}

/// Both plans run on the same data, in turn: what the first has read is not asked of the stores again. Then both run
/// once more, each on what it has read, to explain the ids that moved.
auto run_both(engine& ranker, const store_list& live, const registries& declared, compared_side& before,
              compared_side& after) -> braid::task<void> {
  const auto run = [&ranker](compared_side& side, store_list on, rank_request with) {
    keep_to_budget(with, side.plan->budget);
    return ranker.rank(side.plan, std::move(with), request_stores(std::move(on)));
  };
  store_list seen = live;
  for (compared_side* each : {&before, &after}) {
    if (!each->request) continue;
    const auto recorder = std::make_shared<read_recorder>(seen);
    auto work = run(*each, read_recorder::stores_of(recorder), *each->request);
    each->answer = co_await std::move(work);
    each->reads = recorder->take();
    if (const auto kept = replayed_reads::parse(each->reads, declared, live)) seen = replayed_reads::stores_of(kept);
  }
  std::size_t moved = 0;
  const std::vector<moved_id> moves = moves_between(before.answer, after.answer, moved);
  for (compared_side* each : {&before, &after}) {
    if (!each->request || moves.empty()) continue;
    rank_request with = std::move(*each->request);
    with.explain = explain_mode::on;
    for (const moved_id& one : moves) with.explain_ids.push_back(one.id);
    const auto kept = replayed_reads::parse(std::move(each->reads), declared, live);
    auto work = run(*each, kept == nullptr ? live : replayed_reads::stores_of(kept), std::move(with));
    each->explained = co_await std::move(work);
  }
}

}  // namespace

struct shard::compare_end {
  shard* by;
  request_record* record;
  ~compare_end() { by->note(*record, endpoint::diff_answers); }
};

/// A comparison on recorded traffic, which a thread runs that may block.
struct shard::traffic_run {
  std::string record;  // the only one; empty: all
  std::vector<std::filesystem::path> files;
  traffic_comparison::settings how;
  braid::atomic<std::uint64_t> done{0};    // bytes; written by that thread
  braid::atomic<std::uint64_t> all{0};     // the same
  braid::atomic<bool> is_given_up{false};  // written by the loop: true for good
  std::mutex mutex;
  std::optional<braid::checked<traffic_findings>> result;  // under it; set once

  void run_to_end(const braid::atomic<bool>& stopping) {
    auto found = compare_on_records(files, how, [&](std::uint64_t bytes, std::uint64_t of) {
      done.store(bytes, braid::relaxed);
      all.store(of, braid::relaxed);
      return !is_given_up.load(braid::relaxed) && !stopping.load(braid::relaxed);
    });
    const std::scoped_lock lock(mutex);
    result = std::move(found);
  }

  [[nodiscard]] auto has_ended() -> bool {
    const std::scoped_lock lock(mutex);
    return result.has_value();
  }

  /// Where no thread takes it any more.
  void refuse() {
    const std::scoped_lock lock(mutex);
    result = braid::checked<traffic_findings>(refused("stopping", "the server is about to stop"));
  }

  [[nodiscard]] auto progress() const -> std::string {
    return "{\"done\":" + std::to_string(done.load(braid::relaxed)) +
           ",\"all\":" + std::to_string(all.load(braid::relaxed)) + "}\n";
  }

  /// The last line, once it has ended. Of files it has the names that `/v1/traffic` lists: clients need not know
  /// folders.
  auto last_line(std::string_view request_id) -> std::string {
    const std::scoped_lock lock(mutex);
    if (*result) {
      for (read_record& each : (*result)->records) each.file = std::filesystem::path(each.file).filename().string();
      return "{\"traffic\":" + to_json(**result) + "}\n";
    }
    braid::diagnostics problems;
    for (braid::diagnostic each : result->error()) {
      each.source = std::filesystem::path(each.source).filename().string();
      problems.add(std::move(each));
    }
    return to_json(problems, request_id) + "\n";
  }
};

void shard::add_compare_routes() {
  if (!all_->options.shows_page) return;
  serve_post("/v1/plans/{name}/diff/answers", [this](braid::http_exchange& x) { return compare_by_answers(x); });
  if (all_->context.traffic_places.empty()) return;
  serve_get("/v1/traffic", [this](braid::http_exchange& x) { return list_traffic(x); });
  serve_get("/v1/plans/{name}/diff/traffic", [this](braid::http_exchange& x) { return compare_by_traffic(x); });
}

/// The two plans that the query names; nothing where one is not there, and then the request has been answered.
auto shard::asked_pair(braid::http_exchange& x, endpoint which) -> std::optional<plan_pair> {
  const std::string name(x.value("name"));
  plan_pair out;
  out.before = asked_plan(x, which, name, "version");
  if (out.before == nullptr) return std::nullopt;
  const std::string with = braid::http_url::query_value(x.request().query, "with").value_or(name);
  const bool is_draft =
      all_->context.drafts != nullptr && braid::http_url::query_value(x.request().query, "with_draft");
  out.after = is_draft ? asked_draft(x, which, with) : asked_plan(x, which, with, "with_version");
  if (out.after == nullptr) return std::nullopt;
  if (which == endpoint::diff || out.before->declared == out.after->declared) return out;
  // One request is read once for both, and params lie in it in the order of one registry.
  reply(x, which,
        answer_error(http_status::conflict, "registries_differ",
                     "these versions are bound to different registries, so that one request cannot be put to both; "
                     "/v1/plans/NAME/diff compares what they say",
                     given_request_id(x.request())));
  return std::nullopt;
}

auto shard::compare_by_answers(braid::http_exchange& x) -> braid::task<void> {
  if (!may_ask(x, endpoint::diff_answers)) co_return;
  const auto pair = asked_pair(x, endpoint::diff_answers);
  if (!pair) co_return;
  request_record record = new_record();
  const compare_end end{this, &record};
  if (!check_head(x, record)) co_return;
  const auto of_client =
      all_->of_clients.try_enter(record.client, record.client.empty() ? std::nullopt : all_->options.client_in_flight);
  if (!of_client)
    co_return busy(x, record, "client_busy", "this client has as many requests under way as it may; try again later");
  held_body body(*this);
  std::optional<braid::result<void>> read = read_body_now(x, body);
  if (!read) {
    auto reading = read_body(x, body);
    read = co_await std::move(reading);
  }
  if (!*read) co_return fail_body(x, record, read->error());
  auto request = request_of_comparison(x, record, body.text, *pair->before);
  if (!request) co_return;

  const auto only = all_->of_traces.try_enter(name_of(endpoint::diff_answers), max_comparisons);
  if (!only)
    co_return busy(x, record, "comparison_busy", "as many comparisons as there may be are under way; try again later");
  const auto of_before = all_->of_plans.try_enter(pair->before->name, pair->before->budget.in_flight);
  const bool is_one_plan = pair->before->name == pair->after->name;  // they run in turn, so one place is enough
  const auto of_after =
      all_->of_plans.try_enter(pair->after->name, is_one_plan ? std::nullopt : pair->after->budget.in_flight);
  if (!of_before || !of_after)
    co_return busy(x, record, "plan_busy", "this plan has as many requests under way as it may; try again later");
  auto entering = gate_.enter(io_->now(), record.begun + all_->options.default_deadline);
  const braid::result<admission_gate::pass> pass = co_await std::move(entering);
  if (!pass) co_return overloaded(x, record);

  const std::shared_ptr<const registries> declared = pair->before->declared;
  compared_side before(pair->before, *request, *declared);
  compared_side after(pair->after, *request, *declared);
  const store_list live = std::make_shared<const std::vector<store*>>(asked_);
  auto running = run_both(*ranker_, live, *declared, before, after);
  co_await std::move(running);
  const auto print = [&before, &after, declared] { return answers_json(before, after, *declared); };
  auto printing = braid::offload(on_->blocking(), print);
  const std::string text = co_await std::move(printing);
  record.status = http_status::ok;
  record.code = "ok";
  record.candidates = before.answer.error ? 0 : before.answer.rows.size();
  x.reply(http_status::ok, json_type, text);
}

/// Nothing where it has been answered. It has the deadline that it names, or that of its plan, for each run.
auto shard::request_of_comparison(braid::http_exchange& x, request_record& record, std::string_view text,
                                  const bound_plan& plan) -> std::optional<rank_request> {
  const auto refuse = [&](http_status status, const braid::diagnostics& problems) {
    fail(x, record, answer_error(status, problems, record.request_id));
    return std::nullopt;
  };
  const std::string head_id = record.request_id;
  auto request = parse_request(text, *plan.declared, {.line = 0, .request_id = head_id});
  if (!request) return refuse(http_status::bad_request, request.error());
  record.request_id = request->request_id;
  record.user_id = request->user_id;
  record.plan = plan.name;
  record.plan_digest = plan.digest;
  if (all_->context.audit != nullptr) record.asked = audited(*request, *plan.declared, all_->context.redacted);
  if (!request->forced.empty() && !record.may_force)
    return refuse(http_status::forbidden, braid::diagnostics({.code = "force_forbidden",
                                                              .pointer = "/experiments",
                                                              .message = "only a client whose token has the right "
                                                                         "`force` names arms",
                                                              .hint = {},
                                                              .node = {},
                                                              .source = "request"}));
  if (const auto named = plan_to_run(*request, plan.name); !named)
    return refuse(http_status::bad_request, named.error());
  if (!request->deadline) request->deadline = plan.budget.default_deadline.value_or(all_->options.default_deadline);
  request->explain = explain_mode::off;
  request->explain_ids.clear();
  request->captures.clear();  // they name nodes of one of both
  return std::move(*request);
}

/// What other clients have asked is for clients alone that have the right to see it.
auto shard::may_see_traffic(braid::http_exchange& x, endpoint which) -> bool {
  if (!may_ask(x, which)) return false;
  if (const auto client = client_of(x); tokens_ == nullptr || (client && client->may_see_shadows)) return true;
  reply(x, which,
        answer_error(http_status::forbidden, "traffic_forbidden",
                     "only a client whose token has the right `shadow` sees recorded traffic",
                     given_request_id(x.request())));
  return false;
}

auto shard::list_traffic(braid::http_exchange& x) -> braid::task<void> {
  if (!may_see_traffic(x, endpoint::traffic)) co_return;
  auto listing = braid::offload(on_->blocking(), [places = all_->context.traffic_places] {
    std::string out = "{\"records\":[";
    for (const auto& each : records_of(places)) {
      std::error_code error;
      const std::uintmax_t size = std::filesystem::file_size(each, error);
      out += out.ends_with('[') ? "{\"record\":" : ",{\"record\":";
      append_json_string(out, each.filename().string());
      out += ",\"bytes\":" + std::to_string(error ? 0 : size) + "}";
    }
    return out + "]}\n";
  });
  const std::string text = co_await std::move(listing);
  reply(x, endpoint::traffic, http_status::ok, json_type, text);
}

/// What the query asks for. Null where it is wrong, and then the request has been answered.
auto shard::asked_traffic(braid::http_exchange& x, plan_pair pair) -> std::shared_ptr<traffic_run> {
  const std::string_view query = x.request().query;
  const std::string_view id = given_request_id(x.request());
  traffic_comparison::settings how{.declared = pair.before->declared.get(),
                                   .before = std::move(pair.before),
                                   .after = std::move(pair.after),
                                   .recorded_plan = {}};
  how.recorded_plan = braid::http_url::query_value(query, "requests_of").value_or(how.before->name);
  const auto live = braid::http_url::query_value(query, "live");
  const auto depth = number_between(braid::http_url::query_value(query, "depth").value_or("10"), 1, max_depth);
  const auto changed = number_between(braid::http_url::query_value(query, "changed").value_or("20"), 0, max_changed);
  if (!depth || !changed || (live && *live != "1")) {
    reply(x, endpoint::diff_traffic,
          answer_error(http_status::bad_request, "bad_comparison",
                       "`depth` is a whole number from 1 to 100000, `changed` one from 0 to 1000, and `live` is 1 or "
                       "absent",
                       id));
    return nullptr;
  }
  how.depth = *depth;
  how.max_changed = *changed;
  if (live) how.live = std::make_shared<const std::vector<store*>>(all_->context.stores);
  auto out = std::make_shared<traffic_run>();
  out->record = braid::http_url::query_value(query, "record").value_or("");
  out->how = std::move(how);
  return out;
}

/// In lines: how far it is, again and again, and then what came of it. A client that goes away ends it so.
auto shard::compare_by_traffic(braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::diff_traffic;
  if (!may_see_traffic(x, which)) co_return;
  const std::string id(given_request_id(x.request()));
  auto pair = asked_pair(x, which);
  if (!pair) co_return;
  const auto run = asked_traffic(x, std::move(*pair));
  if (run == nullptr) co_return;
  auto listing =
      braid::offload(on_->blocking(), [places = all_->context.traffic_places] { return records_of(places); });
  run->files = co_await std::move(listing);
  if (!run->record.empty())
    std::erase_if(run->files, [&](const auto& each) { return each.filename().string() != run->record; });
  if (run->files.empty())
    co_return reply(x, which,
                    answer_error(http_status::not_found, "unknown_record",
                                 run->record.empty() ? "no traffic is recorded here"
                                                     : "no record is called " + quote_name(run->record),
                                 id));
  auto only = all_->of_traces.try_enter(name_of(which), 1);
  if (!only) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    co_return reply(x, which,
                    answer_error(http_status::too_many_requests, "comparison_busy",
                                 "another comparison on recorded traffic is under way; try again later", id));
  }
  // The place is given back by the thread, which may take a little longer than a client that goes away.
  auto place = std::make_shared<in_flight_shares::pass>(std::move(*only));
  struct give_up {
    std::shared_ptr<traffic_run> run;
    ~give_up() { run->is_given_up.store(true, braid::relaxed); }
  };
  const give_up at_the_end{run};
  auto work = [run, place = std::move(place), all = all_]() mutable {
    run->run_to_end(all->stopping);
    place.reset();
  };
  if (!braid::post(on_->blocking(), std::move(work))) run->refuse();
  metrics_.count_answer(which, http_status::ok);
  x.begin(http_status::ok, lines_type);
  for (auto pause = first_pause; !run->has_ended(); pause = std::min(2 * pause, max_pause)) {
    co_await braid::sleep_for(pause);
    if (pause < max_pause) continue;
    const std::string line = run->progress();
    auto writing = x.write(line);
    const braid::result<void> sent = co_await std::move(writing);
    if (!sent) co_return;
  }
  const std::string text = run->last_line(id);
  auto writing = x.write(text);
  static_cast<void>(co_await std::move(writing));
}

}  // namespace rankd::detail
