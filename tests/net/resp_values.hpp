// tests/net/resp_values.hpp: values of the Redis protocol by chance, as a server writes them and as a person reads
// them.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/random.hpp>
#include <braid/net/resp.hpp>
#include <braid/net/detail/resp_parser.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::testing {

enum class resp_version : std::uint8_t { two, three };

/// The bytes of a value on the wire. Written for tests, apart from what the library has.
inline auto wire_of(const resp_value& value) -> std::string;

inline auto wire_items(char sign, const resp_value& value, std::size_t divisor = 1) -> std::string {
  std::string out = sign + std::to_string(value.items().size() / divisor) + "\r\n";
  for (const resp_value& item : value.items()) out += wire_of(item);
  return out;
}

inline auto wire_counted(char sign, std::string_view text) -> std::string {
  return sign + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

inline auto wire_of(const resp_value& value) -> std::string {
  switch (value.type()) {
    case resp_type::null: return "_\r\n";
    case resp_type::simple_string: return "+" + std::string(value.text()) + "\r\n";
    case resp_type::bulk_string: return wire_counted('$', value.text());
    case resp_type::verbatim: return wire_counted('=', std::string(value.format()) + ":" + std::string(value.text()));
    case resp_type::big_number: return "(" + std::string(value.text()) + "\r\n";
    case resp_type::error: return "-" + std::string(value.text()) + "\r\n";
    case resp_type::integer: return ":" + std::to_string(value.integer()) + "\r\n";
    case resp_type::real: {
      std::array<char, 64> digits{};
      return "," + std::string(digits.data(), std::to_chars(digits.begin(), digits.end(), value.real()).ptr) + "\r\n";
    }
    case resp_type::boolean: return value.boolean() ? "#t\r\n" : "#f\r\n";
    case resp_type::array: return wire_items('*', value);
    case resp_type::set: return wire_items('~', value);
    case resp_type::push: return wire_items('>', value);
    case resp_type::map: return wire_items('%', value, 2);
  }
  return {};
}

/// A value whose wire form of RESP2 or RESP3 is `wire_of` it; nulls of RESP2 are left to tables.
class resp_generator {
 public:
  resp_generator(std::uint64_t seed, resp_version version, arena& memory)
      : random_(seed), version_(version), memory_(&memory) {}

  auto value(int depth = 4) -> resp_value {
    const auto kinds = version_ == resp_version::two ? 4U : 9U;
    if (depth > 0 && random_.below(3) == 0) return aggregate(depth);
    switch (random_.below(kinds)) {
      case 0: return resp_value::of_text(resp_type::simple_string, letters(20));
      case 1: return resp_value::of_text(resp_type::error, letters(20));
      case 2: return resp_value::of_integer(static_cast<std::int64_t>(random_() >> random_.below(64)));
      case 3: return resp_value::of_text(resp_type::bulk_string, bytes(random_.below(8) == 0 ? 5'000 : 40));
      case 4: return resp_value();
      case 5: return resp_value::of_boolean(random_.below(2) == 0);
      case 6: return resp_value::of_real((random_.unit() - 0.5) * static_cast<double>(1ULL << random_.below(60)));
      case 7:
        return resp_value::of_text(resp_type::big_number, memory_->copied("-" + std::to_string(random_()) + "123"));
      default: return resp_value::of_text(resp_type::verbatim, memory_->copied("txt:" + std::string(bytes(30))));
    }
  }

 private:
  auto aggregate(int depth) -> resp_value {
    static constexpr std::array types{resp_type::array, resp_type::set, resp_type::map};
    const resp_type type = version_ == resp_version::two ? resp_type::array : types[random_.below(types.size())];
    const std::size_t count = random_.below(6) * (type == resp_type::map ? 2 : 1);
    const std::span<resp_value> items = memory_->uninitialized<resp_value>(count);
    for (resp_value& item : items) item = value(depth - 1);
    return resp_value::of_items(type, items);
  }

  auto letters(std::size_t max_count) -> std::string_view {
    std::string text(random_.below(max_count), ' ');
    std::ranges::generate(text, [this] { return static_cast<char>('!' + random_.below(90)); });
    return memory_->copied(text);
  }
  auto bytes(std::size_t max_count) -> std::string_view {
    std::string text(random_.below(max_count), ' ');
    std::ranges::generate(text, [this] { return static_cast<char>(random_.below(256)); });
    return memory_->copied(text);
  }

  random_source random_;
  resp_version version_;
  arena* memory_;
};

/// A value as a line of text, such as `[1, "a", null]`.
inline auto shown(const resp_value& value) -> std::string {
  if (value.has_items()) {
    std::string out(1, "[~>{"[static_cast<std::size_t>(value.type()) - static_cast<std::size_t>(resp_type::array)]);
    for (const resp_value& item : value.items()) out += (out.size() > 1 ? ", " : "") + shown(item);
    return out + "]";
  }
  switch (value.type()) {
    case resp_type::simple_string: return "+" + std::string(value.text());
    case resp_type::bulk_string: return "\"" + std::string(value.text()) + "\"";
    case resp_type::verbatim: return std::string(value.format()) + ":" + std::string(value.text());
    case resp_type::big_number: return "(" + std::string(value.text());
    case resp_type::error: return "!" + std::string(value.text());
    case resp_type::integer: return std::to_string(value.integer());
    case resp_type::real: return std::to_string(value.real());
    case resp_type::boolean: return value.boolean() ? "true" : "false";
    default: return "null";
  }
}

/// What came of one reply: its value, or its fault.
struct parsed {
  braid::detail::resp_parser::status state = braid::detail::resp_parser::status::incomplete;
  resp_value value;
  braid::detail::resp_fault fault;
  std::size_t used = 0;  ///< bytes of the input
};

/// Parses the first reply of `wire`, which comes in pieces: `piece(left)` says how many bytes come next.
template <typename Piece>
auto parse_in_pieces(braid::detail::resp_parser& parser, std::string_view wire, arena* memory, Piece&& piece)
    -> parsed {
  parser.begin(memory);
  std::string kept;
  parsed out;
  for (std::size_t given = 0; given < wire.size();) {
    const std::size_t size = std::min<std::size_t>(piece(wire.size() - given), wire.size() - given);
    kept += wire.substr(given, size);
    given += size;
    const std::string exact(kept);  // so that a sanitizer sees a look beyond the end
    const auto [state, consumed] = parser.parse(exact);
    kept.erase(0, consumed);
    out.state = state;
    out.used = given - kept.size();
    if (state == braid::detail::resp_parser::status::incomplete) continue;
    if (state == braid::detail::resp_parser::status::complete) out.value = parser.value();
    if (state == braid::detail::resp_parser::status::wrong) out.fault = parser.fault();
    return out;
  }
  return out;
}

inline auto parse_whole(braid::detail::resp_parser& parser, std::string_view wire, arena* memory) -> parsed {
  return parse_in_pieces(parser, wire, memory, [](std::size_t left) { return left; });
}

}  // namespace braid::testing
