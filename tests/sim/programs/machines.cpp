// tests/sim/programs/machines.cpp: programs of machines in worlds. The first argument chooses one.
#include <braid/sim.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

auto clock_ms(clockid_t clock) -> long {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

void print(const char* text) {
  std::printf("%ld ms: %s\n", clock_ms(CLOCK_MONOTONIC) % 100'000'000, text);
  std::fflush(stdout);
}

auto local_address() -> sockaddr_in {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(80);
  return made;
}

auto find(const char* name) -> sockaddr_in {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name, "80", &hints, &found) != 0) {
    std::printf("the name %s is not found\n", name);
    std::exit(3);
  }
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof(address));
  ::freeaddrinfo(found);
  return address;
}

void set_timeout(int socket, long seconds) {
  const timeval limit{seconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

auto listen_on(int backlog) -> int {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = local_address();
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) std::exit(4);
  if (::listen(listener, backlog) != 0) std::exit(4);
  return listener;
}

auto connect_to(const char* name) -> int {
  const sockaddr_in address = find(name);
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return made;
  std::printf("connect: %s\n", std::strerror(errno));
  ::close(made);
  return -1;
}

/// Answers each byte by the next one, in a thread for each connection.
auto serve() -> int {
  const int listener = listen_on(16);
  for (;;) {
    const int client = ::accept(listener, nullptr, nullptr);
    std::thread([client] {
      char got = 0;
      while (::recv(client, &got, 1, 0) == 1) {
        ++got;
        if (::send(client, &got, 1, MSG_NOSIGNAL) != 1) break;
      }
      ::close(client);
    }).detach();
  }
}

auto seconds_since(long begin_ms) -> double { return static_cast<double>(clock_ms(CLOCK_MONOTONIC) - begin_ms) / 1000; }

/// Greets each client first. Prints when each connection is accepted, after the start of the program.
auto greet() -> int {
  const long begin = clock_ms(CLOCK_MONOTONIC);
  const int listener = listen_on(16);
  for (;;) {
    const int client = ::accept(listener, nullptr, nullptr);
    std::printf("accepted after %.3f s\n", seconds_since(begin));
    std::fflush(stdout);
    if (::send(client, "x", 1, MSG_NOSIGNAL) != 1) return 6;
  }
}

/// Waits for the greeting of a server.
auto hear(const char* name) -> int {
  const long begin = clock_ms(CLOCK_MONOTONIC);
  const int server = connect_to(name);
  if (server < 0) return 5;
  std::printf("connected after %.3f s\n", seconds_since(begin));
  char got = 0;
  return ::recv(server, &got, 1, 0) == 1 ? 0 : 6;
}

/// Greets a client in the same process.
auto greet_within() -> int {
  std::thread client([] { hear("localhost"); });
  client.detach();
  return greet();
}

/// Sends bytes on one connection, one each second, until something fails.
auto ask(const char* name, int count) -> int {
  const int server = connect_to(name);
  if (server < 0) return 5;
  set_timeout(server, 30);
  for (int at = 0; at < count; ++at) {
    const char sent = static_cast<char>('a' + at % 20);
    char got = 0;
    const ssize_t written = ::send(server, &sent, 1, MSG_NOSIGNAL);
    const ssize_t read = written == 1 ? ::recv(server, &got, 1, 0) : -1;
    if (read != 1) {
      print(read == 0 ? "the connection has ended" : std::strerror(errno));
      return 6;
    }
    if (got != sent + 1) return 7;
    ::sleep(1);
  }
  print("all bytes were answered");
  return 0;
}

/// Connects again after each failure, until `count` bytes were answered.
auto persist(const char* name, int count) -> int {
  for (int answered = 0; answered < count;) {
    const int server = connect_to(name);
    char byte = 'a';
    if (server >= 0) set_timeout(server, 2);
    while (server >= 0 && answered < count && ::send(server, &byte, 1, MSG_NOSIGNAL) == 1 &&
           ::recv(server, &byte, 1, 0) == 1) {
      ++answered;
      byte = 'a';
      ::usleep(100'000);
    }
    if (server >= 0) ::close(server);
    ::usleep(500'000);
  }
  print("all bytes were answered");
  return 0;
}

/// Sends many bytes to a server that reads them slowly. Both print a sum.
auto stream(const char* name) -> int {
  const int server = connect_to(name);
  if (server < 0) return 5;
  std::uint64_t sum = 0;
  std::array<unsigned char, 50'000> block{};
  for (int at = 0; at < 100; ++at) {
    for (std::size_t byte = 0; byte < block.size(); ++byte) {
      block[byte] = static_cast<unsigned char>(byte * 7 + static_cast<std::size_t>(at));
      sum = sum * 31 + block[byte];
    }
    for (std::size_t sent = 0; sent < block.size();) {
      const ssize_t count = ::send(server, block.data() + sent, block.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return 6;
      sent += static_cast<std::size_t>(count);
    }
  }
  ::shutdown(server, SHUT_WR);
  char end = 0;
  if (::recv(server, &end, 1, 0) != 0) return 7;
  std::printf("sum %016llx\n", static_cast<unsigned long long>(sum));
  return 0;
}

auto swallow() -> int {
  const int listener = listen_on(1);
  const int client = ::accept(listener, nullptr, nullptr);
  std::uint64_t sum = 0;
  std::array<unsigned char, 30'000> block{};
  ssize_t count = 0;
  while ((count = ::recv(client, block.data(), block.size(), 0)) > 0) {
    for (ssize_t byte = 0; byte < count; ++byte) sum = sum * 31 + block[static_cast<std::size_t>(byte)];
    ::usleep(1000);
  }
  std::printf("sum %016llx\n", static_cast<unsigned long long>(sum));
  return count == 0 ? 0 : 6;
}

auto datagram_socket(bool is_server) -> int {
  const int made = ::socket(AF_INET, SOCK_DGRAM, 0);
  const sockaddr_in address = local_address();
  if (is_server && ::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) std::exit(4);
  return made;
}

auto echo() -> int {
  const int own = datagram_socket(true);
  for (;;) {
    std::array<char, 100> text{};
    sockaddr_in from{};
    socklen_t length = sizeof(from);
    const ssize_t size = ::recvfrom(own, text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    print("a datagram");
    if (size >= 0)
      ::sendto(own, text.data(), static_cast<std::size_t>(size), 0, reinterpret_cast<sockaddr*>(&from), length);
  }
}

/// Sends a datagram each second. Prints how many were answered.
auto ping(const char* name, int count) -> int {
  const int own = datagram_socket(false);
  const sockaddr_in address = find(name);
  ::connect(own, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  set_timeout(own, 1);
  int answered = 0;
  int refused = 0;
  for (int at = 0; at < count; ++at) {
    char got = 0;
    if (::send(own, "x", 1, 0) != 1 || ::recv(own, &got, 1, 0) != 1) {
      refused += errno == ECONNREFUSED ? 1 : 0;
      continue;
    }
    ++answered;
    ::sleep(1);
  }
  std::printf("%d answered, %d refused\n", answered, refused);
  return 0;
}

auto show_clocks(int seconds) -> int {
  std::array<char, 65> name{};
  ::gethostname(name.data(), name.size());
  const long real = clock_ms(CLOCK_REALTIME);
  const long begin = clock_ms(CLOCK_MONOTONIC);
  ::sleep(static_cast<unsigned>(seconds));
  std::printf("%s: real time %ld ms, slept %ld ms\n", name.data(), real - 1'767'225'600'000,
              clock_ms(CLOCK_MONOTONIC) - begin);
  return 0;
}

/// Prints how many of 40 names are true at some of 100 calls.
auto count_rare_paths() -> int {
  int names = 0;
  for (int name = 0; name < 40; ++name) {
    int count = 0;
    for (int at = 0; at < 100; ++at) count += braid::sim::sometimes(("path " + std::to_string(name)).c_str()) ? 1 : 0;
    names += count > 0 ? 1 : 0;
  }
  std::printf("%d names\n", names);
  return 0;
}

[[gnu::noinline]] void spin_without_a_call() {
  volatile int turns = 0;
  while (turns >= 0) turns = turns == 1'000'000 ? 0 : turns + 1;
}

auto run(std::string_view kind, const char* name, int count) -> int {
  if (kind == "serve") return serve();
  if (kind == "greet") return greet();
  if (kind == "hear") return hear(name);
  if (kind == "greet_within") return greet_within();
  if (kind == "ask") return ask(name, count);
  if (kind == "persist") return persist(name, count);
  if (kind == "stream") return stream(name);
  if (kind == "swallow") return swallow();
  if (kind == "echo") return echo();
  if (kind == "ping") return ping(name, count);
  if (kind == "clocks") return show_clocks(count);
  if (kind == "sometimes") return count_rare_paths();
  if (kind == "exit") return ::sleep(1) == 0 ? count : 0;
  if (kind == "wait") return ::pause();
  if (kind == "abort") std::abort();
  if (kind == "spin") return spin_without_a_call(), 0;
  if (kind == "fork") return ::fork() < 0 ? 1 : 0;
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "server", argc > 3 ? std::atoi(argv[3]) : 5);
}
