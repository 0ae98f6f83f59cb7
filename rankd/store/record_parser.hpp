// rankd/store/record_parser.hpp: a parser that converts one line of NDJSON to the bytes of one record.
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

/// The content of a line: a new record, or the deletion of a key or of fields.
struct parsed_record {
  std::string_view key;
  std::span<const std::byte> bytes;  ///< the bytes of the record; empty if the line deletes something
  record_origin origin = {};
  /// The fields to delete from a hash. If a line deletes something but lists no fields, it deletes the whole key.
  std::span<const std::string_view> fields = {};

  [[nodiscard]] auto deletes() const noexcept -> bool { return bytes.empty(); }
};

/// Parses `{"hash": key, "fields": {name: text, …}}`, `{"list": key, "values": [id or text, …]}`, `{"set": key,
/// "members": [id or text, …]}`, `{"sorted_set": key, "scores": {member: number, …}}`, `{"string": key, "value":
/// text}`,
/// `{"delete": key}` and `{"delete": key, "fields": [name, …]}`. A list that contains only integers is packed. In other
/// lists, and in all sets, an integer is stored as its decimal digits. Threads: a single thread. Lifetime: a result is
/// valid until the next call, and as long as the line.
class record_parser {
 public:
  /// After this number of diagnostics about one line, the parser skips the rest of the line.
  static constexpr std::size_t max_diagnostics = 16;

  /// Requires that each vector in a field named in `lengths` has the length given there.
  explicit record_parser(vector_lengths lengths = {});
  record_parser(record_parser&&) = delete;
  auto operator=(record_parser&&) -> record_parser& = delete;
  ~record_parser();

  /// Parses a line. Returns nothing for a blank line. Refuses a record if the line that `append_record` would write for
  /// it has more than line_reader::longest bytes, because a load could not read that line. Errors: each message begins
  /// with `line N`, and each pointer refers to a part of that line.
  auto parse(const text_line& line, std::uint32_t file) -> braid::checked<std::optional<parsed_record>>;

 private:
  class machine;

  std::unique_ptr<machine> machine_;
};

/// Returns one diagnostic about a line of data.
auto line_diagnostic(std::uint32_t line, std::string_view code, std::string_view pointer, std::string_view message,
                     std::string_view hint) -> braid::diagnostic;

}  // namespace rankd
