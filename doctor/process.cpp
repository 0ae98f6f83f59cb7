// doctor/process.cpp: finds the build options and the environment, and tries which system calls this user may make.
#include <doctor/findings.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/detail/number_in.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/fiber.hpp>
#include <braid/io/backend.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/trace/detail/settings.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stop_token>
#include <string_view>
#include <thread>

#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::doctor {
namespace {

auto compiler() -> std::string {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

auto verdict_on_workers() -> std::string {
  return default_worker_count().environment ? "valid" : "ignored: must be a number from 1 to 4096";
}

auto verdict_on_io() -> std::string {
  const auto made = io_backend::make();
  return made ? "valid" : "event loops cannot be created: " + made.error().message();
}

auto verdict_on_trace(std::string_view value) -> std::string {
  const auto parsed = detail::parse_trace_settings(value);
  return parsed ? "valid" : "ignored: " + parsed.error();
}

auto verdict_on_barrier(std::string_view value) -> std::string {
  if (value == "fence") return "valid";
  if (value != "membarrier") return "ignored: must be membarrier or fence";
  const bool granted = detail::asymmetric_barrier::best_kind() == detail::barrier_kind::asymmetric;
  return granted ? "valid" : "ignored: the system does not allow membarrier";
}

auto verdict_on(std::string_view name, std::string_view value) -> std::string {
  if (name == "BRAID_WORKERS") return verdict_on_workers();
  if (name == "BRAID_IO") return verdict_on_io();
  if (name == "BRAID_BARRIER") return verdict_on_barrier(value);
  if (name == "BRAID_TRACE") return verdict_on_trace(value);
  if (name == "BRAID_DUMP") return value == "quit" ? "valid" : "ignored: must be quit";
  if (name == "BRAID_TOP") return value == "1" ? "valid" : "ignored: must be 1";
  if (name == "BRAID_STALL")
    return detail::duration_in(value) ? "valid" : "ignored: must be a duration such as 500ms or 2s";
  return "not a variable of the library";
}

/// Measures the cost of a heavy barrier while another thread runs. Without such a thread the kernel would have no
/// processor to interrupt.
auto cost_of_barrier() -> std::string {
  constexpr int calls = 21;
  const std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {}
  });
  detail::asymmetric_barrier barrier;
  std::vector<duration> costs;
  for (int i = 0; i < calls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    barrier.heavy();
    costs.push_back(std::chrono::steady_clock::now() - begin);
  }
  std::ranges::sort(costs);
  const std::chrono::duration<double, std::micro> median = costs[calls / 2];
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f µs (median of %d calls)", median.count(), calls);
  return text.data();
}

auto barrier_of_workers() -> std::string {
  const bool is_fence = detail::asymmetric_barrier::best_kind() == detail::barrier_kind::symmetric;
  return (is_fence ? "fence, " : "membarrier, ") + cost_of_barrier();
}

auto backend_of_loops() -> std::string {
  const auto made = io_backend::make();
  return made ? std::string((*made)->name()) : "none: " + made.error().message();
}

/// Converts the status of a system call to an error code, which is zero if the call succeeded.
auto code_of(long status) -> std::error_code { return status < 0 ? last_system_error() : std::error_code(); }

/// Tries to set a real-time priority. Uses a thread that ends immediately, so that no other code runs with that
/// priority.
auto try_real_time() -> std::error_code {
  int status = 0;
  std::thread([&] {
    const ::sched_param lowest{1};
    status = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &lowest);
  }).join();
  return {status, std::system_category()};
}

auto try_io_uring() -> std::error_code {
  ::io_uring_params parameters{};
  const long ring = ::syscall(SYS_io_uring_setup, 1, &parameters);
  const std::error_code code = code_of(ring);
  if (ring >= 0) ::close(static_cast<int>(ring));
  return code;
}

auto try_membarrier() -> std::error_code {
  const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (commands < 0) return code_of(commands);
  if ((commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) return {};
  return std::make_error_code(std::errc::operation_not_supported);
}

auto read_limit(int resource) -> std::optional<::rlimit> {
  ::rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return std::nullopt;
  return limit;
}

auto real_time_limit() -> std::string {
  const auto limit = read_limit(RLIMIT_RTPRIO);
  if (!limit) return "unknown";
  return limit->rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit->rlim_cur);
}

/// Returns the lowest nice value that this user may set. RLIMIT_NICE stores 20 minus that value.
auto nice_limit() -> std::string {
  const auto limit = read_limit(RLIMIT_NICE);
  if (!limit) return "unknown";
  if (limit->rlim_cur == RLIM_INFINITY) return "unlimited";
  return std::to_string(20 - static_cast<int>(std::clamp<::rlim_t>(limit->rlim_cur, 1, 40)));
}

auto capability_to_nice() -> std::string {
  constexpr std::string_view label = "CapEff:\t";
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(label)) continue;
    std::uint64_t bits = 0;
    const auto [end, error] = std::from_chars(line.data() + label.size(), line.data() + line.size(), bits, 16);
    if (error != std::errc{} || end != line.data() + line.size()) break;
    return ((bits >> CAP_SYS_NICE) & 1U) != 0 ? "yes" : "no";
  }
  return "unknown";
}

}  // namespace

auto build_of_this_program() -> build_facts {
  build_facts build{compiler(),
                    "shared",
                    "off",
                    BRAID_SANITIZER,
                    topology::hwloc_state(),
                    has_fibers() ? "yes" : "no: built without Boost.Context"};
#if defined(BRAID_STATIC)
  build.library = "static";
#endif
#if defined(BRAID_CHECKED)
  build.checks = "on";
#endif
  return build;
}

auto environment_of_this_process() -> std::vector<variable> {
  std::vector<variable> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t sign = text.find('=');
    if (!text.starts_with("BRAID_") || sign == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, sign);
    found.push_back({std::string(name), std::string(text.substr(sign + 1)), verdict_on(name, text.substr(sign + 1))});
  }
  std::ranges::sort(found, {}, &variable::name);
  return found;
}

auto rights_of_this_user() -> rights {
  rights user;
  user.attempts = {{"real-time priority", "real_time", try_real_time()},
                   {"io_uring", "io_uring", try_io_uring()},
                   {"membarrier", "membarrier", try_membarrier()}};
  user.loops = backend_of_loops();
  user.barrier = barrier_of_workers();
  user.rtprio = real_time_limit();
  user.nice = nice_limit();
  user.cap_nice = capability_to_nice();
  return user;
}

}  // namespace braid::doctor
