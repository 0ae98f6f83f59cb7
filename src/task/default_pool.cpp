// src/task/default_pool.cpp: a slot that the layer `runtime` fills, or the program.
#include <braid/task/detail/default_pool.hpp>

#include <braid/sync/atomic.hpp>

#include <system_error>

namespace braid::detail {
namespace {

constinit atomic<default_pool_source> slot{nullptr};  // written by `set_default_pool`; code only, so nothing to publish

}  // namespace

auto default_pool() -> pool& {
  const default_pool_source source = slot.load(relaxed);
  if (source == nullptr)
    throw std::system_error(std::make_error_code(std::errc::no_such_device_or_address),
                            "this thread is no worker, and there is no default pool: use run_in, or set_default_pool");
  return source();
}

auto set_default_pool(default_pool_source source) noexcept -> default_pool_source {
  return slot.exchange(source, relaxed);
}

}  // namespace braid::detail
