// tests/support/redis_server.hpp: a real redis-server, started for a test and ended with it, whatever happens.
#pragma once

#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/io/backend.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::testing {

/// A port of 127.0.0.1 that no other socket gets while this lives. A server that sets SO_REUSEADDR can listen at it,
/// and connections are refused while there is none.
class held_port {
 public:
  held_port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        ::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no free port can be found");
    number_ = ntohs(address.sin_port);
  }

  [[nodiscard]] auto number() const noexcept -> std::uint16_t { return number_; }

 private:
  descriptor socket_;
  std::uint16_t number_ = 0;
};

/// Listens at a port of 127.0.0.1 and at a Unix socket in a folder of its own, keeps nothing on disk unless told to.
class redis_server {
 public:
  /// `more` are options of its command line, such as {"--requirepass", "x"}.
  explicit redis_server(std::vector<std::string> more = {}) : more_(std::move(more)) { start(); }
  redis_server(const redis_server&) = delete;
  auto operator=(const redis_server&) -> redis_server& = delete;
  ~redis_server() { kill(); }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return port_.number(); }
  [[nodiscard]] auto socket_path() const -> std::string { return (folder_.path() / "socket").string(); }
  [[nodiscard]] auto folder() const -> const std::filesystem::path& { return folder_.path(); }

  /// Starts it, at the port that it had.
  void start() {
    for (int attempt = 0; attempt < 20; ++attempt) {
      spawn();
      if (answers()) return;
      kill();
    }
    throw std::runtime_error("redis-server does not start; it is in packages.txt");
  }

  /// kill -9
  void kill() noexcept {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
  }

  /// It stands still, with its connections.
  void freeze() const noexcept { ::kill(process_, SIGSTOP); }
  void thaw() const noexcept { ::kill(process_, SIGCONT); }

 private:
  void spawn() {
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   std::to_string(port()),
                                   "--bind",
                                   "127.0.0.1",
                                   "--unixsocket",
                                   socket_path(),
                                   "--dir",
                                   folder_.path().string(),
                                   "--save",
                                   "",
                                   "--appendonly",
                                   "no",
                                   "--daemonize",
                                   "no",
                                   "--loglevel",
                                   "warning"};
    words.insert(words.end(), more_.begin(), more_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string log = (folder_.path() / "log").string();
    const ::pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process can be made");
    if (process_ == 0) become(arguments.data(), log.c_str(), parent);
  }

  /// Calls only what may be called after a fork. A server whose test has died ends with it.
  [[noreturn]] static void become(char* const* words, const char* log, ::pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out >= 0) ::dup2(out, 1), ::dup2(out, 2);
    ::execvp(words[0], words);
    ::_exit(127);
  }

  /// Waits until it takes connections at both places. Returns false if it ended before, or never does.
  auto answers() -> bool {
    bool is_up = false;
    const bool decided = eventually([&] {
      is_up = connects();
      return is_up || ::waitpid(process_, nullptr, WNOHANG) == process_;
    });
    if (decided && !is_up) process_ = 0;
    return is_up;
  }

  [[nodiscard]] auto connects() const -> bool {
    const descriptor local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string file = socket_path();
    std::memcpy(name.sun_path, file.c_str(), file.size() + 1);
    if (::connect(local.number(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return false;
    const descriptor remote(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port());
    return ::connect(remote.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  scratch_folder folder_;
  std::vector<std::string> more_;
  held_port port_;
  ::pid_t process_ = 0;
};

}  // namespace braid::testing
