// bench/http/nginx.cpp: nginx with one worker process, which answers by itself (`return`), without a log.
#include <bench/http/cases.hpp>

#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace {

using bench::parameters;
using bench::sample;

auto address_of(std::uint16_t port) -> sockaddr_in {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

/// One that was free just now.
auto some_port() -> std::uint16_t {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = address_of(0);
  socklen_t size = sizeof(at);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    bench::detail::give_up("bind");
  ::close(socket);
  return ntohs(at.sin_port);
}

auto listens(std::uint16_t port) -> bool {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in at = address_of(port);
  const bool connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0;
  ::close(socket);
  return connected;
}

auto configuration(const std::string& folder, std::uint16_t port) -> std::string {
  return "daemon off; master_process off; worker_processes 1; pid " + folder + "/pid; error_log " + folder +
         "/errors;\nevents { worker_connections 4096; }\n"
         "http { access_log off; keepalive_requests 1000000000; default_type text/plain; client_body_temp_path " +
         folder + "/body; server { listen 127.0.0.1:" + std::to_string(port) +
         " backlog=4096; location / { return 200 '" + bench::hello_text + "'; } } }\n";
}

auto hello(const parameters& given) -> sample {
  const braid::testing::scratch_folder folder;
  const std::string path = folder.path().string();
  const std::uint16_t port = some_port();
  folder.write("nginx.conf", configuration(path, port));
  const bench::server_process server([&] {
    ::execlp("nginx", "nginx", "-p", path.c_str(), "-c", (path + "/nginx.conf").c_str(), "-e",
             (path + "/errors").c_str(), nullptr);
  });
  for (int tries = 0; tries < 500 && !listens(port); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return bench::asked_by_wrk(given, server.id(), port);
}

/// `1.22.1`, as the program itself says.
auto version() -> std::string {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen("nginx -v 2>&1", "r"), &::pclose);
  char text[64] = "?";
  return std::fscanf(output.get(), "nginx version: nginx/%63s", text) == 1 ? text : "?";
}

}  // namespace

auto main(int count, char** arguments) -> int {
  ::setenv("PATH", (std::string(std::getenv("PATH")) + ":/usr/sbin").c_str(), 1);
  const bench::contender who{.name = "nginx", .kind = bench::kind::rival, .version = version()};
  return bench::run_program(count, arguments, "http", {{"hello", who, &hello}});
}
