// tests/fuzz/resp_fuzz.cpp: any bytes as replies of a Redis server, in one piece, in many, into nothing, and by
// hiredis.
#include <tests/fuzz/target.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/config.hpp>
#include <braid/base/random.hpp>
#include <braid/net/detail/resp_parser.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <hiredis/hiredis.h>

using namespace braid;
using status = braid::detail::resp_parser::status;

namespace {

constexpr braid::detail::resp_limits limits{.depth = 20, .line = 2'000, .reply = 1U << 20U};

constexpr std::array<std::string_view, 36> words{"+OK\r\n",
                                                 "-ERR no\r\n",
                                                 "-MOVED 1 a:1\r\n",
                                                 ":1\r\n",
                                                 ":-1\r\n",
                                                 ":+1\r\n",
                                                 ":9223372036854775808\r\n",
                                                 "$-1\r\n",
                                                 "$0\r\n\r\n",
                                                 "$1\r\na\r\n",
                                                 "$3\r\nabc\r\n",
                                                 "$10\r\n",
                                                 "*-1\r\n",
                                                 "*0\r\n",
                                                 "*1\r\n",
                                                 "*2\r\n",
                                                 "*3\r\n",
                                                 "*100000\r\n",
                                                 "%1\r\n",
                                                 "~2\r\n",
                                                 ">1\r\n",
                                                 "|1\r\n",
                                                 "#t\r\n",
                                                 "_\r\n",
                                                 ",1.5\r\n",
                                                 ",inf\r\n",
                                                 "(123\r\n",
                                                 "=5\r\ntxt:a\r\n",
                                                 "!3\r\nERR\r\n",
                                                 "$?\r\n",
                                                 "\r\n",
                                                 "\r",
                                                 "\n",
                                                 "*1\r\n*1\r\n*1\r\n*1\r\n",
                                                 "$2\r\n\r\n\r\n",
                                                 ":0\r\n"};

struct outcome_of_reply {
  status state = status::incomplete;
  std::size_t used = 0;
  resp_value value;
  braid::detail::resp_fault fault;
};

/// The first reply of `input`, given in pieces that `piece()` sizes.
auto read_reply(std::string_view input, arena* memory, const std::function<std::size_t()>& piece) -> outcome_of_reply {
  braid::detail::resp_parser parser(limits);
  parser.begin(memory);
  outcome_of_reply out;
  std::size_t given = 0;
  while (out.state == status::incomplete && given < input.size()) {
    given += std::min(piece(), input.size() - given);
    const std::string exact(input.substr(out.used, given - out.used));  // a look beyond its end is seen
    const auto [state, consumed] = parser.parse(exact);
    BRAID_EXPECTS(consumed <= exact.size(), "no more is consumed than was given");
    out.state = state;
    out.used += consumed;
  }
  if (out.state == status::complete) out.value = parser.value();
  if (out.state == status::wrong) out.fault = parser.fault();
  return out;
}

auto same(const resp_value& ours, const redisReply& theirs) -> bool {
  const auto text = [&] { return std::string_view(theirs.str, theirs.len); };
  switch (theirs.type) {
    case REDIS_REPLY_NIL: return ours.is_null();
    case REDIS_REPLY_INTEGER: return ours.type() == resp_type::integer && ours.integer() == theirs.integer;
    case REDIS_REPLY_STATUS: return ours.type() == resp_type::simple_string && ours.text() == text();
    case REDIS_REPLY_ERROR: return ours.type() == resp_type::error && ours.text() == text();
    case REDIS_REPLY_STRING: return ours.type() == resp_type::bulk_string && ours.text() == text();
    default: break;
  }
  if (ours.type() != resp_type::array || ours.items().size() != theirs.elements) return false;
  for (std::size_t i = 0; i < theirs.elements; ++i)
    if (!same(ours.items()[i], *theirs.element[i])) return false;
  return true;
}

/// What hiredis 0.14 does not know: the types of RESP3, and deep nesting. It knows no `+` before a number either.
auto is_beyond(std::string_view diagnostic) -> bool {
  if (diagnostic.find("nested multi bulk") != std::string_view::npos) return true;
  constexpr std::string_view before = "got \"";
  const std::size_t at = diagnostic.find(before);
  if (at == std::string_view::npos || at + before.size() >= diagnostic.size()) return false;
  return std::string_view("_,#(!=%~>|").find(diagnostic[at + before.size()]) != std::string_view::npos;
}

/// What a reply announces up to a place that ours refuses, by the rules of RESP2, which hiredis knows alone.
struct announced {
  bool at_line = false;     // the place is the beginning of a value
  char expected = 0;        // behind a counted text: CR or LF
  std::uint64_t bytes = 0;  // what the values need, the one at the place included
};

/// A line without CR LF is as long as the bytes that there are.
auto line_at(std::string_view bytes, std::size_t at) -> std::string_view {
  return bytes.substr(at, bytes.find("\r\n", at) - at);
}

auto announced_until(std::string_view bytes, std::size_t place) -> announced {
  announced out;
  for (std::size_t at = 0; at <= place && at < bytes.size() && out.expected == 0;) {
    const std::string_view line = line_at(bytes, at);
    if (line.empty()) break;  // nobody reads that as a value
    const char sign = line.front();
    const bool is_counted = sign == '$' || sign == '*';
    const long long count = is_counted ? std::max(0LL, std::atoll(std::string(line.substr(1)).c_str())) : 0;
    const auto size = static_cast<std::uint64_t>(count);
    out.at_line = at == place;
    out.bytes += sign == '*' ? size * sizeof(resp_value) : sign == '$' ? size : sign == ':' ? 0 : line.size() - 1;
    at += line.size() + 2;
    if (sign != '$' || line.starts_with("$-")) continue;
    if (place == at + size) out.expected = '\r';
    if (place == at + size + 1) out.expected = '\n';
    at += size + 2;
  }
  return out;
}

/// Where ours is stricter than hiredis, and the bytes are what it says they are: a CR or LF alone in a line; something
/// else than CR LF behind a counted text; a line, a length or a reply beyond our limits.
auto is_stricter(const braid::detail::resp_fault& fault, std::string_view bytes) -> bool {
  const auto place = static_cast<std::size_t>(fault.offset);
  const announced before = announced_until(bytes, place);
  switch (fault.code) {
    case resp_errc::bad_line_end: {
      if (before.expected != 0) return bytes[place] != before.expected;
      const std::size_t end = bytes.find_first_of("\r\n", place);
      return before.at_line && end != bytes.npos && bytes.substr(end, 2) != "\r\n";
    }
    case resp_errc::line_too_long: return before.at_line && line_at(bytes, place).size() - 1 > limits.line;
    case resp_errc::bad_number: return before.at_line && fault.byte == '$' && before.bytes > limits.reply;
    case resp_errc::too_large: return before.at_line && before.bytes > limits.reply;
    default: return false;
  }
}

class other_reader {
 public:
  explicit other_reader(std::string_view input) : reader_(::redisReaderCreate(), &::redisReaderFree) {
    ::redisReaderFeed(reader_.get(), input.data(), input.size());
  }

  /// Ends the program where the next reply, which begins in `bytes`, is not that of `ours`. False when it can read no
  /// further.
  auto agrees(const outcome_of_reply& ours, std::string_view bytes) -> bool {
    void* read = nullptr;
    const int status_of_read = ::redisReaderGetReply(reader_.get(), &read);
    const std::unique_ptr<void, decltype(&::freeReplyObject)> reply(read, &::freeReplyObject);
    if (status_of_read != REDIS_OK) {
      const std::string_view diagnostic = static_cast<const char*>(reader_->errstr);
      const bool is_signed = diagnostic == "Bad integer value" && bytes.find(":+") != std::string_view::npos;
      BRAID_EXPECTS(is_signed || is_beyond(diagnostic), "what is read is what hiredis reads");
      return false;
    }
    BRAID_EXPECTS((reply != nullptr) == (ours.state == status::complete), "replies end where those of hiredis do");
    if (reply) BRAID_EXPECTS(same(ours.value, *static_cast<redisReply*>(read)), "values are those of hiredis");
    return reply != nullptr;
  }

  /// Ends the program where hiredis reads on after what ours refuses, and where ours is not stricter than it. The line
  /// that ours has refused before its end is ended first.
  void refuses_too(const braid::detail::resp_fault& ours, std::string_view bytes) {
    void* read = nullptr;
    int status_of_read = ::redisReaderGetReply(reader_.get(), &read);
    if (status_of_read == REDIS_OK && read == nullptr) {
      ::redisReaderFeed(reader_.get(), "\r\n", 2);
      status_of_read = ::redisReaderGetReply(reader_.get(), &read);
    }
    const std::unique_ptr<void, decltype(&::freeReplyObject)> reply(read, &::freeReplyObject);
    BRAID_EXPECTS(status_of_read != REDIS_OK || is_stricter(ours, bytes), "what is refused, hiredis refuses");
  }

 private:
  std::unique_ptr<redisReader, decltype(&::redisReaderFree)> reader_;
};

void expect_same(const outcome_of_reply& one, const outcome_of_reply& other) {
  BRAID_EXPECTS(one.state == other.state, "pieces make no difference");
  if (one.state == status::incomplete) return;
  BRAID_EXPECTS(one.state == status::wrong || one.used == other.used, "a reply ends where it ends");
  BRAID_EXPECTS(one.fault.code == other.fault.code && one.fault.offset == other.fault.offset, "a fault has its place");
  BRAID_EXPECTS(one.fault.offset <= limits.reply + limits.line, "a place lies in the reply");
}

void run(std::string_view input) {
  random_source random(std::hash<std::string_view>{}(input));
  other_reader other(input);
  bool compared = true;
  while (!input.empty()) {
    arena memory;
    const auto whole = read_reply(input, &memory, [&] { return input.size(); });
    arena second;
    const auto cut = read_reply(input, &second, [&] { return 1 + random.below(1 + random.below(64)); });
    expect_same(whole, cut);
    BRAID_EXPECTS(whole.value == cut.value, "pieces make no difference to a value");
    const auto dropped = read_reply(input, nullptr, [&] { return 1 + random.below(64); });
    expect_same(whole, dropped);
    BRAID_EXPECTS(dropped.value.type() == whole.value.type(), "what is dropped has its type");
    if (whole.state == status::complete) {
      arena third;
      BRAID_EXPECTS(copied(whole.value, third) == whole.value, "a copy is the same");
    }
    if (whole.state == status::wrong) {
      if (compared) other.refuses_too(whole.fault, input);
      return;
    }
    compared = compared && other.agrees(whole, input);
    if (whole.state == status::incomplete) return;
    input.remove_prefix(whole.used);
  }
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
