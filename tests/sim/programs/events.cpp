// tests/sim/programs/events.cpp: sends events to rankd, through crashes of its machine, and checks that each event that
// was acknowledged is still there at the end: rankd then counts it as a duplicate.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

auto connect_to(const char* name) -> int {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name, "80", &hints, &found) != 0) std::exit(3);
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{2, 0};
  ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const bool is_connected = ::connect(made, found->ai_addr, found->ai_addrlen) == 0;
  ::freeaddrinfo(found);
  if (is_connected) return made;
  ::close(made);
  return -1;
}

/// Sends some events in one call. Returns the body of the answer, or an empty text if there is none with status 200.
auto post(const char* name, int first, int count) -> std::string {
  std::string body = R"({"events":[)";
  for (int at = first; at < first + count; ++at)
    body += (at == first ? "" : ",") + std::string(R"({"event_id":"event-)") + std::to_string(at) +
            R"(","type":"click","item_id":)" + std::to_string(at) + "}";
  body += "]}";
  const std::string request =
      "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
      "content-length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  const int server = connect_to(name);
  std::string answer;
  if (server >= 0 &&
      ::send(server, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char block[4096];
    for (ssize_t got = 0; (got = ::recv(server, block, sizeof(block), 0)) > 0;)
      answer.append(block, static_cast<std::size_t>(got));
  }
  if (server >= 0) ::close(server);
  const std::size_t end = answer.find("\r\n\r\n");
  return answer.starts_with("HTTP/1.1 200") && answer.ends_with("}\n") && end != std::string::npos
             ? answer.substr(end + 4, answer.size() - end - 5)
             : "";
}

/// Waits for the server for up to two minutes, and sends until there is an answer.
auto post_until_answered(const char* name, int first, int count) -> std::string {
  for (int tries = 0; tries < 240; ++tries) {
    if (std::string answer = post(name, first, count); !answer.empty()) return answer;
    ::usleep(500'000);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int calls = 60;
  constexpr int events = 5;  // of a call
  const char* name = argc > 1 ? argv[1] : "server";
  for (int call = 0; call < calls; ++call) {
    if (post_until_answered(name, call * events, events).empty()) {
      std::printf("the server does not recover\n");
      return 2;
    }
    ::usleep(800'000);
  }
  const std::string wanted = R"({"accepted":0,"duplicates":)" + std::to_string(events) + "}";
  for (int call = 0; call < calls; ++call)
    if (const std::string answer = post_until_answered(name, call * events, events); answer != wanted) {
      std::printf("acknowledged events of call %d are lost: %s\n", call, answer.c_str());
      return 1;
    }
  std::printf("no event is lost\n");
  return 0;
}
