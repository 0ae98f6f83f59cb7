// src/thread/registry.cpp: implements thread registries, their observers, and the default registry of the process.
#include <braid/thread/registry.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/thread/this_thread.hpp>

#include "../platform/system.hpp"
#include "registry_state.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>

namespace braid {

namespace detail {
namespace {

constinit atomic<std::uint64_t> last_generation{0};  // the number of registrations of the process
thread_local constinit unsigned hooks_running = 0;   // the number of nested hooks on this thread

constinit atomic<std::uint64_t> forks{0};  // forks since the first process; written in the child of a fork

void count_fork() noexcept { forks.store(forks.load(relaxed) + 1, relaxed); }

[[maybe_unused]] const int registry_fork_handler = call_at_fork(nullptr, nullptr, &count_fork);

/// Prints the exception of a hook. Must be called in an exception handler.
void report_hook_exception() noexcept {
  try {
    throw;
  } catch (const std::exception& known) {
    std::fprintf(stderr, "braid: a hook of a thread registry threw: %s\n", known.what());
  } catch (...) {
    std::fputs("braid: a hook of a thread registry threw something that is not a std::exception\n", stderr);
  }
}

}  // namespace

void observer::call(std::function<void(const thread_entry&)> registry_observer::hooks::* hook,
                    const thread_entry& entry) noexcept {
  if (!(hooks.*hook)) return;
  {
    const std::lock_guard lock(mutex);
    if (ended) return;
    ++inside;
  }
  ++hooks_running;
  try {
    (hooks.*hook)(entry);
  } catch (...) {
    report_hook_exception();
  }
  --hooks_running;
  const std::lock_guard lock(mutex);
  if (--inside == 0) left.notify_all();
}

void observer::end() noexcept {
  std::unique_lock lock(mutex);
  ended = true;
  if (hooks_running == 0) left.wait(lock, [this] { return inside == 0; });
}

void registry_state::forget_parent() noexcept {
  const std::uint64_t now = detail::forks.load(relaxed);
  if (std::exchange(forks, now) == now) return;
  while (threads.pop_front() != nullptr) {}
  size = 0;
}

void registry_state::add(registered_thread_node& node) noexcept {
  std::shared_ptr<const observers> notified;
  {
    const std::lock_guard lock(mutex);
    forget_parent();
    node.entry.generation = last_generation.fetch_add(1, relaxed) + 1;
    threads.push_back(node);
    ++size;
    notified = watching;
  }
  if (!notified) return;
  for (const auto& each : *notified) each->call(&registry_observer::hooks::registered, node.entry);
}

void registry_state::remove(registered_thread_node& node) noexcept {
  std::shared_ptr<const observers> notified;
  {
    const std::lock_guard lock(mutex);
    forget_parent();
    if (!node.is_linked()) return;  // the node belongs to the parent process
    node.unlink();
    --size;
    notified = watching;
  }
  if (!notified) return;
  for (const auto& each : *notified) each->call(&registry_observer::hooks::unregistered, node.entry);
}

}  // namespace detail

thread_registry::thread_registry() : state_(std::make_shared<detail::registry_state>()) {}

auto thread_registry::entries() const -> std::vector<thread_entry> {
  std::vector<thread_entry> all;
  const std::lock_guard lock(state_->mutex);
  state_->forget_parent();
  all.reserve(state_->size);
  state_->threads.for_each([&all](const detail::registered_thread_node& node) { all.push_back(node.entry); });
  return all;
}

auto thread_registry::size() const -> std::size_t {
  const std::lock_guard lock(state_->mutex);
  state_->forget_parent();
  return state_->size;
}

auto thread_registry::has(const thread_entry& entry) const -> bool {
  bool found = false;
  const std::lock_guard lock(state_->mutex);
  state_->forget_parent();
  state_->threads.for_each(
      [&](const detail::registered_thread_node& node) { found = found || node.entry.generation == entry.generation; });
  return found;
}

auto thread_registry::stage() const -> detail::snapshot_stage<thread_entry> {
  return {std::make_shared<const std::vector<thread_entry>>(entries())};
}

auto thread_registry::merged(std::initializer_list<thread_registry> registries) -> thread_query {
  std::vector<thread_entry> all;
  for (const thread_registry& registry : registries) {
    auto entries = registry.entries();
    all.insert(all.end(), std::move_iterator(entries.begin()), std::move_iterator(entries.end()));
  }
  std::ranges::sort(all, {}, &thread_entry::generation);
  const auto again = std::ranges::unique(all, {}, &thread_entry::generation);
  all.erase(again.begin(), again.end());
  return detail::query_over(std::move(all));
}

registry_observer::registry_observer(const thread_registry& registry, registry_observer::hooks hooks)
    : registry_(registry.state_), observer_(std::make_shared<detail::observer>(std::move(hooks))) {
  const std::lock_guard lock(registry_->mutex);
  auto more = registry_->watching ? *registry_->watching : detail::observers();
  more.push_back(observer_);
  registry_->watching = std::make_shared<const detail::observers>(std::move(more));
}

registry_observer::~registry_observer() {
  {
    const std::lock_guard lock(registry_->mutex);
    auto fewer = *registry_->watching;
    std::erase(fewer, observer_);
    registry_->watching = fewer.empty() ? nullptr : std::make_shared<const detail::observers>(std::move(fewer));
  }
  observer_->end();
}

registration::registration(thread_label label) : registration(default_registry(), std::move(label)) {}

registration::registration(const thread_registry& registry, thread_label label)
    : registry_(registry), node_(std::make_unique<detail::registered_thread_node>()) {
  thread_entry& entry = node_->entry;
  entry.tag = std::move(label.tag);
  entry.name = label.name.empty() ? this_thread::name() : std::move(label.name);
  entry.tid = detail::own_thread_id();
  entry.registered_at = detail::time_since_boot();
  registry_.state_->add(*node_);
}

registration::~registration() { registry_.state_->remove(*node_); }

auto registration::entry() const noexcept -> const thread_entry& { return node_->entry; }

namespace {

/// The default registries of the process: a permanent one, and temporary ones. The newest temporary registry takes
/// precedence.
struct default_registries {
  detail::fork_safe_mutex mutex;
  thread_registry always;
  std::vector<std::pair<const thread_registry::scoped_default*, thread_registry>> scoped;
};

/// Returns the default registries, which are never destroyed, because threads may unregister after static objects are
/// destroyed.
auto defaults() -> default_registries& {
  static auto& only = *new default_registries;
  return only;
}

/// Constructs the default registries when the library is loaded. If a thread constructed them during a fork, the guard
/// of these static objects would stay locked in the child.
[[maybe_unused]] const default_registries& registries_made_early = defaults();

}  // namespace

auto default_registry() -> thread_registry {
  auto& all = defaults();
  const std::lock_guard lock(all.mutex);
  return all.scoped.empty() ? all.always : all.scoped.back().second;
}

namespace detail {

registry_handle::registry_handle() : registry_handle(default_registry()) {}

registry_handle::registry_handle(const thread_registry& registry) noexcept : state_(registry.state_) {}

auto registry_handle::registry() const noexcept -> thread_registry { return thread_registry(state_); }

}  // namespace detail

thread_registry::scoped_default::scoped_default(const thread_registry& registry) {
  auto& all = defaults();
  const std::lock_guard lock(all.mutex);
  all.scoped.emplace_back(this, registry);
}

thread_registry::scoped_default::~scoped_default() {
  auto& all = defaults();
  thread_registry ended = all.always;  // a registry is not destroyed under the lock
  const std::lock_guard lock(all.mutex);
  const auto mine = std::ranges::find(all.scoped, this, &decltype(all.scoped)::value_type::first);
  ended = mine->second;
  all.scoped.erase(mine);
}

}  // namespace braid
