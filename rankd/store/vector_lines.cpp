// rankd/store/vector_lines.cpp: reads vectors from lines of NDJSON, and reports all errors of a line.
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/detail/json_line.hpp>
#include <rankd/store/detail/vector_layout.hpp>
#include <rankd/store/line_reader.hpp>
#include <rankd/store/record_parser.hpp>
#include <rankd/store/vector_build.hpp>
#include <rankd/store/vector_file.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <simdjson.h>

namespace rankd {
namespace {

namespace dom = simdjson::dom;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> members{"id", "vector", "delete"};
constexpr std::size_t delete_member = 2;

/// Says which lines a reader accepts.
enum class line_kinds : std::uint8_t { vectors, changes };

/// Reads one file after the other, line by line.
class vector_reader {
 public:
  vector_reader(std::uint32_t dimensions, const vector_progress& progress) : progress_(progress) {
    table_.dimensions = dimensions;
    if (dimensions != 0) length_reason_.clear();
  }

  /// Creates a reader of changes to a file. The reader refuses a vector whose length differs from that of the file's
  /// vectors, and an id of another type than the file's ids.
  vector_reader(const vector_file& base, const vector_progress& progress) : vector_reader(base.dimensions(), progress) {
    kinds_ = line_kinds::changes;
    length_reason_ = ", as in the file that is changed";
    type_reason_ = length_reason_;
    ids_ = base.id_type() == value_type::string ? id_kind::texts : id_kind::numbers;
  }

  void read(const fs::path& file, std::uint64_t before, std::uint64_t total) {
    auto lines = line_reader::open(file);
    if (!lines) return unreadable(file, lines.error());
    files_.push_back(file);
    for (;;) {
      const auto line = lines->next();
      if (!line) return unreadable(file, line.error());
      if (!*line || is_full()) return;
      number_ = static_cast<std::uint32_t>((*line)->number);
      read_line(**line);
      constexpr std::uint32_t between = 1024;
      if (progress_ && number_ % between == 0) progress_(before + lines->bytes_done(), total);
    }
  }

  [[nodiscard]] auto is_full() const -> bool { return problems_.size() >= max_vector_diagnostics; }

  auto finish() && -> braid::checked<vector_changes> {
    if (is_full())
      problems_.append(make_diagnostic("too_many_diagnostics", "the rest was not read", "correct these lines first"));
    if (!problems_.empty()) return std::unexpected(std::move(problems_));
    if (table_.size() == 0 && kinds_ == line_kinds::vectors)
      return refused("no_vectors", "the files contain no vector", R"(write lines like {"id": 7, "vector": [0.5, -1]})");
    return vector_changes{.changed = std::move(table_), .deleted = std::move(deleted_)};
  }

 private:
  enum class id_kind : std::uint8_t { unknown, numbers, texts };

  /// A line of one of the files.
  struct line_place {
    std::uint32_t file = 0;
    std::uint32_t number = 0;
  };

  void report(std::string_view code, std::string_view pointer, std::string_view message, std::string_view hint = {}) {
    braid::diagnostic made = line_diagnostic(number_, code, pointer, message, hint);
    made.source = files_.back().string();
    problems_.add(std::move(made));
  }

  void wrong_type(std::string_view pointer, std::string_view expected, dom::element got, std::string_view hint = {}) {
    report("wrong_type", pointer, std::string(expected) + ", got " + std::string(detail::type_name(got)), hint);
  }

  void unreadable(const fs::path& file, std::error_code error) {
    problems_.append(make_diagnostic("data_unreadable", "the file cannot be read: " + error.message(), {}, file));
  }

