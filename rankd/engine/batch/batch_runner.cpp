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
  // Only tasks of the loop use the members below.
  piece* current = nullptr;          // the piece that was begun last
  braid::scope* children = nullptr;  // of the lanes
  std::size_t lanes = 0;             // tasks that each answer one line after the other
};

struct batch_runner::piece {
  std::vector<batch_line> lines;
  std::vector<std::string> texts;  // the answer to each line
  std::size_t begun = 0;           // lines that a lane has begun
  std::size_t answered = 0;
  std::size_t bytes = 0;  // of the lines; once they are answered, of the answers
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
  submitted_.notify_all();
  if (!pieces_.empty())  // some may be waiting for a store
    for (const auto& each : loops_) static_cast<void>(each->on->shutdown(braid::shutdown_mode::stop_now));
  threads_.clear();  // joins them
}

auto batch_runner::wants_more() const -> bool {
  // Pieces take different times, and the thread that reads lines also writes and syncs the answers. So the queue holds
  // many pieces if they are small: each loop then finds work while the reading thread waits for the disk or for a CPU.
  // If the queued pieces are large, only a few of them are queued.
  constexpr std::size_t min_pieces = 4;
  constexpr std::size_t max_pieces = 256;
  constexpr std::size_t max_bytes = std::size_t{4} << 20U;
  const std::scoped_lock lock(mutex_);
  return pieces_.size() < (bytes_ < max_bytes * loops_.size() ? max_pieces : min_pieces) * loops_.size();
}

void batch_runner::submit(std::vector<batch_line> lines) {
  BRAID_EXPECTS(!lines.empty() && lines.size() <= max_lines, "a part of a batch must have 1 to max_lines lines");
  auto added = std::make_unique<piece>();
  added->lines = std::move(lines);
  added->texts.resize(added->lines.size());
  for (const batch_line& each : added->lines) added->bytes += each.text.size();
  {
    const std::scoped_lock lock(mutex_);
    bytes_ += added->bytes;
    pieces_.push_back(std::move(added));
  }
  submitted_.notify_one();
}

auto batch_runner::wait_for(braid::duration limit) -> bool {
  std::unique_lock lock(mutex_);
  return answered_.wait_for(lock, limit, [this] { return pieces_.empty() || pieces_.front()->done; });
}

auto batch_runner::next() -> std::optional<batch_answers> {
  std::unique_lock lock(mutex_);
  if (pieces_.empty()) return std::nullopt;
  answered_.wait(lock, [this] { return pieces_.front()->done; });
  batch_answers answers = std::move(pieces_.front()->answers);
  bytes_ -= pieces_.front()->bytes;
  pieces_.pop_front();
  --begun_;
  return answers;
}

/// Returns the oldest piece of the batch that no thread has started. Returns null if there is none. The caller must
/// hold the lock.
auto batch_runner::take() -> piece* { return !ending_ && begun_ < pieces_.size() ? pieces_[begun_++].get() : nullptr; }

void batch_runner::serve(worker_loop& worker) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      submitted_.wait(lock, [this] { return ending_ || begun_ < pieces_.size(); });
      worker.current = take();
    }
    if (worker.current == nullptr) return;
    try {
      worker.on->run(answer_pieces(*this, worker));
    } catch (const std::system_error&) {  // the destructor has stopped the loop, or the answers are lost
      const std::scoped_lock lock(mutex_);
      if (ending_) return;
      throw;
    }
  }
}

/// Answers one piece after another, until threads have begun every piece of the batch.
auto batch_runner::answer_pieces(batch_runner& owner, worker_loop& worker) -> braid::task<void> {
  auto start = [&](braid::scope& children) -> braid::task<void> {
    worker.children = &children;
    owner.start_lanes(worker);
    co_return;
  };
  co_await braid::with_scope(std::ref(start));
}

/// Starts lanes for the lines of the current piece, up to the allowed number of lanes.
void batch_runner::start_lanes(worker_loop& worker) {
  const std::size_t most = options_.in_flight == 0 ? max_lines : std::min(options_.in_flight, max_lines);
  while (worker.current != nullptr && worker.lanes < most) {  // a lane begins a line at once, perhaps the last one
    ++worker.lanes;
    worker.children->spawn(answer_lines(*this, worker));
  }
}

/// Returns the piece that contains the next line to answer. Begins the next piece if necessary. Returns null if no line
/// is left.
auto batch_runner::find_line(worker_loop& worker) -> piece* {
  while (worker.current == nullptr) {
    {
      const std::scoped_lock lock(mutex_);
      worker.current = take();
    }
    if (worker.current == nullptr) return nullptr;
    start_lanes(worker);  // some lanes may have ended when there was no piece
  }
  return worker.current;
}

/// Runs a lane, which answers one line after the other. The lane skips lines that other lanes have begun.
auto batch_runner::answer_lines(batch_runner& owner, worker_loop& worker) -> braid::task<void> {
  while (piece* const work = owner.find_line(worker)) {
    const std::size_t at = work->begun++;
    // Once all lines are answered, another thread may destroy the piece.
    if (work->begun == work->lines.size()) worker.current = nullptr;
    co_await answer_one(owner, worker, work->lines[at], work->texts[at], work->answers.failed);
    if (++work->answered == work->lines.size()) owner.finish(*work);
  }
  --worker.lanes;
}

/// Makes the answers of a piece available to the thread that writes them.
void batch_runner::finish(piece& work) {
  std::size_t bytes = 0;
  for (const std::string& text : work.texts) bytes += text.size() + 1;
  work.answers.text.reserve(bytes);
  for (const std::string& text : work.texts) (work.answers.text += text) += '\n';
  work.answers.answered = work.lines.size();
  bool is_next = false;
  {
    const std::scoped_lock lock(mutex_);
    bytes_ += bytes - work.bytes;
    work.bytes = bytes;
    work.done = true;
    is_next = pieces_.front().get() == &work;
  }
  if (is_next) answered_.notify_one();
}

auto batch_runner::answer_one(batch_runner& owner, worker_loop& worker, const batch_line& line, std::string& out,
                              std::uint64_t& failed) -> braid::task<void> {
  const request_origin from{line.number};
  ++failed;  // until there is an answer
  if (line.unreadable) {
    out = to_json(braid::diagnostics(*line.unreadable), find_request_id({}, from));
    co_return;
  }
  auto request = parse_request(line.text, *worker.declared, from);
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
  if (const auto missing = fit_to_plan(*request, **plan, *worker.declared); !missing.empty()) {
    out = to_json(missing, request->request_id);
    co_return;
  }
  auto ranking_of_line = worker.ranker->rank(**plan, std::move(*request));
  const ranking answer = co_await std::move(ranking_of_line);
  out = to_json(answer);
  if (!answer.error) --failed;
}

}  // namespace rankd
