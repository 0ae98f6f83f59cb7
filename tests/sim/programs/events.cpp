// tests/sim/programs/events.cpp: sends events to rankd, through crashes of its machine, and checks that each event that
// was acknowledged is still there at the end: rankd then counts it as a duplicate.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

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

/// Sends a body of JSON. Returns the body of the answer, or an empty text if there is none with status 200.
auto post(const char* name, const char* path, const std::string& body) -> std::string {
  const std::string request = std::string("POST ") + path +
                              " HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
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

constexpr int first_item = 11;
constexpr int items = 6;

auto format_events(int first, int count) -> std::string {
  std::string body = R"({"events":[)";
  for (int at = first; at < first + count; ++at)
    body += (at == first ? "" : ",") + std::string(R"({"event_id":"event-)") + std::to_string(at) +
            R"(","type":"click","item_id":)" + std::to_string(first_item + at % items) + "}";
  return body + "]}";
}

/// Waits for the server for up to two minutes, and sends until there is an answer.
auto post_until_answered(const char* name, const char* path, const std::string& body) -> std::string {
  for (int tries = 0; tries < 240; ++tries) {
    if (std::string answer = post(name, path, body); !answer.empty()) return answer;
    ::usleep(500'000);
  }
  return {};
}

/// Returns how often each item was sold. A plan reads the counter that the events change.
auto read_sales(const char* name) -> std::map<int, int> {
  const std::string answer =
      post_until_answered(name, "/v1/rank", R"({"user_id":1,"plan":"first","output_keys":["sales"]})");
  std::map<int, int> found;
  for (std::size_t at = 0; (at = answer.find("{\"id\":", at)) != std::string::npos; ++at) {
    const std::size_t sales = answer.find("\"sales\":", at);
    if (sales != std::string::npos) found[std::atoi(answer.c_str() + at + 6)] = std::atoi(answer.c_str() + sales + 8);
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int calls = 60;
  constexpr int events = 5;  // of a call
  const char* name = argc > 1 ? argv[1] : "server";
  const bool has_counters = argc > 2 && std::string_view(argv[2]) == "counters";
  for (int call = 0; call < calls; ++call) {
    if (post_until_answered(name, "/v1/events", format_events(call * events, events)).empty()) {
      std::printf("the server does not recover\n");
      return 2;
    }
    ::usleep(has_counters ? 2'500'000 : 800'000);  // with counters, until rankd has written a snapshot of them
  }
  const std::string wanted = R"({"accepted":0,"duplicates":)" + std::to_string(events) + "}";
  for (int call = 0; call < calls; ++call) {
    const std::string answer = post_until_answered(name, "/v1/events", format_events(call * events, events));
    if (answer == wanted) continue;
    std::printf("acknowledged events of call %d are lost: %s\n", call, answer.c_str());
    return 1;
  }
  if (!has_counters) return 0;
  ::sleep(2);  // counters follow the events
  const std::map<int, int> sales = read_sales(name);
  for (int item = first_item; item < first_item + items; ++item) {
    const int counted = sales.contains(item) ? sales.at(item) : 0;
    if (counted == calls * events / items) continue;
    std::printf("item %d was counted %d times, and sent %d times\n", item, counted, calls * events / items);
    return 1;
  }
  std::printf("each event was counted once\n");
  return 0;
}
