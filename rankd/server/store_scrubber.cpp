// rankd/server/store_scrubber.cpp: scrubs (re-reads and verifies) several stores in turn at a limited pace.
#include <rankd/server/store_scrubber.hpp>

#include <rankd/engine/engine.hpp>

#include <new>
#include <utility>

namespace rankd {

store_scrubber::store_scrubber(std::vector<target> targets, serve_log log) : targets_(std::move(targets)), log_(log) {
  for (const target& each : targets_) counts_.push_back({.endpoint_id = each.endpoint_id});
}

store_scrubber::~store_scrubber() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.reset();  // joins it
}

auto store_scrubber::start(scrub_pace pace) -> braid::checked<void> {
  auto made =
      braid::thread::create({.name = "scrub", .on_refused = braid::refusal::ignore}, [this, pace] { run(pace); });
  if (!made) return std::unexpected(no_runtime(made.error()));
  thread_.emplace(std::move(*made));
  return {};
}

auto store_scrubber::step() -> scrub_step {
  if (targets_.empty()) return {.ends_round = true};
  const std::size_t at = next_;
  store& read = *targets_[at].reads;
  const scrub_step done = read.scrub(step_bytes);
  // Continues with the next store if this store was read to its end, or if no byte could be read.
  if (done.ends_round || done.bytes == 0) next_ = (at + 1) % targets_.size();

  const std::string damage = read.damage();
  bool is_new = false;
  {
    const std::scoped_lock lock(mutex_);
    counts_[at].bytes += done.bytes;
    counts_[at].rounds += done.ends_round ? 1U : 0U;
    is_new = !std::exchange(counts_[at].is_damaged, !damage.empty()) && !damage.empty();
  }
  if (is_new)
    log_.note(log_level::error, "store_corrupt", {{"endpoint", targets_[at].endpoint_id}, {"message", damage}});
  return {.bytes = done.bytes, .ends_round = next_ == 0 && (done.ends_round || done.bytes == 0)};
}

auto store_scrubber::counts() const -> std::vector<scrub_counts> {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void store_scrubber::run(scrub_pace pace) {
  for (;;) {
    scrub_step done{.bytes = step_bytes};
    try {
      done = step();
    } catch (const std::bad_alloc&) {
      // These bytes are skipped now, and are read in the next round.
    }
    const std::chrono::duration<double> reading(static_cast<double>(done.bytes) /
                                                static_cast<double>(pace.bytes_per_second));
    braid::duration pause = std::chrono::duration_cast<braid::duration>(reading);
    if (done.ends_round) pause += pace.between_rounds;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, pause, [this] { return ending_; })) return;
  }
}

}  // namespace rankd
