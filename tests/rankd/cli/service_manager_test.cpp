// tests/rankd/cli/service_manager_test.cpp: what a service manager hears of a server, and that none is needed.
#include <rankd/cli/serve/service_manager.hpp>

#include <braid/io/sockets.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/scratch_folder.hpp>

#include <array>
#include <csignal>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace rankd;
using braid::socket_address;
using braid::testing::environment;

namespace {

/// The socket of a service manager.
class manager {
 public:
  explicit manager(const socket_address& at) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (::bind(socket_, at.data(), at.size()) != 0) throw std::runtime_error("no socket at " + at.to_string());
  }
  manager(const manager&) = delete;
  auto operator=(const manager&) -> manager& = delete;
  ~manager() { ::close(socket_); }

  /// The message that was sent first; empty where there is none.
  [[nodiscard]] auto message() const -> std::string {
    std::array<char, 256> bytes{};
    const ::ssize_t size = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return size < 0 ? std::string() : std::string(bytes.data(), static_cast<std::size_t>(size));
  }

 private:
  int socket_;
};

}  // namespace

TEST_CASE("a message reaches the socket that the variable names, a file or an abstract name") {
  const braid::testing::scratch_folder folder;
  const std::string file = folder.path() / "notify";
  const std::string name = "rankd_test_" + std::to_string(::getpid());
  const manager at_file(socket_address::unix_file(file).value());
  const manager at_name(socket_address::unix_abstract(name).value());
  {
    const environment variable("NOTIFY_SOCKET", file.c_str());
    notify_service_manager("READY=1\nSTATUS=x");
  }
  CHECK(at_file.message() == "READY=1\nSTATUS=x");
  {
    const environment variable("NOTIFY_SOCKET", ("@" + name).c_str());
    notify_service_manager("STOPPING=1");
  }
  CHECK(at_name.message() == "STOPPING=1");
  CHECK(at_file.message().empty());
}

TEST_CASE("without a service manager, or with one that is not there, nothing happens") {
  const std::string too_long(200, 'x');
  for (const char* value : {static_cast<const char*>(nullptr), "", "@", "/none/notify", too_long.c_str()}) {
    const environment variable("NOTIFY_SOCKET", value);
    notify_service_manager("READY=1");
  }
}

TEST_CASE("a server says that it is ready when it listens, and that it stops") {
  const rankd::testing::project_copy project;
  const std::string file = project.path() / "notify";
  const manager heard(socket_address::unix_file(file).value());
  const environment variable("NOTIFY_SOCKET", file.c_str());
  rankd::testing::running_server server(project.path());
  std::string ready;
  CHECK(braid::testing::eventually([&] { return !(ready = heard.message()).empty(); }));
  CHECK(ready == "READY=1\nSTATUS=listening on " + server.address().to_string());
  server.signal(SIGTERM);
  CHECK(server.wait() == 0);
  CHECK(heard.message() == "STOPPING=1");
}
