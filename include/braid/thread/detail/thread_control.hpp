// braid/thread/detail/thread_control.hpp: adds the operations of thread_info to types that refer to a thread.
#pragma once

#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/scheduling.hpp>
#include <braid/thread/this_thread.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace braid::detail {

/// A base class of `Self`, which must have a function `info() const -> result<thread_info>`. Each function calls the
/// function of `thread_info` with the same name. If `info` fails, the function fails with the same error.
template <typename Self>
class thread_control {
 public:
  [[nodiscard]] auto is_alive() const -> bool {
    const auto thread = static_cast<const Self&>(*this).info();
    return thread && thread->is_alive();
  }

  [[nodiscard]] auto name() const -> result<std::string> { return ask(&thread_info::name); }
  auto set_name(std::string_view name) const -> result<void> { return ask(&thread_info::set_name, name); }

  [[nodiscard]] auto affinity() const -> result<cpu_set> { return ask(&thread_info::affinity); }
  auto set_affinity(const cpu_set& cpus) const -> result<void> { return ask(&thread_info::set_affinity, cpus); }

  [[nodiscard]] auto scheduling() const -> result<braid::scheduling> { return ask(&thread_info::scheduling); }
  auto set_scheduling(const braid::scheduling& wanted) const -> result<void> {
    return ask(&thread_info::set_scheduling, wanted);
  }

  [[nodiscard]] auto nice() const -> result<nice_value> { return ask(&thread_info::nice); }
  auto set_nice(nice_value wanted) const -> result<void> { return ask(&thread_info::set_nice, wanted); }

  [[nodiscard]] auto priority() const -> result<realtime_priority> { return ask(&thread_info::priority); }
  auto set_priority(realtime_priority wanted) const -> result<void> { return ask(&thread_info::set_priority, wanted); }

 private:
  template <typename Member, typename... Args>
  auto ask(Member member, const Args&... args) const
      -> std::invoke_result_t<Member, const thread_info&, const Args&...> {
    const auto thread = static_cast<const Self&>(*this).info();
    if (!thread) return fail(thread.error());
    return std::invoke(member, *thread, args...);
  }
};

}  // namespace braid::detail
