// rankd/store/record_parser.hpp: one line of NDJSON made into the bytes of one record.
#pragma once

#include <rankd/store/line_reader.hpp>
#include <rankd/store/record.hpp>
#include <rankd/store/vector_lengths.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace rankd {

struct parsed_record {
  std::string_view key;
  std::span<const std::byte> bytes;
};

/// Understands `{"hash": key, "fields": {name: text, …}}`, `{"list": key, "values": [id or text, …]}`,
/// `{"set": key, "members": [id or text, …]}`, `{"sorted_set": key, "scores": {member: number, …}}` and
/// `{"string": key, "value": text}`.
/// A list of integers only is packed; one with any text keeps text, and an integer in it becomes its decimal digits,
/// as in every set.
/// Threads: one. Lifetime: what a call returns is valid until the next one, and as long as the line.
class record_parser {
 public:
  /// Diagnostics about one line before the rest of it is left unread.
  static constexpr std::size_t max_diagnostics = 16;

  /// Vectors in fields of these names have these lengths.
  explicit record_parser(vector_lengths lengths = {});
  record_parser(record_parser&&) = delete;
  auto operator=(record_parser&&) -> record_parser& = delete;
  ~record_parser();

  /// Nothing for a blank line. A record that `append_record` makes a line of more than line_reader::longest bytes of is
  /// refused: a dump of it would not be read.
  /// Errors: each begins with `line N`, and its pointer leads into that line.
  auto parse(const text_line& line, std::uint32_t file) -> braid::checked<std::optional<parsed_record>>;

 private:
  class machine;

  std::unique_ptr<machine> machine_;
};

/// One diagnostic about a line of data.
auto line_diagnostic(std::uint32_t line, std::string_view code, std::string_view pointer, std::string_view message,
                     std::string_view hint) -> braid::diagnostic;

}  // namespace rankd
