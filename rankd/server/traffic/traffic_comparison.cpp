// rankd/server/traffic/traffic_comparison.cpp: runs recorded requests with two plans, and compares the answers.
#include <rankd/server/traffic/traffic_comparison.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/traffic/traffic_images.hpp>
#include <rankd/store/replayed_reads.hpp>

#include <braid/runtime/runtime.hpp>
#include <braid/thread/cgroup.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <tuple>
#include <utility>

namespace rankd {
namespace {

constexpr std::size_t requests_of_runner = 128;                    // requests that wait together
constexpr std::size_t max_waiting_bytes = std::size_t{64} << 20U;  // in these requests
constexpr auto age_of_cursors = std::chrono::hours(24 * 3650);     // the record says which cursors were too old

/// Returns the plan and its fallback plan without time limits, because a comparison may take any time.
auto without_limits(const bound_plan& plan) -> std::shared_ptr<const bound_plan> {
  bound_plan copy = plan;
  copy.budget = {.rows = plan.budget.rows, .bytes = plan.budget.bytes};
  for (bound_node& each : copy.nodes) each.timeout = braid::duration::max();
  if (copy.substitute != nullptr) copy.substitute = without_limits(*copy.substitute);
  return std::make_shared<const bound_plan>(std::move(copy));
}

auto failed_for(const braid::diagnostics& problems) -> ranking {
  ranking out;
  out.error = rank_error{problems.front().code, problems.front().message, problems.front().node, {}};
  return out;
}

auto make_summary(const ranking& answer) -> compared_answer {
  return {.code = answer_code(answer), .candidates = answer_size(answer)};
}

/// Returns whether reads that were recorded in one project are valid in another project. Recorded reads refer to
/// endpoints by index, so both projects must have the same endpoints.
auto have_same_endpoints(const registries& recorded, const registries& ours) -> bool {
  return recorded.id_type() == ours.id_type() &&
         std::ranges::equal(recorded.endpoints(), ours.endpoints(), [](const auto& one, const auto& other) {
           return one.endpoint_id == other.endpoint_id &&
                  (one.kind == endpoint_entry::kind_type::http) == (other.kind == endpoint_entry::kind_type::http);
         });
}

}  // namespace

/// A thread that runs plans, and the engine that it uses. The runtime is destroyed first, because its last tasks use
/// the engine.
struct traffic_comparison::runner {
  std::optional<engine> ranker;
  std::unique_ptr<braid::runtime> on;
};

/// A recorded request that is to be run.
struct traffic_comparison::question {
  std::uint64_t place = 0;
  std::uint64_t number = 0;
  std::string record;
  std::chrono::milliseconds time{0};
  std::string head_id;
  std::string request_id;
  std::string code;
  std::string text;
  std::string reads;
};

/// The result of running a recorded request.
struct traffic_comparison::outcome {
  std::string unusable;
  std::string missing;
  std::uint64_t live_batches = 0;
  answer_verdict verdict;
  compared_answer before;
  compared_answer after;
};

struct traffic_comparison::kept {
  changed_request what;
  question asked;
};

auto traffic_differences::compared() const noexcept -> std::uint64_t {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : by_change) sum += each;
  return sum;
}

traffic_comparison::traffic_comparison(settings settings)
    : settings_(std::move(settings)),
      cursors_(make_page_cursors({.key = "signatures of comparisons", .max_age = age_of_cursors})),
      explainer_(*settings_.before, *settings_.after, *settings_.declared) {
  settings_.before = without_limits(*settings_.before);
  settings_.after = without_limits(*settings_.after);
}

traffic_comparison::~traffic_comparison() = default;

auto traffic_comparison::make(settings settings) -> braid::checked<std::unique_ptr<traffic_comparison>> {
  std::unique_ptr<traffic_comparison> made(new traffic_comparison(std::move(settings)));
  const unsigned count = made->settings_.workers == 0 ? braid::default_worker_count().workers : made->settings_.workers;
  const std::vector<store*> none(made->settings_.declared->endpoints().size());
  for (unsigned index = 0; index < count; ++index) {
    auto on = braid::runtime::create({.workers = 1, .name = "diff" + std::to_string(index)});
    if (!on) return std::unexpected(no_runtime(on.error()));
    runner& added = *made->runners_.emplace_back(std::make_unique<runner>());
    added.on = std::move(*on);
    engine_options options;
    options.cursors = made->cursors_;
    added.ranker.emplace(*added.on, *made->settings_.declared, none, options);
  }
  return made;
}

