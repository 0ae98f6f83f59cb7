// sim/names.cpp: resolves host names to the addresses that the command line defines, without a DNS server.
#include <sim/network.hpp>

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>

namespace sim {
namespace {

auto parse_address(std::string_view text, address& read) -> bool {
  std::array<char, INET6_ADDRSTRLEN> copy{};
  if (text.size() >= copy.size()) return false;
  std::ranges::copy(text, copy.begin());
  read = any_address(AF_INET);
  if (::inet_pton(AF_INET, copy.data(), read.ip.data() + 12) == 1) return true;
  return ::inet_pton(AF_INET6, copy.data(), read.ip.data()) == 1;
}

auto read_names() -> list<host_name> {
  list<host_name> all;
  std::string_view rest = page->wanted.names.data();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t sign = line.find('=');
    host_name added{line.substr(0, sign), line.substr(sign + 1), {}};
    if (sign != std::string_view::npos && parse_address(added.text, added.where)) all.push_back(added);
  }
  for (const char* text : {"127.0.0.1", "::1"}) {
    host_name added{"localhost", text, {}};
    parse_address(text, added.where);
    all.push_back(added);
  }
  return all;
}

}  // namespace

auto host_names() -> const list<host_name>& {
  static auto* all = new (take_memory(sizeof(list<host_name>))) list<host_name>(read_names());
  return *all;
}

SIM_CALL(int, getaddrinfo, const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  if (!on()) return REAL(getaddrinfo)(host, service, hints, found);
  point(call::names);
  addrinfo wanted{};
  if (hints != nullptr) wanted = *hints;
  wanted.ai_flags &= ~AI_ADDRCONFIG;
  const inside guard;
  const int asked_flags = wanted.ai_flags;
  wanted.ai_flags |= AI_NUMERICHOST;
  const int status = REAL(getaddrinfo)(host, service, &wanted, found);
  if (status != EAI_NONAME || host == nullptr || (asked_flags & AI_NUMERICHOST) != 0) return status;
  wanted.ai_flags &= ~AI_CANONNAME;
  addrinfo* first = nullptr;
  addrinfo** last = &first;
  for (const host_name& each : host_names()) {
    if (each.name != host) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    std::ranges::copy(each.text, text.begin());
    if (REAL(getaddrinfo)(text.data(), service, &wanted, last) != 0) continue;
    if (last == &first && (asked_flags & AI_CANONNAME) != 0) first->ai_canonname = ::strdup(host);
    while (*last != nullptr) last = &(*last)->ai_next;
  }
  *found = first;
  return first == nullptr ? EAI_NONAME : 0;
}

}  // namespace sim
