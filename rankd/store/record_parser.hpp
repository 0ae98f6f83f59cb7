// rankd/store/record_parser.hpp: parses one line of NDJSON into the bytes of one record.
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

/// What a line says about one key: a new record, or what to delete.
struct parsed_record {
  std::string_view key;
  std::span<const std::byte> bytes;  ///< of the record; empty if the line deletes
  record_origin origin = {};
  std::span<const std::string_view> fields = {};  ///< of a hash, to delete; empty: a line that deletes means the key

  [[nodiscard]] auto deletes() const noexcept -> bool { return bytes.empty(); }
};

/// Parses `{"hash": key, "fields": {name: text, …}}`, `{"list": key, "values": [id or text, …]}`, `{"set": key,
/// "members": [id or text, …]}`, `{"sorted_set": key, "scores": {member: number, …}}`, `{"string": key, "value":
/// text}`,
/// `{"delete": key}` and `{"delete": key, "fields": [name, …]}`. A list of only integers is packed; a list with any
/// text keeps text, and an integer in it becomes its decimal digits, as in every set. Threads: one. Lifetime: a result
/// is valid until the next call, and as long as the line.
class record_parser {
 public:
  /// The number of diagnostics about one line after which the rest of it is not read.
  static constexpr std::size_t max_diagnostics = 16;

  /// Requires these lengths for vectors in fields of these names.
  explicit record_parser(vector_lengths lengths = {});
  record_parser(record_parser&&) = delete;
  auto operator=(record_parser&&) -> record_parser& = delete;
  ~record_parser();

  /// Returns nothing for a blank line. A record is refused if its line by `append_record` has more than
  /// line_reader::longest bytes: its dump could not be read.
  /// Errors: each begins with `line N`, and its pointer leads into that line.
  auto parse(const text_line& line, std::uint32_t file) -> braid::checked<std::optional<parsed_record>>;

 private:
  class machine;

  std::unique_ptr<machine> machine_;
};

/// Returns one diagnostic about a line of data.
auto line_diagnostic(std::uint32_t line, std::string_view code, std::string_view pointer, std::string_view message,
                     std::string_view hint) -> braid::diagnostic;

}  // namespace rankd
