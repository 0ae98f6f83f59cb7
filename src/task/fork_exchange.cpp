// src/task/fork_exchange.cpp: implements the slow paths of fork and join: answering thieves, stealing, and waiting for
// stolen forks.
#include <braid/task/detail/fork_exchange.hpp>

#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/task/detail/fork_patience.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>

namespace braid::detail {

void fork_exchange::answer(worker& self) noexcept {
  if (!self.forks.is_asked() || self.forks.share() == 0) return;
  self.forking.pace.was_asked();
  barrier_.light();
  asleep_.wake_for({.how = placement::verdict::urgent});
}

void fork_exchange::share(worker& self) noexcept {
  if (self.forks.private_size() == 0) return;
  if (self.forks.shared_size() == 0) self.forks.ask();
  answer(self);
}

auto fork_exchange::steal(worker& self) noexcept -> fork_record* {
  if (fork_record* const shared = steal_shared(self); shared != nullptr) return shared;
  if (self.absent != 0)
    if (fork_record* const left = steal_own(self); left != nullptr) return left;
  if (!somebody_holds_back(self)) return nullptr;
  for (int i = 0; i < pauses_for_an_answer; ++i) cpu_pause();
  if (fork_record* const shared = steal_shared(self); shared != nullptr) return shared;
  for (const std::size_t index : self.victims)
    if (fork_record* const oldest = workers_[index]->forks.take(); oldest != nullptr) return oldest;
  return nullptr;
}

auto fork_exchange::steal_shared(worker& self) noexcept -> fork_record* {
  for (const std::size_t index : self.victims)
    if (fork_record* const oldest = workers_[index]->forks.steal(); oldest != nullptr) return oldest;
  return nullptr;
}

/// Steals the oldest fork from this worker's own deque. The fork belongs to a waiting job, whose thread has released
/// the worker context. That job may be waiting for this fork.
auto fork_exchange::steal_own(worker& self) noexcept -> fork_record* {
  share(self);
  return self.forks.steal();
}

auto fork_exchange::somebody_holds_back(const worker& self) const noexcept -> bool {
  for (const std::size_t index : self.victims)
    if (workers_[index]->forks.is_held_back()) return true;
  return false;
}

void fork_exchange::run_stolen(worker& self, fork_record& stolen) noexcept {
  const std::uint32_t position = self.forks.position();
  stolen.thief.store(&self, relaxed);
  count_one(self.counters.forks_stolen);
  const trace_slice slice(trace_group::jobs, "stolen fork");
  stolen.run(stolen);
  run_forks_since(self, position);
}

auto fork_exchange::help(worker& self) noexcept -> bool {
  if (self.forking.helps >= max_helps_elsewhere) return false;
  fork_record* const stolen = steal(self);
  if (stolen == nullptr) return false;
  ++self.forking.helps;
  run_stolen(self, *stolen);
  --self.forking.helps;
  return true;
}

auto fork_exchange::help_with_jobs(worker& self) noexcept -> bool {
  if (self.forking.helps >= max_helps_elsewhere) return false;
  ++self.forking.helps;
  const bool helped = self.pool->run_one();
  --self.forking.helps;
  return helped;
}

/// Steals a fork from the thief that took `stolen`, the child that this worker waits for. Forks that the thief has
/// added since it took the child are part of the child, so running such a fork needs no more stack than running the
/// child itself.
auto fork_exchange::steal_back(worker& self, const fork_record& stolen) noexcept -> fork_record* {
  worker* const thief = stolen.thief.load(relaxed);
  if (thief == nullptr || self.forking.helps >= max_helps) return nullptr;
  if (fork_record* const shared = thief->forks.steal(); shared != nullptr) return shared;
  if (thief == &self || self.forking.helps < max_helps_elsewhere) return nullptr;  // `steal` takes it after a pause
  return thief->forks.take();
}

void fork_exchange::wait_for(worker& self, fork_record& stolen) noexcept {
  fork_patience some(looks_);
  while (!stolen.ended.is_set()) {
    if (fork_record* const part = steal_back(self, stolen); part != nullptr) {
      ++self.forking.helps;
      run_stolen(self, *part);
      --self.forking.helps;
      some.restart();
    } else if (help(self)) {
      some.restart();
    } else {
      if (self.absent != 0)
        self.spares->yield_context(self);  // the stolen fork may wait for a job that needs the worker context
      some.wait(stolen.ended);
    }
  }
}

auto fork_exchange::empty() const noexcept -> bool {
  for (const auto& each : workers_)
    if (each->forks.shared_size() != 0 || each->forks.is_held_back()) return false;
  return true;
}

void fork_exchange::ask_all() noexcept {
  for (const auto& each : workers_) each->forks.ask();
}

void run_forks_since(worker& self, std::uint32_t position) noexcept {
  while (static_cast<std::int32_t>(self.forks.position() - position) > 0) {
    fork_record* const newest = self.forks.pop();
    if (newest == nullptr) return;
    if (self.forks.wanted()) [[unlikely]]
      self.exchange->answer(self);
    newest->run(*newest);
  }
}

void run_left_forks(worker& self, std::uint32_t position) noexcept {
  run_forks_since(self, position);
  // A waiting job further down on this stack may have left some forks.
  self.forking.leaves_forks = !fork_exchange::has_none(self);
}

auto take_back_slowly(worker& self, fork_record& child, fork_record* newest) noexcept -> bool {
  for (; newest != nullptr; newest = self.forks.pop()) {
    if (newest == &child) return true;
    newest->run(*newest);
  }
  self.exchange->wait_for(self, child);
  return false;
}

}  // namespace braid::detail
