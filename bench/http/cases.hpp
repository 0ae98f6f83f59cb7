// bench/http/cases.hpp: what servers of HTTP are measured by: a process of their own that says hello, and wrk that asks
// it.
#pragma once

#include <bench/harness/program.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

inline constexpr const char* hello_text = "Hello, World!";

namespace detail {

[[noreturn]] inline void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace detail

/// A process beside this one, which is killed when this goes.
class server_process {
 public:
  /// Runs `serve` in the process, which does not return.
  template <typename Serve>
  explicit server_process(Serve&& serve) : id_(::fork()) {
    if (id_ < 0) detail::give_up("fork");
    if (id_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::forward<Serve>(serve)();
    std::_Exit(1);
  }
  server_process(const server_process&) = delete;
  auto operator=(const server_process&) -> server_process& = delete;
  ~server_process() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  [[nodiscard]] auto id() const noexcept -> pid_t { return id_; }

 private:
  pid_t id_;
};

/// Whether a server computes as well, and says at /tasks how many tasks it has run, and how many nanoseconds of a
/// processor they have taken.
enum class own_tasks : std::uint8_t { none, counted };

constexpr std::uint64_t own_task_us = 100;

/// What wrk makes of the server at that port.
inline auto asked_by_wrk(const parameters& given, pid_t server, std::uint16_t port, own_tasks has = own_tasks::none)
    -> sample {
  const std::string command = "python3 bench/http/drive.py --server " + std::to_string(server) + " --port " +
                              std::to_string(port) + " --seconds " + std::to_string(given.number("seconds", 3)) +
                              " --connections " + std::to_string(given.number("connections", 50)) + " --load_percent " +
                              std::to_string(given.number("load_percent", 0)) +
                              (has == own_tasks::counted ? " --tasks" : "");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"), &::pclose);
  double requests = 0;
  double errors = 0;
  double server_ns = 0;
  double p99 = 0;
  double median = 0;
  double tasks = 0;
  double tasks_ns = 0;
  double tasks_cpu_ns = 0;
  sample measured;
  const int read = std::fscanf(output.get(), "%lf %lf %lf %lf %lf %lf %lf %lf %lf", &requests, &errors,
                               &measured.wall_ns, &server_ns, &median, &p99, &tasks, &tasks_ns, &tasks_cpu_ns);
  measured.is_right = read == 9 && requests > 0 && errors == 0;
  if (!measured.is_right) return measured;
  measured.items = requests;
  measured.cpu_ns = server_ns;
  measured.extra = {{"server_cpu_us", (server_ns - tasks_cpu_ns) / requests / 1e3},
                    {"request_us", measured.wall_ns / requests / 1e3},
                    {"p50_us", median},
                    {"p99_us", p99}};
  if (tasks == 0) return measured;
  measured.extra["per_task_us"] = tasks_ns / tasks / 1e3;
  measured.extra["task_cpu_us"] = tasks_cpu_ns / tasks / 1e3;
  measured.extra["computed_percent"] = tasks * own_task_us * 1e5 / tasks_ns;
  return measured;
}

/// `serve(ready)` serves in a process of its own, and calls `ready(port)` as soon as it listens.
template <typename Serve>
auto timed_server(const parameters& given, Serve serve, own_tasks has = own_tasks::none) -> sample {
  int ends[2];
  if (::pipe(ends) != 0) detail::give_up("pipe");
  const server_process server([&] {
    serve([&](std::uint16_t port) {
      if (::write(ends[1], &port, sizeof(port)) != sizeof(port)) detail::give_up("write");
    });
  });
  std::uint16_t port = 0;
  ::close(ends[1]);
  const bool listens = ::read(ends[0], &port, sizeof(port)) == sizeof(port);
  ::close(ends[0]);
  return listens ? asked_by_wrk(given, server.id(), port, has) : sample();
}

}  // namespace bench
