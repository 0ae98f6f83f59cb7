// rankd/engine/batch/batch_runner.cpp: distributes the lines of a batch to threads, and returns the answers in the
// order of the lines.
#include <rankd/engine/batch/batch_runner.hpp>

#include <rankd/engine/requests/request.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/thread/cgroup.hpp>
#include <braid/thread/this_thread.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace rankd {

/// The loop, worker and engine of one thread. The last tasks of the runtime use the engine, so the engine is destroyed
/// last.
struct batch_runner::worker_loop {
  std::optional<engine> ranker;
  std::unique_ptr<braid::runtime> on;
  const registries* declared = nullptr;
};

struct batch_runner::piece {
  std::vector<batch_line> lines;
  batch_answers answers;
  bool done = false;
};

auto batch_runner::create(const registries& declared, const std::vector<store*>& stores, batch_options options)
    -> braid::checked<std::unique_ptr<batch_runner>> {
  if (options.workers == 0) options.workers = braid::default_worker_count().workers;
  const unsigned workers = options.workers;
  std::unique_ptr<batch_runner> runner(new batch_runner(std::move(options)));
  for (unsigned index = 0; index < workers; ++index) {
    auto on = braid::runtime::create({.workers = 1, .name = "batch" + std::to_string(index)});
    if (!on) return std::unexpected(no_runtime(on.error()));
    auto& added = *runner->loops_.emplace_back(std::make_unique<worker_loop>());
    added.on = std::move(*on);
    added.ranker.emplace(*added.on, declared, stores, runner->options_.engine);
    added.declared = &declared;
  }
  for (unsigned index = 0; index < workers; ++index) {
    auto started = braid::thread::create(
        {.name = braid::detail::indexed_thread_name("batch", index), .on_refused = braid::refusal::ignore},
        [self = runner.get(), index] { self->serve(*self->loops_[index]); });
    if (!started) return std::unexpected(no_runtime(started.error()));
    runner->threads_.push_back(std::move(*started));
  }
  return runner;
}

batch_runner::batch_runner(batch_options options) : options_(std::move(options)) {}

batch_runner::~batch_runner() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (!pieces_.empty())  // some may be waiting for a store
    for (const auto& each : loops_) static_cast<void>(each->on->shutdown(braid::shutdown_mode::stop_now));
  threads_.clear();  // joins them
}

auto batch_runner::wants_more() const noexcept -> bool {
  constexpr std::size_t pieces_of_each = 4;  // pieces take different times; the slowest must not starve the others
  return pieces_.size() < pieces_of_each * loops_.size();
}

void batch_runner::submit(std::vector<batch_line> lines) {
  BRAID_EXPECTS(lines.size() <= max_lines, "a piece of a batch has at most max_lines lines");
  auto added = std::make_unique<piece>();
  added->lines = std::move(lines);
  {
    const std::scoped_lock lock(mutex_);
    pieces_.push_back(std::move(added));
  }
  changed_.notify_all();
}

auto batch_runner::wait_for(braid::duration limit) -> bool {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return pieces_.empty() || pieces_.front()->done; });
}

auto batch_runner::next() -> std::optional<batch_answers> {
  std::unique_lock lock(mutex_);
  if (pieces_.empty()) return std::nullopt;
  changed_.wait(lock, [this] { return pieces_.front()->done; });
  batch_answers answers = std::move(pieces_.front()->answers);
  pieces_.pop_front();
  --begun_;
  return answers;
}

/// Returns the oldest piece of the batch that no thread has started. Returns null if there is none.
auto batch_runner::take() -> piece* {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || begun_ < pieces_.size(); });
  return ending_ ? nullptr : pieces_[begun_++].get();
}

void batch_runner::serve(worker_loop& on) {
  while (piece* work = take()) {
    try {
      on.on->run(answer_all(*this, on, *work));
    } catch (const std::system_error&) {  // the destructor has stopped the loop, or the answers are lost
      const std::scoped_lock lock(mutex_);
      if (ending_) return;
      throw;
    }
    {
      const std::scoped_lock lock(mutex_);
      work->done = true;
    }
    changed_.notify_all();
  }
}

auto batch_runner::answer_all(batch_runner& owner, worker_loop& on, piece& work) -> braid::task<void> {
  std::vector<std::string> texts(work.lines.size());
  const std::size_t most = owner.options_.in_flight == 0 ? max_lines : owner.options_.in_flight;
  std::size_t next = 0;
  auto start_all = [&](braid::scope& children) -> braid::task<void> {
    for (std::size_t lane = 0; lane < std::min(most, texts.size()); ++lane)
      children.spawn(answer_next(owner, on, work, texts, next));
    co_return;
  };
  braid::task<void> all = braid::with_scope(std::ref(start_all));
  co_await std::move(all);
  for (const std::string& text : texts) work.answers.text += text + "\n";
  work.answers.answered = texts.size();
}

/// Answers the lines that no other task has begun, one after the other.
auto batch_runner::answer_next(batch_runner& owner, worker_loop& on, piece& work, std::vector<std::string>& texts,
                               std::size_t& next) -> braid::task<void> {
  while (next < texts.size()) {
    const std::size_t at = next++;
    auto answering = answer_one(owner, on, work.lines[at], texts[at], work.answers.failed);
    co_await std::move(answering);
  }
}

auto batch_runner::answer_one(batch_runner& owner, worker_loop& on, const batch_line& line, std::string& out,
                              std::uint64_t& failed) -> braid::task<void> {
  const request_origin from{line.number};
  ++failed;  // until there is an answer
  if (line.unreadable) {
    out = to_json(braid::diagnostics(*line.unreadable), find_request_id({}, from));
    co_return;
  }
  auto request = parse_request(line.text, *on.declared, from);
  if (!request) {
    out = to_json(request.error(), find_request_id(line.text, from));
    co_return;
  }
  const auto name = plan_to_run(*request, owner.options_.given_plan);
  const auto plan = name ? owner.options_.find_plan(*name) : std::unexpected(name.error());
  if (!plan) {
    out = to_json(plan_diagnostics(*request, plan.error()), request->request_id);
    co_return;
  }
  if (const auto missing = fit_to_plan(*request, **plan, *on.declared); !missing.empty()) {
    out = to_json(missing, request->request_id);
    co_return;
  }
  auto ranking_of_line = on.ranker->rank(**plan, std::move(*request));
  const ranking answer = co_await std::move(ranking_of_line);
  out = to_json(answer);
  if (!answer.error) --failed;
}

}  // namespace rankd