auto traffic_comparison::lost_here() const noexcept -> std::uint64_t {
  return next_number_ - std::min(taken_, next_number_);
}

void traffic_comparison::begin(std::string record) {
  lost_ += lost_here();
  record_ = std::move(record);
  has_project_ = false;
  names_.clear();
  next_number_ = 0;
  taken_ = 0;
}

auto traffic_comparison::begin_project(std::string_view content) -> braid::checked<void> {
  const auto project = read_project(content);
  if (!project) return not_traffic("has a project that cannot be read");
  if (has_project_) return not_traffic("has two projects");
  const auto world = recorded_world::make(*project);
  if (!world) return std::unexpected(world.error());
  if (!have_same_endpoints((*world)->declared(), *settings_.declared))
    return refused("other_endpoints",
                   "was recorded in a project whose endpoints or ids differ from those of this project",
                   "compare the plans in the project that recorded the traffic, or record it again");
  has_project_ = true;
  return {};
}

auto traffic_comparison::take(const traffic_reader::frame& frame) -> braid::checked<void> {
  if (frame.kind == frame_kind::project) return begin_project(frame.content);
  if (frame.kind != frame_kind::plan && frame.kind != frame_kind::request) return {};
  if (!has_project_) return not_traffic("does not begin with a project");
  if (frame.kind == frame_kind::request) return take_request(frame.content);
  const auto plan = read_plan(frame.content);
  if (!plan) return not_traffic("has a plan that cannot be read");
  names_[plan->number] = plan->name;
  return {};
}

auto traffic_comparison::take_request(std::string_view content) -> braid::checked<void> {
  const auto request = read_request(content);
  if (!request) return not_traffic("has a request that cannot be read");
  if (request->number == std::numeric_limits<std::uint64_t>::max())
    return not_traffic("has a request with an invalid number");
  ++taken_;
  next_number_ = std::max(next_number_, request->number + 1);
  const auto name = names_.find(request->plan);
  if (name == names_.end()) return not_traffic("has a request that precedes its plan");
  ++plans_[name->second];
  if (name->second != settings_.recorded_plan) {
    ++found_.others;
    return {};
  }
  ++found_.requests;
  if (!request->redacted.empty()) {
    ++found_.redacted;
    return {};
  }
  waiting_.push_back({.place = next_place_++,
                      .number = request->number,
                      .record = record_,
                      .time = request->time,
                      .head_id = std::string(request->head_id),
                      .request_id = std::string(request->request_id),
                      .code = std::string(request->code),
                      .text = std::string(request->text),
                      .reads = std::string(request->reads)});
  waiting_bytes_ += request->text.size() + request->reads.size();
  if (waiting_.size() >= requests_of_runner * runners_.size() || waiting_bytes_ >= max_waiting_bytes) run_waiting();
  return {};
}

/// Starts to run the waiting requests. The next requests are read in the meantime.
void traffic_comparison::run_waiting() {
  collect();
  running_ = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  outcomes_.assign(running_.size(), {});
  begun_.store(0, braid::relaxed);
  for (const auto& each : runners_) ends_.push_back(braid::spawn(*each->on, compare_all(*each)));
}

void traffic_comparison::collect() {
  for (auto& each : ends_) each.get();
  ends_.clear();
  for (std::size_t at = 0; at < running_.size(); ++at) add(running_[at], outcomes_[at]);
  running_.clear();
}

void traffic_comparison::add(question& question, outcome& result) {
  found_.live_batches += result.live_batches;
  if (!result.unusable.empty()) {
    ++found_.unusable;
    return;
  }
  if (!result.missing.empty()) {
    if (found_.not_recorded++ == 0) found_.first_not_recorded = std::move(result.missing);
    return;
  }
  ++found_.by_change[static_cast<std::size_t>(result.verdict.change)];
  if (result.before.code == "ok" && result.after.code == "ok") {
    ++found_.answered;
    found_.overlap += result.verdict.overlap;
    found_.rbo += result.verdict.rbo;
  }
  if (result.verdict.change == answer_change::equal || settings_.max_changed == 0) return;
  const auto key = [](const kept& each) {
    return std::tuple(each.what.verdict.rbo, each.what.verdict.overlap, each.what.place);
  };
  kept one{.what = {.place = question.place,
                    .number = question.number,
                    .record = question.record,
                    .request_id = question.request_id,
                    .verdict = result.verdict,
                    .before = std::move(result.before),
                    .after = std::move(result.after)},
           .asked = {}};
  if (kept_.size() == settings_.max_changed && key(kept_.back()) < key(one)) return;
  one.asked = std::move(question);
  kept_.insert(std::ranges::upper_bound(kept_, key(one), {}, key), std::move(one));
  if (kept_.size() > settings_.max_changed) kept_.pop_back();
}

