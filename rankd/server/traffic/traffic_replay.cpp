// rankd/server/traffic/traffic_replay.cpp: runs recorded requests again, and compares the answers.
#include <rankd/server/traffic/traffic_replay.hpp>

#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/store/replayed_reads.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/thread/cgroup.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/thread/thread.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace rankd {
namespace {

auto joined(const std::vector<std::string_view>& names) -> std::string {
  std::string out;
  for (const std::string_view each : names) out.append(out.empty() ? "" : ", ").append(each);
  return out;
}

auto are_all(const braid::diagnostics& problems, std::string_view code) -> bool {
  return std::ranges::all_of(problems, [code](const braid::diagnostic& each) { return each.code == code; });
}

/// Returns whether a diagnostic is about a file of vectors that cannot be used, or that has changed.
auto is_about_vectors(const braid::diagnostic& each) -> bool { return each.code.starts_with("vectors_"); }

}  // namespace

traffic_replay::~traffic_replay() = default;

auto traffic_replay::unused_plans() const -> std::vector<std::string> {
  return world_ == nullptr ? std::vector<std::string>() : world_->unused();
}

/// Restores the project and creates the engine. The key that signs the cursors of this engine need not be secret,
/// because signatures with this key are compared only with each other.
auto traffic_replay::begin(const recorded_project& project) -> braid::checked<void> {
  if (world_ != nullptr) return not_traffic("has two projects");
  auto made = recorded_world::make(project, settings_.vectors);
  if (!made) return std::unexpected(std::move(made.error()));
  for (const std::filesystem::path& each : settings_.plans)
    if (auto replaced = (*made)->replace_by(each); !replaced) return replaced;
  if (project.cursor_age.count() > 0)
    cursors_ = make_page_cursors({.key = "signatures of replays", .max_age = project.cursor_age});
  world_ = std::move(*made);
  engine_options how;
  how.cursors = cursors_;
  how.times = budget_times::ignored;
  const unsigned count = settings_.workers == 0 ? braid::default_worker_count().workers : settings_.workers;
  while (lanes_.size() < count) {
    auto on = braid::runtime::create({.workers = 1, .name = "replay" + std::to_string(lanes_.size())});
    if (!on) return std::unexpected(no_runtime(on.error()));
    lane& added = *lanes_.emplace_back(std::make_unique<lane>());
    added.on = std::move(*on);
    added.ranker.emplace(*added.on, world_->declared(), std::vector<store*>(world_->declared().endpoints().size()),
                         how);
  }
  return {};
}

/// Adds a plan. If the plan needs files that are not in the record, only this plan is left out.
auto traffic_replay::add(const recorded_plan& plan) -> braid::checked<void> {
  auto added = world_->add(plan);
  if (added) return added;
  const auto substitute = plan.substitute ? left_out_.find(*plan.substitute) : left_out_.end();
  left_out_plan out{.name = plan.name, .why = {}};
  if (are_all(added.error(), "no_vectors"))
    out.why = "the recording does not contain the vector files that plan `" + plan.name +
              "` searches (no_vectors); name the project that has the files with --vectors DIR";
  else if (std::ranges::all_of(added.error(), is_about_vectors))
    out.why = added.error().front().message + " (" + added.error().front().code + ")";
  else if (are_all(added.error(), "unknown_op"))
    out.why = "plan `" + plan.name + "`: " + added.error().front().message +
              " (unknown_op); name the library of the project's own operators with --operators FILE";
  else if (substitute != left_out_.end() && are_all(added.error(), "unknown_plan"))
    out.why = "plan `" + substitute->second.name + "`, the fallback plan, cannot be run: " + substitute->second.why;
  else
    return added;
  left_out_.insert_or_assign(plan.number, std::move(out));
  return {};
}

auto traffic_replay::take(const traffic_reader::frame& frame) -> braid::checked<std::optional<replayed_request>> {
  const auto request = read(frame);
  if (!request) return std::unexpected(request.error());
  if (!*request) return std::nullopt;
  return run(**request, *lanes_.front());
}

/// A frame with a plan may replace a plan that earlier requests use, so these requests run before the frame is
/// processed.
auto traffic_replay::take_all(std::span<const traffic_reader::frame> frames)
    -> braid::checked<std::vector<replayed_request>> {
  std::vector<replayed_request> out;
  std::vector<recorded_request> waiting;
  const auto run_waiting = [&] {
    out.resize(out.size() + waiting.size());
    run_all(waiting, std::span(out).last(waiting.size()));
    waiting.clear();
  };
  for (const traffic_reader::frame& frame : frames) {
    if (frame.kind == frame_kind::project || frame.kind == frame_kind::plan) run_waiting();
    auto request = read(frame);
    if (!request) return std::unexpected(std::move(request.error()));
    if (*request) waiting.push_back(std::move(**request));
  }
  run_waiting();
  return out;
}

/// The calling thread is one of the threads that run requests. The answer to a request does not depend on the thread
/// that runs the request.
void traffic_replay::run_all(std::span<const recorded_request> requests, std::span<replayed_request> results) {
  braid::atomic<std::size_t> next{0};
  const auto run_some = [&](lane& runner) {
    for (std::size_t at = next.fetch_add(1, braid::relaxed); at < requests.size();
         at = next.fetch_add(1, braid::relaxed))
      results[at] = run(requests[at], runner);
  };
  std::vector<braid::thread> helpers;
  for (std::size_t at = 1; at < std::min(lanes_.size(), requests.size()); ++at)
    if (auto helper = braid::thread::create(
            {.name = braid::detail::indexed_thread_name("replay", at), .on_refused = braid::refusal::ignore},
            [&run_some, on = lanes_[at].get()] { run_some(*on); }))
      helpers.push_back(std::move(*helper));
  if (!requests.empty()) run_some(*lanes_.front());
}

