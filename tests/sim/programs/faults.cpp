// tests/sim/programs/faults.cpp: faults of concurrent programs, planted into small programs that use POSIX alone. Each
// has a correct variant.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

bool is_correct = false;
std::atomic<int> problems = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  ++problems;
  std::printf("FAILED: %s\n", what);
}

constexpr std::uint16_t server_port = 7000;

auto server_address() -> sockaddr_in {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(server_port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

auto listen_at_server() -> int {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = server_address();
  bind(made, reinterpret_cast<sockaddr*>(&at), sizeof(at));
  listen(made, 16);
  return made;
}

/// Returns a connection, or -1.
auto connect_to_server() -> int {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = server_address();
  if (connect(made, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0) return made;
  close(made);
  return -1;
}

/// Sends back each byte of each connection, until a byte of value 0.
class echo_server {
 public:
  /// Calls `receive` for each byte before the byte is sent back.
  explicit echo_server(std::function<void(char)> receive = [](char) {})
      : receive_(std::move(receive)), listener_(listen_at_server()), thread_([this] { serve(); }) {}
  ~echo_server() {
    is_over_ = true;
    int last = -1;
    while ((last = connect_to_server()) < 0) std::this_thread::sleep_for(10ms);
    thread_.join();
    close(last);
    close(listener_);
  }
  echo_server(const echo_server&) = delete;
  auto operator=(const echo_server&) -> echo_server& = delete;

 private:
  void serve() const {
    while (!is_over_) {
      const int client = accept(listener_, nullptr, nullptr);
      char byte = 0;
      while (!is_over_ && recv(client, &byte, 1, 0) == 1) {
        receive_(byte);
        send(client, &byte, 1, MSG_NOSIGNAL);
      }
      close(client);
    }
  }
  std::function<void(char)> receive_;
  int listener_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

/// A stop that sets its flag without the lock may be missed by a thread that is about to wait.
void lost_stop() {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> is_stopped = false;
  std::thread worker([&] {
    std::unique_lock lock(mutex);
    while (!is_stopped) {
      std::this_thread::yield();
      if (is_correct && is_stopped) break;
      changed.wait(lock);
    }
  });
  std::this_thread::yield();
  {
    std::unique_lock lock(mutex, std::defer_lock);
    if (is_correct) lock.lock();
    is_stopped = true;
  }
  changed.notify_all();
  worker.join();
}

/// A client that keeps its connection after a timeout reads the late reply as that of its next command.
void late_reply() {
  const echo_server server;
  int connection = connect_to_server();
  for (char command = 'a'; command < 'k' && connection >= 0; ++command) {
    const timeval limit{0, 100'000};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    send(connection, &command, 1, MSG_NOSIGNAL);
    char reply = 0;
    if (recv(connection, &reply, 1, 0) == 1) {
      check(reply == command, "a command gets its own reply");
    } else if (is_correct) {
      close(connection);
      connection = connect_to_server();
    }
  }
  close(connection);
}

/// An event that a client sends again, because it got no answer, must be counted once.
void counted_twice() {
  std::map<char, int> counts;
  const auto count = [&](char event) {
    if (!is_correct || !counts.contains(event)) ++counts[event];
  };
  {
    const echo_server server(count);
    int connection = connect_to_server();
    for (char event = 'a'; event < 'k'; ++event) {
      for (char answer = 0; answer != event;) {
        const timeval limit{0, 100'000};
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        send(connection, &event, 1, MSG_NOSIGNAL);
        if (recv(connection, &answer, 1, 0) == 1) continue;
        close(connection);
        connection = connect_to_server();
      }
    }
    close(connection);
  }
  for (const auto& [event, number] : counts) check(number == 1, "an event is counted once");
}

/// A client that is refused must pause before it tries again.
void no_backoff() {
  const echo_server server;
  const auto start = clock_type::now();
  auto pause = 10ms;
  for (int attempt = 1;; ++attempt) {
    const int connection = connect_to_server();
    if (connection >= 0) {
      close(connection);
      return;
    }
    if (is_correct) std::this_thread::sleep_for(pause *= 2);
    check(attempt < 3 || clock_type::now() - start > 50ms, "three attempts take more than 50 ms");
  }
}

/// An answer that comes after the deadline of its call must not be used.
void after_deadline() {
  const echo_server server;
  const int connection = connect_to_server();
  for (char command = 'a'; command < 'f' && connection >= 0; ++command) {
    const auto deadline = clock_type::now() + 300ms;
    send(connection, &command, 1, MSG_NOSIGNAL);
    char reply = 0;
    const bool is_answered = recv(connection, &reply, 1, 0) == 1;
    if (is_correct && clock_type::now() >= deadline) continue;
    check(!is_answered || clock_type::now() < deadline + 1ms, "an answer is used before its deadline");
  }
  close(connection);
}

/// A scope that counts its tasks: one that reports its end too early outlives it.
void outlived_scope() {
  struct scope {
    std::mutex mutex;
    std::condition_variable changed;
    int running = 2;
    bool has_ended = false;
  };
  const auto memory = std::make_shared<scope>();
  const auto work = [&] {
    const auto end = [&] {
      const std::lock_guard lock(memory->mutex);
      if (--memory->running == 0) memory->changed.notify_all();
    };
    if (!is_correct) end();
    std::this_thread::yield();
    check(!memory->has_ended, "a task ends before its scope");
    if (is_correct) end();
  };
  std::thread first(work);
  std::thread second(work);
  {
    std::unique_lock lock(memory->mutex);
    memory->changed.wait(lock, [&] { return memory->running == 0; });
    memory->has_ended = true;
  }
  first.join();
  second.join();
}

const std::map<std::string_view, void (*)()> parts = {
    {"lost_stop", &lost_stop},           {"late_reply", &late_reply},         {"no_backoff", &no_backoff},
    {"after_deadline", &after_deadline}, {"outlived_scope", &outlived_scope}, {"counted_twice", &counted_twice},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !parts.contains(argv[1])) return 2;
  is_correct = argc > 2 && std::string_view(argv[2]) == "correct";
  parts.at(argv[1])();
  return problems == 0 ? 0 : 1;
}