auto traffic_comparison::finish() -> traffic_differences {
  run_waiting();
  collect();
  explain_all();
  for (kept& each : kept_) found_.changed.push_back(std::move(each.what));
  return std::move(found_);
}

void traffic_comparison::explain_all() {
  runner& on = *runners_.front();
  for (kept& each : kept_) on.on->run(explain(on, each));
}

auto traffic_comparison::compare_all(runner& runner) -> braid::task<void> {
  for (;;) {
    const std::size_t at = begun_.fetch_add(1, braid::relaxed);
    if (at >= running_.size()) co_return;
    auto one = compare(runner, running_[at], outcomes_[at]);
    co_await std::move(one);
  }
}

auto traffic_comparison::compare(runner& runner, const question& question, outcome& out) -> braid::task<void> {
  auto request = parse_request(question.text, *settings_.declared,
                               {.line = 0, .request_id = question.head_id, .time = question.time});
  if (!request) {
    out.unusable = request.error().front().message;
    co_return;
  }
  request->captures.clear();  // they name nodes of the plan that was served
  auto first = answer(runner, settings_.before, *request, question, out);
  const ranking before = co_await std::move(first);
  auto second = answer(runner, settings_.after, std::move(*request), question, out);
  const ranking after = co_await std::move(second);
  out.verdict = compare_answers(before, after, settings_.depth);
  out.before = make_summary(before);
  out.after = make_summary(after);
}

/// Runs a request with one plan. Each plan replays the recorded reads from the beginning, because a repeated read may
/// have had different answers.
auto traffic_comparison::answer(runner& runner, std::shared_ptr<const bound_plan> plan, rank_request request,
                                const question& question, outcome& out) -> braid::task<ranking> {
  const auto reads = replayed_reads::parse(question.reads, *settings_.declared, settings_.live);
  if (reads == nullptr) {
    out.unusable = "its recorded reads cannot be parsed";
    co_return ranking();
  }
  if (const auto unfit = fit_to_plan(request, *plan, *settings_.declared); !unfit.empty()) co_return failed_for(unfit);
  request.deadline.reset();
  if (request.cursor && question.code != "bad_cursor" && plan->page_node) {
    const std::string identity = ranking_identity(*plan, request, *settings_.declared);
    if (auto again = cursors_->sign_again(*request.cursor, identity)) request.cursor = std::move(*again);
  }
  auto work = runner.ranker->rank(std::move(plan), std::move(request), replayed_reads::list_stores(reads));
  ranking result = co_await std::move(work);
  if (out.missing.empty()) out.missing = reads->missing();
  out.live_batches += reads->live_batches();
  co_return result;
}

/// Runs a request again with both plans, and explains the ids that moved. The output keys of the request are not
/// changed, because with other keys, the plans would read values that are not in the record.
auto traffic_comparison::explain(runner& runner, kept& changed) -> braid::task<void> {
  auto request = parse_request(changed.asked.text, *settings_.declared,
                               {.line = 0, .request_id = changed.asked.head_id, .time = changed.asked.time});
  if (!request) co_return;
  outcome ignored;
  request->explain = explain_mode::off;
  request->explain_ids.clear();
  request->captures.clear();
  auto first = answer(runner, settings_.before, *request, changed.asked, ignored);
  const ranking was = co_await std::move(first);
  auto second = answer(runner, settings_.after, *request, changed.asked, ignored);
  const ranking is = co_await std::move(second);
  changed.what.moves = moves_between(was, is, changed.what.moved);
  request->explain = explain_mode::on;
  for (const moved_id& each : changed.what.moves) request->explain_ids.push_back(each.id);
  auto third = answer(runner, settings_.before, *request, changed.asked, ignored);
  const ranking before = co_await std::move(third);
  auto fourth = answer(runner, settings_.after, *request, changed.asked, ignored);
  const ranking after = co_await std::move(fourth);
  explainer_.explain(changed.what.moves, before, after);
}

}  // namespace rankd