/// Returns a request that should be run. For other frames, stores their contents and returns nothing.
auto traffic_replay::read(const traffic_reader::frame& frame) -> braid::checked<std::optional<recorded_request>> {
  if (frame.kind == frame_kind::project) {
    const auto project = read_project(frame.content);
    if (!project) return not_traffic("has a project that cannot be read");
    if (auto begun = begin(*project); !begun) return std::unexpected(std::move(begun.error()));
    return std::nullopt;
  }
  if (frame.kind != frame_kind::plan && frame.kind != frame_kind::request) return std::nullopt;
  if (world_ == nullptr) return not_traffic("does not begin with a project");
  if (frame.kind == frame_kind::plan) {
    const auto plan = read_plan(frame.content);
    if (!plan) return not_traffic("has a plan that cannot be read");
    if (auto added = add(*plan); !added) return std::unexpected(std::move(added.error()));
    return std::nullopt;
  }
  auto request = read_request(frame.content);
  if (!request) return not_traffic("has a request that cannot be read");
  if (request->number == std::numeric_limits<std::uint64_t>::max())
    return not_traffic("has a request with an invalid number");
  ++taken_;
  next_number_ = std::max(next_number_, request->number + 1);
  if (!settings_.request_id.empty() && settings_.request_id != request->request_id) return std::nullopt;
  return request;
}

auto traffic_replay::run(const recorded_request& recorded, lane& runner) const -> replayed_request {
  replayed_request out;
  out.number = recorded.number;
  out.request_id = recorded.request_id;
  const auto unusable = [&out](std::string reason) {
    out.why = std::move(reason);
    return out;
  };
  const auto plan = world_->find(recorded.plan);
  const auto left_out = left_out_.find(recorded.plan);
  if (plan == nullptr && left_out == left_out_.end())
    return unusable("the recording does not contain the plan of the request");
  out.plan = plan != nullptr ? plan->name : left_out->second.name;
  if (!recorded.redacted.empty()) {
    out.result = replay_result::redacted;
    out.why = "the recording does not contain " + joined(recorded.redacted) +
              " of the request, or the data that depends on it";
    return out;
  }
  if (recorded.is_timed) {
    out.result = replay_result::timed;
    out.why = "the request ran out of time when it was recorded (" + std::string(recorded.code) + ")";
    return out;
  }
  if (plan == nullptr) {
    out.result = replay_result::missing;
    out.why = left_out->second.why;
    return out;
  }
  auto request = parse_request(recorded.text, world_->declared(),
                               {.line = 0, .request_id = recorded.head_id, .time = recorded.time});
  if (!request) return unusable("the request cannot be read: " + request.error().front().message);
  out.recorded = signed_again(recorded.answer);
  out.result = replay_result::equal;
  out.replayed = answer(recorded, plan, std::move(*request), runner, out);
  if (out.result == replay_result::equal && out.replayed != out.recorded)
    out.result = out.why.empty() ? replay_result::different : replay_result::missing;
  return out;
}

/// Runs a request and returns the answer. If the record lacks a read, or if the recorded reads cannot be used at all,
/// stores this fact in `out`. Cursors of a replaced plan are signed for the plan that replaces it, because otherwise no
/// answer with a cursor could be equal.
auto traffic_replay::answer(const recorded_request& recorded, const std::shared_ptr<const bound_plan>& plan,
                            rank_request request, lane& runner, replayed_request& out) const -> std::string {
  const auto reads = replayed_reads::parse(std::string(recorded.reads), world_->declared());
  if (reads == nullptr) {
    out.result = replay_result::unusable;
    out.why = "the recorded reads of the request cannot be parsed";
    return {};
  }
  if (const auto unfit = fit_to_plan(request, *plan, world_->declared()); !unfit.empty())
    return to_json(unfit, request.request_id);
  request.deadline.reset();
  request.explain = explain_mode::off;
  std::optional<std::string> identity;
  if (world_->is_replaced(plan->name) && plan->page_node) {
    identity = ranking_identity(*plan, request, world_->declared());
    out.recorded = signed_again(recorded.answer, identity);
  }
  if (request.cursor && cursors_ != nullptr && recorded.code != "bad_cursor")
    if (auto again = cursors_->sign_again(*request.cursor, identity)) request.cursor = std::move(*again);
  auto work = runner.ranker->rank(plan, std::move(request), replayed_reads::list_stores(reads));
  const ranking result = runner.on->run(std::move(work));
  if (!reads->missing().empty()) out.why = "the recording does not contain " + reads->missing();
  return to_json(result);
}

/// Returns the answer, in which the cursor of the next page is signed with the key of the replay. If `identity` is
/// given, the cursor is signed for that ranking.
auto traffic_replay::signed_again(std::string_view answer, std::optional<std::string_view> identity) const
    -> std::string {
  constexpr std::string_view before = R"(,"next_cursor":")";
  std::string out(answer);
  const std::size_t at = answer.rfind(before);  // within a text its quotes would be escaped
  if (cursors_ == nullptr || at == std::string_view::npos) return out;
  const std::size_t begin = at + before.size();
  const std::size_t size = answer.find('"', begin) - begin;
  if (const auto again = cursors_->sign_again(answer.substr(begin, size), identity)) out.replace(begin, size, *again);
  return out;
}

}  // namespace rankd
