// src/runtime/default_runtime.cpp: one object in the shared library.
#include <braid/runtime/default_runtime.hpp>

#include <braid/task/default_pool.hpp>

#include <memory>
#include <system_error>

namespace braid {
namespace {

auto made() -> std::unique_ptr<runtime> {
  auto created = runtime::create();
  if (!created) throw std::system_error(created.error(), "the runtime of the process cannot start");
  return std::move(*created);
}

auto workers_of_default() -> pool& { return default_runtime().workers(); }

/// When the library is loaded; the runtime itself is made by the first who needs it.
[[maybe_unused]] const default_pool_source before = set_default_pool(&workers_of_default);

}  // namespace

auto default_runtime() -> runtime& {
  static const std::unique_ptr<runtime> only = made();
  return *only;
}

}  // namespace braid
