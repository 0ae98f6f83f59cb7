// sim/host_names.cpp: checks that the name of a machine is a valid host name that is not used yet, and that its address
// is the address of a single machine.
#include <sim/host_names.hpp>
#include <sim/shared.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <string_view>

#include <arpa/inet.h>

namespace sim {
namespace {

auto to_lower(char letter) -> char {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Compares two host names without regard to the case of letters.
auto is_same_name(std::string_view one, std::string_view other) -> bool {
  return std::ranges::equal(one, other, {}, to_lower, to_lower);
}

auto is_allowed(char letter) -> bool {
  const char lower = to_lower(letter);
  return (lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'z') || std::string_view("-._").contains(letter);
}

}  // namespace

auto parse_host_address(const std::string& text, wire_address& read) -> bool {
  read.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const std::array v4_prefix = read.ip;
  if (::inet_pton(AF_INET, text.c_str(), read.ip.data() + 12) != 1 &&
      ::inet_pton(AF_INET6, text.c_str(), read.ip.data()) != 1)
    return false;
  if (std::equal(v4_prefix.begin(), v4_prefix.begin() + 12, read.ip.begin()))
    return read.ip[12] != 127 && read.ip[12] != 0 && read.ip[12] < 224;
  return read.ip[0] != 0xff &&
         std::ranges::any_of(std::span(read.ip).first(15), [](std::uint8_t each) { return each != 0; });
}

auto check_host_name(const std::string& name, const std::string& taken) -> std::string {
  const std::size_t max_size = settings().machine_name.size() - 1;
  if (name.empty() || name.size() > max_size || !std::ranges::all_of(name, is_allowed))
    return "the name of a machine must have 1 to " + std::to_string(max_size) +
           " letters, digits, `-`, `.` and `_`, got `" + name + "`";
  in_addr ignored{};
  if (::inet_aton(name.c_str(), &ignored) != 0)
    return "the name of a machine must not be an address, got `" + name + "`; write it as its `address`";
  if (is_same_name(name, "localhost"))
    return "the name of a machine must not be `" + name + "`, which each machine uses for itself";
  std::istringstream lines(taken);
  for (std::string line; std::getline(lines, line);)
    if (const std::string other = line.substr(0, line.find('=')); is_same_name(name, other))
      return "the name of a machine must be unique, got `" + name + "`, but another machine or --name is called `" +
             other + "`";
  return {};
}

}  // namespace sim
