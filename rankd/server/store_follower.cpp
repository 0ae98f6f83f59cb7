// rankd/server/store_follower.cpp: polls for new generations of stores, and logs whether the switch to a new generation
// succeeds.
#include <rankd/server/store_follower.hpp>

#include <rankd/engine/engine.hpp>

#include <new>
#include <utility>

namespace rankd {
namespace {

constexpr auto pause_after_failure = std::chrono::seconds(1);

}  // namespace

store_follower::store_follower(std::vector<target> targets, serve_log log)
    : targets_(std::move(targets)), log_(log), complaints_(targets_.size()) {
  for (const target& each : targets_) counts_.push_back({.endpoint_id = each.endpoint_id, .state = {}});
}

store_follower::~store_follower() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.reset();  // joins it
}

auto store_follower::start(braid::duration between) -> braid::checked<void> {
  if (targets_.empty()) return {};
  auto made = braid::thread::create({.name = "follow", .on_refused = braid::refusal::ignore},
                                    [this, between] { run(between); });
  if (!made) return std::unexpected(no_runtime(made.error()));
  thread_.emplace(std::move(*made));
  return {};
}

auto store_follower::look() -> bool {
  const std::scoped_lock alone(looking_);
  bool is_fine = true;
  for (std::size_t at = 0; at < targets_.size(); ++at) is_fine = look_at(at) && is_fine;
  return is_fine;
}

auto store_follower::look_at(std::size_t index) -> bool {
  const target& of = targets_[index];
  const auto changed = of.follows->refresh();
  if (!changed) {
    const braid::diagnostic& why = changed.error().front();
    {
      const std::scoped_lock lock(mutex_);
      ++counts_[index].refused;
    }
    std::string complaint = why.code + why.message;
    if (std::exchange(complaints_[index], complaint) != complaint)
      log_.note(log_level::error, "store_refused",
                {{"endpoint", of.endpoint_id}, {"code", why.code}, {"message", why.message}, {"source", why.source}});
    return false;
  }
  complaints_[index].clear();
  if (!*changed) return true;
  {
    const std::scoped_lock lock(mutex_);
    ++counts_[index].changes;
  }
  const auto number = [](std::uint64_t of_it) { return static_cast<std::int64_t>(of_it); };
  log_.note(log_level::info, "store_changed",
            {{"endpoint", of.endpoint_id},
             {"generation", number((*changed)->after.generation)},
             {"before", number((*changed)->before.generation)},
             {"records", number((*changed)->after.records)}});
  return true;
}

auto store_follower::counts() const -> std::vector<follow_counts> {
  std::vector<follow_counts> out;
  {
    const std::scoped_lock lock(mutex_);
    out = counts_;
  }
  for (std::size_t at = 0; at < out.size(); ++at) out[at].state = targets_[at].follows->state();
  return out;
}

void store_follower::run(braid::duration between) {
  for (;;) {
    bool is_fine = false;
    try {
      is_fine = look();
    } catch (const std::bad_alloc&) {
      // After a failure, the thread tries again after the next pause.
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, is_fine ? between : braid::duration(pause_after_failure), [this] { return ending_; }))
      return;
  }
}

}  // namespace rankd
