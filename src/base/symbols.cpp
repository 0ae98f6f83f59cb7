// src/base/symbols.cpp: finds the names of functions in symbol tables, and shortens demangled names.
#include <braid/base/detail/symbols.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <cxxabi.h>

namespace braid::detail {
namespace {

auto demangled(const std::string& name) -> std::string {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return text != nullptr ? std::string(text.get()) : name;
}

/// Returns `f(int)` for `f(f(int)::MANGLED.Frame*) [clone .actor]`, the function that g++ generates to resume a
/// coroutine. Returns other names unchanged.
auto coroutine_in(std::string_view demangled) -> std::string_view {
  constexpr std::string_view tail = ".Frame*) [clone .actor]";
  if (!demangled.ends_with(tail)) return demangled;
  const std::string_view twice = demangled.substr(0, demangled.rfind("::_Z"));
  for (std::size_t at = twice.find('('); at != std::string_view::npos; at = twice.find('(', at + 1)) {
    const std::string_view name = twice.substr(0, at);
    const std::string_view rest = twice.substr(at + 1);
    if (rest.starts_with(name) && rest.substr(name.size()).starts_with('(')) return rest;
  }
  return demangled;
}

/// Returns the nested names at the start of a mangled name, without arguments. Used if no available demangler can read
/// the whole name, for example the name of a function with constraints: `_ZN5braid8when_allIJ…` becomes
/// `braid::when_all<...>`. Returns an empty string if `mangled` is not a mangled name.
auto names_in(std::string_view mangled) -> std::string {
  if (!mangled.starts_with("_ZN")) return {};
  mangled.remove_prefix(3);
  std::string names;
  while (!mangled.empty() && mangled.front() >= '1' && mangled.front() <= '9') {
    std::size_t length = 0;
    for (; !mangled.empty() && mangled.front() >= '0' && mangled.front() <= '9'; mangled.remove_prefix(1))
      length = std::min<std::size_t>(10 * length + static_cast<std::size_t>(mangled.front() - '0'), mangled.size());
    const std::string_view name = mangled.substr(0, length);
    names += names.empty() ? "" : "::";
    names += name == "_GLOBAL__N_1" ? "(anonymous namespace)" : name;
    mangled.remove_prefix(name.size());
  }
  return names.empty() || !mangled.starts_with('I') ? names : names + "<...>";
}

/// Updates the stack of open brackets. `<` and `>` may be operators, so a closing bracket of another kind also closes
/// every `<` opened inside it.
void follow_bracket(std::string& open, char next, char before) {
  constexpr std::string_view opening = "<([{";
  constexpr std::string_view closing = ">)]}";
  if (opening.contains(next)) open += next;
  const std::size_t kind = closing.find(next);
  if (kind == std::string_view::npos || (next == '>' && (before == '-' || !open.ends_with('<')))) return;
  if (const std::size_t at = open.rfind(opening[kind]); at != std::string::npos) open.resize(at);
}

auto begins_operator(std::string_view before, std::string_view rest) -> bool {
  constexpr std::string_view word = "operator";
  if (!before.empty() && !before.ends_with(' ') && !before.ends_with("::")) return false;
  return rest.starts_with(word) && rest.size() > word.size() && rest[word.size()] != '_' &&
         std::isalnum(static_cast<unsigned char>(rest[word.size()])) == 0;
}

/// Returns `f<int>(int)` for `R f<int>(int)`, because the demangled name of a function template begins with the return
/// type. The `(` of the parameters follows the name directly; the `(` of an expression follows a space or `decltype`.
auto without_result(std::string_view function) -> std::string_view {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  std::size_t begin = 0;
  std::string open;
  for (std::size_t at = 0; at < function.size(); ++at) {
    const std::string_view before = function.substr(0, at);
    const std::string_view rest = function.substr(at);
    const bool is_outside = open.empty();
    if (is_outside && rest.starts_with(unnamed)) {
      at += unnamed.size() - 1;
      continue;
    }
    if (is_outside && begins_operator(before, rest)) return function.substr(begin);
    if (is_outside && rest.front() == '(' && !before.empty() && !before.ends_with(' ') && !before.ends_with("decltype"))
      return function.substr(begin);
    if (is_outside && rest.front() == ' ') begin = at + 1;
    follow_bracket(open, rest.front(), before.empty() ? ' ' : before.back());
  }
  return function;
}

/// Returns the template argument at this index of `name<A, B, …>`, or an empty text if the name has fewer arguments.
auto template_argument(std::string_view name, std::size_t index) -> std::string_view {
  std::string open;
  std::size_t begin = name.find('<') + 1;
  for (std::size_t at = begin; at < name.size(); ++at) {
    const bool is_end = name[at] == ',' || (name[at] == '>' && name[at - 1] != '-');
    if (!open.empty() || !is_end) {
      follow_bracket(open, name[at], at == 0 ? ' ' : name[at - 1]);
      continue;
    }
    if (index-- == 0) {
      const std::string_view found = name.substr(begin, at - begin);
      return found.substr(0, found.find_last_not_of(' ') + 1);
    }
    begin = std::min(name.find_first_not_of(' ', at + 1), name.size());
  }
  return {};
}

/// Returns the callable of a job that has a future: `F` of `spawned<R, Stop, bound_call<F, …>>`, and of
/// `future_continuation<T, F, …>`. Returns an empty text for jobs without a future.
auto called_for_future(std::string_view job) -> std::string_view {
  constexpr std::string_view bound = "braid::detail::bound_call<";
  std::string_view called;
  if (job.starts_with("spawned<")) called = template_argument(job, 2);
  if (job.starts_with("future_continuation<")) called = template_argument(job, 1);
  return called.starts_with(bound) ? template_argument(called, 0) : called;
}

/// Returns the callable that a job of the library runs, if the job's name contains it: `F` for `closure_job<F>`.
auto called_by(std::string_view job) -> std::string_view {
  struct form {
    std::string_view begin, end;
  };
  constexpr std::array<form, 4> forms{
      {{"closure_job<", ">"}, {"root_job<", ">"}, {"timed_call<", ">"}, {"offload_awaiter<", ">::call"}}};
  if (const std::string_view called = called_for_future(job); !called.empty()) return called;
  for (const form& each : forms)
    if (job.starts_with(each.begin) && job.ends_with(each.end))
      return job.substr(each.begin.size(), job.size() - each.begin.size() - each.end.size());
  return job;
}

/// Returns the public name of a job of the library. The name of a `sync_waiter<T>` is `sync_wait`, because that
/// function creates this job in order to wait for a task.
auto public_name(std::string_view job) -> std::string {
  constexpr std::string_view waiter = "sync_waiter<";
  if (job.starts_with(waiter)) return "braid::sync_wait<" + std::string(job.substr(waiter.size()));
  return std::string(called_by(job));
}

/// Returns whether the job resumes a task.
auto is_resumption(std::string_view job) -> bool {
  constexpr std::string_view inner = "braid::detail::";
  constexpr std::string_view parameters = "(braid::job&, braid::job::action)";
  if (!job.starts_with(inner) || !job.ends_with(parameters)) return false;
  job = job.substr(inner.size(), job.size() - inner.size() - parameters.size());
  constexpr std::array<std::string_view, 5> resumptions{"awaiter_base::resumed", "departure::arrived",
                                                        "home_awaiter::arrived", "promise_base::came_home",
                                                        "schedule_awaiter::came_home"};
  return std::ranges::find(resumptions, job) != resumptions.end();
}

}  // namespace

auto short_function_name(std::string_view demangled) -> std::string {
  constexpr std::string_view job_tail = "::act(braid::job&, braid::job::action)";
  constexpr std::array<std::string_view, 2> frame_tails{" [clone .resume]", " (.resume)"};  // of libstdc++ and libc++
  constexpr std::string_view inner = "braid::detail::";
  constexpr std::size_t max_length = 200;
  if (is_resumption(demangled)) return "resume";
  if (std::string names = names_in(demangled); !names.empty()) return names.substr(0, max_length);
  demangled = coroutine_in(demangled);
  for (const std::string_view tail : frame_tails)
    if (demangled.ends_with(tail)) demangled.remove_suffix(tail.size());
  demangled = without_result(demangled);
  if (demangled.ends_with(job_tail)) {
    demangled.remove_suffix(job_tail.size());
    if (demangled.starts_with(inner)) return public_name(demangled.substr(inner.size())).substr(0, max_length);
  }
  return std::string(demangled.substr(0, max_length));
}

auto symbol_table::name(std::uint64_t address) -> std::string {
  const object* const in = object_at(address);
  if (in == nullptr) return "unknown code";
  const std::uint64_t place = address - in->base;
  const auto after = std::ranges::upper_bound(in->functions, place, {}, &function::begin);
  if (after != in->functions.begin()) {
    const function& found = *std::prev(after);
    if (place - found.begin < std::max<std::uint64_t>(found.size, 1)) return short_function_name(demangled(found.name));
  }
  return in->path.substr(in->path.rfind('/') + 1) + " at " + std::to_string(place);
}

}  // namespace braid::detail
