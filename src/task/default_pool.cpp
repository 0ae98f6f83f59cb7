// src/task/default_pool.cpp: stores the function that returns the default pool, and the observer of pools. The runtime
// library or the program sets them.
#include <braid/task/detail/default_pool.hpp>

#include "../platform/system.hpp"

#include <braid/sync/atomic.hpp>

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace braid::detail {
namespace {

constinit atomic<default_pool_source> default_source{
    nullptr};  // written by `set_default_pool`; code only, so nothing to publish
// Written by `observe_pools`. Observers are constants, so no data need be published.
constinit atomic<const pool_observer*> current_observer{nullptr};
constinit atomic<bool> has_warned{false};  // set by the first thread that warns

void warn_without_observer() noexcept {
  for (const char* const name : {"BRAID_TOP", "BRAID_STALL"}) {
    const char* const value = trusted_environment(name);
    if (value == nullptr || value[0] == 0) continue;
    if (has_warned.exchange(true, relaxed)) return;
    std::fprintf(stderr,
                 "braid: %s is ignored: this program is linked without the runtime of braid; "
                 "call a function of braid/runtime.hpp, such as braid::initialize\n",
                 name);
  }
}

}  // namespace

auto default_pool() -> pool& {
  const default_pool_source source = default_source.load(relaxed);
  if (source == nullptr)
    throw std::system_error(
        std::make_error_code(std::errc::no_such_device_or_address),
        "this thread is not a worker, and there is no default pool: use run_in, or set_default_pool");
  return source();
}

auto set_default_pool(default_pool_source source) noexcept -> default_pool_source {
  return default_source.exchange(source, relaxed);
}

void observe_pools(const pool_observer& observer) noexcept { current_observer.store(&observer, relaxed); }

void note_pool_made(pool& made) noexcept {
  if (const pool_observer* const known = current_observer.load(relaxed)) return known->made(made);
  warn_without_observer();
}

void note_pool_gone(pool& gone) noexcept {
  if (const pool_observer* const known = current_observer.load(relaxed)) known->gone(gone);
}

}  // namespace braid::detail
