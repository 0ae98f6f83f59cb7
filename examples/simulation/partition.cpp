// examples/simulation/partition.cpp: a client, a server and a partition. Is a
// request answered twice?
#include <braid/sim.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

auto address_of(const char* ip) -> sockaddr_in {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(80);
  inet_pton(AF_INET, ip, &made.sin_addr);
  return made;
}

int serve(bool is_correct) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = address_of("0.0.0.0");
  bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  listen(listener, 1);
  const int client = accept(listener, nullptr, nullptr);
  int last = 0;  // the last request that was answered
  for (int id = 0; recv(client, &id, sizeof id, MSG_WAITALL) > 0; last = id)
    if (!is_correct || id > last) send(client, &id, sizeof id, MSG_NOSIGNAL);
  return 0;
}

int ask(const char* server) {
  const int own = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = address_of(server);
  if (connect(own, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0)
    return 1;
  const timeval patience{1, 0};
  setsockopt(own, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<int, 11> answers{};
  for (int id = 1, got = 0; id <= 10; ++id)  // asks again after a second
    do {
      send(own, &id, sizeof id, MSG_NOSIGNAL);
      if (recv(own, &got, sizeof got, MSG_WAITALL) == sizeof got &&
          ++answers.at(static_cast<std::size_t>(got)) == 2) {
        std::printf("request %d was answered twice\n", got);
        return 1;
      }
    } while (got != id);
  return 0;
}

int run_world(const std::string& program, const std::string& variant) {
  braid::sim::world world({.seed = 7});
  const auto server = world.machine("server", {program, "server", variant});
  const auto client = world.machine(
      "client", {program, "client", server.address()}, {.must_end = true});
  using namespace std::chrono_literals;
  world.at(500us, [&] { world.cut(client, server); });
  world.at(5s, [&] { world.heal(client, server); });
  world.run_for(10min);
  const bool has_passed = world.end();
  std::printf("%s%s", client.output().c_str(), world.report().c_str());
  return has_passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  const std::string word = argc > 2            ? argv[2]
                           : role == "correct" ? "correct"
                                               : "";
  if (role == "server") return serve(word == "correct");
  if (role == "client") return ask(word.c_str());
  return run_world(argv[0], word);
}
