// src/trace/trace.cpp: stores the names of slices that the program creates at run time.
#include <braid/trace/trace.hpp>

#include "session.hpp"

#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace braid::trace {
namespace {

struct name_table {
  detail::fork_safe_mutex lock;
  std::set<std::string, std::less<>> names;  // the address of each node is stable
};

/// Returns the table of names. It is never destroyed, because the trace is completed after static objects are
/// destroyed.
auto names() -> name_table& {
  static name_table& all = *new name_table;
  return all;
}

}  // namespace

auto intern(std::string_view text) -> name {
  name_table& all = names();
  const std::lock_guard guard(all.lock);
  auto found = all.names.find(text);
  if (found == all.names.end()) {
    found = all.names.emplace(text).first;
    detail::note_trace_name(found->c_str());
  }
  return {name::interned(), found->c_str()};
}

auto last(duration span) -> result<std::string> {
  constexpr duration min_span = 1ms;  // 0 would mean all records
  return detail::read_last_of_trace(static_cast<std::uint64_t>(std::max(span, min_span).count()));
}

}  // namespace braid::trace