  void read_line(const text_line& line) {
    if (line.too_long) return report("line_too_long", "", "the line is longer than 16 MiB");
    if (line.text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    dom::element root;
    const auto error = detail::parse_json_line(parser_, line.text, widened_, root);
    if (error != simdjson::SUCCESS) {
      const auto [code, message] = detail::refusal_of(error);
      return report(code, "", message);
    }
    if (!root.is_object()) return wrong_type("", "expected an object", root, R"(write {"id": 7, "vector": [0.5, -1]})");
    read_members(root.get_object().value_unsafe());
  }

  void read_members(dom::object object) {
    std::array<std::optional<dom::element>, members.size()> found;
    const std::size_t before = problems_.size();
    for (const dom::key_value_pair member : object) {
      const auto place = static_cast<std::size_t>(std::ranges::find(known(), member.key) - known().begin());
      const std::string pointer = braid::json_pointer("", member.key);
      if (is_full()) return;
      if (place == known().size())
        report("unknown_member", pointer, "there is no member " + quote_name(member.key),
               braid::did_you_mean(member.key, {known().begin(), known().end()}));
      else if (found[place])
        report("duplicate_member", pointer, quote_name(member.key) + " is given twice");
      else
        found[place] = member.value;
    }
    if (found[delete_member]) return read_deletion(found, before);
    for (std::size_t place = 0; place < delete_member; ++place)
      if (!found[place]) report("missing_member", "", "there is no `" + std::string(members[place]) + "`");
    if (problems_.size() != before) return;
    const auto id = read_id(*found[0], "/id");
    const bool is_read = read_numbers(*found[1]);
    if (id && is_read && problems_.size() == before) add(*id);
  }

  /// Returns the names of the members that a line may have.
  [[nodiscard]] auto known() const -> std::span<const std::string_view> {
    return std::span(members).first(kinds_ == line_kinds::changes ? members.size() : delete_member);
  }

  void read_deletion(const std::array<std::optional<dom::element>, members.size()>& found, std::size_t before) {
    for (std::size_t place = 0; place < delete_member; ++place)
      if (found[place])
        report("unknown_member", "/" + std::string(members[place]), "a line with `delete` must have no other member");
    if (problems_.size() != before) return;
    const auto id = read_id(*found[delete_member], "/delete");
    if (id && is_new(*id, "/delete")) deleted_.push_back(*id);
  }

  auto wrong_id_type(std::string_view pointer, std::string_view expected, std::string_view got) -> std::nullopt_t {
    report("wrong_type", pointer,
           "an id must be of type " + std::string(expected) + type_reason_ + ", got type " + std::string(got));
    return std::nullopt;
  }

  /// Reads an id of the type that the first line, or the file to be changed, has chosen.
  auto read_id(dom::element element, std::string_view pointer) -> std::optional<row_id> {
    std::int64_t number = 0;
    std::string_view text;
    if (element.get_string().get(text) == simdjson::SUCCESS) {
      if (ids_ == id_kind::numbers) return wrong_id_type(pointer, "integer", "string");
      if (!is_text_id(text))
        return report("bad_id", pointer, "an id must be " + std::string(id_sentence(value_type::string))), std::nullopt;
      ids_ = id_kind::texts;
      return std::string(text);
    }
    if (element.is_uint64() && !element.is_int64())
      return report("out_of_range", pointer, "an id must be a signed 64-bit integer"), std::nullopt;
    if (element.get_int64().get(number) != simdjson::SUCCESS)
      return wrong_type(pointer, "an id must be an integer of 64 bits or a string", element), std::nullopt;
    if (ids_ == id_kind::texts) return wrong_id_type(pointer, "string", "integer");
    ids_ = id_kind::numbers;
    return number;
  }

  auto read_numbers(dom::element element) -> bool {
    dom::array numbers;
    if (element.get_array().get(numbers) != simdjson::SUCCESS)
      return wrong_type("/vector", "expected an array of numbers", element), false;
    numbers_.clear();
    for (const dom::element item : numbers) {
      const std::string pointer = braid::json_pointer("/vector", numbers_.size() / sizeof(float));
      double number = 0;
      if (item.get_double().get(number) != simdjson::SUCCESS)
        return wrong_type(pointer, "expected a number", item), false;
      if (!append_vector_item(numbers_, number))
        return report("out_of_range", pointer, "the number is larger than any float32"), false;
    }
    const std::size_t size = vector_size(numbers_);
    if (size == 0) return report("wrong_length", "/vector", "a vector must have at least one number"), false;
    if (size > max_dimensions)
      return report("too_many_items", "/vector",
                    "a vector must have at most " + std::to_string(max_dimensions) + " numbers, got " +
                        std::to_string(size)),
             false;
    if (table_.dimensions == 0) table_.dimensions = static_cast<std::uint32_t>(size);
    if (size == table_.dimensions) return true;
    report("wrong_length", "/vector",
           "a vector must have " + counted(table_.dimensions, "number") + length_reason_ + ", got " +
               std::to_string(size));
    return false;
  }

  [[nodiscard]] auto counted_numbers() const -> std::string {
    return std::to_string(table_.dimensions) + (table_.dimensions == 1 ? " number" : " numbers");
  }

  /// Returns true if this id is new. If an earlier line already has the id, reports that and returns false.
  auto is_new(const row_id& id, std::string_view pointer) -> bool {
    const auto file = static_cast<std::uint32_t>(files_.size() - 1);
    const auto [place, is_new] = lines_.emplace(id, line_place{.file = file, .number = number_});
    const line_place& first = place->second;
    if (!is_new)
      report("duplicate_id", pointer,
             "the id " + to_text(id) + " already belongs to line " + std::to_string(first.number) +
                 (first.file == file ? "" : " of " + files_[first.file].string()));
    return is_new;
  }

  void add(const row_id& id) {
    if (!is_new(id, "/id")) return;
    const auto* const number = std::get_if<std::int64_t>(&id);
    table_.ids.push_back(number != nullptr ? *number : static_cast<std::int64_t>(table_.size()));
    if (number == nullptr) table_.texts.push_back(std::get<std::string>(id));
    for (std::size_t at = 0; at < table_.dimensions; ++at) table_.numbers.push_back(vector_item(numbers_, at));
  }

  const vector_progress& progress_;
  line_kinds kinds_ = line_kinds::vectors;
  vector_table table_;
  std::vector<row_id> deleted_;
  dom::parser parser_;
  std::string widened_;
  std::string numbers_;  // of the current line, as bytes
  std::unordered_map<row_id, line_place> lines_;
  id_kind ids_ = id_kind::unknown;
  std::string length_reason_ = ", as in the first vector";  // why vectors must have these dimensions
  std::string type_reason_ = ", as in the first line";      // the same for the type of ids
  std::vector<fs::path> files_;                             // that were opened; the last is read now
  std::uint32_t number_ = 0;
  braid::diagnostics problems_;
};

auto size_of(const fs::path& file) -> std::uint64_t {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  return error ? 0 : bytes;
}

auto read_all(vector_reader reader, std::span<const fs::path> files) -> braid::checked<vector_changes> {
  std::uint64_t total = 0;
  for (const fs::path& file : files) total += size_of(file);
  std::uint64_t before = 0;
  for (const fs::path& file : files) {
    if (reader.is_full()) break;
    reader.read(file, before, total);
    before += size_of(file);
  }
  return std::move(reader).finish();
}

}  // namespace

auto read_vectors(std::span<const fs::path> files, std::uint32_t dimensions, const vector_progress& progress)
    -> braid::checked<vector_table> {
  auto read = read_all(vector_reader(dimensions, progress), files);
  if (!read) return std::unexpected(std::move(read.error()));
  return std::move(read->changed);
}

auto read_vector_changes(std::span<const fs::path> files, const vector_file& base, const vector_progress& progress)
    -> braid::checked<vector_changes> {
  return read_all(vector_reader(base, progress), files);
}

}  // namespace rankd
