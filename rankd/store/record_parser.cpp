// rankd/store/record_parser.cpp: parses a line of data, and reports all of its errors.
#include <rankd/store/record_parser.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/detail/json_line.hpp>
#include <rankd/store/detail/lmdb.hpp>
#include <rankd/store/dump.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/arena.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <simdjson.h>

namespace rankd {
namespace {

namespace dom = simdjson::dom;

auto is_blank(std::string_view text) -> bool { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

constexpr std::string_view delete_head = "delete";  // its body is that of a hash: `fields`, with another value
constexpr std::size_t hash_form = 0;                // the position of the form in the table
static_assert(record_forms[hash_form].kind == record_kind::hash);

/// The members of a line: for each kind of record, the member with the key (head) and the member with the value (body).
struct members {
  std::optional<dom::element> deleted;  ///< the key that the line deletes, or whose fields it deletes
  std::array<std::optional<dom::element>, record_forms.size()> heads;
  std::array<std::optional<dom::element>, record_forms.size()> bodies;

  auto named(std::string_view name) -> std::optional<dom::element>* {
    if (name == delete_head) return &deleted;
    for (std::size_t kind = 0; kind < record_forms.size(); ++kind) {
      if (name == record_forms[kind].head) return &heads[kind];
      if (name == record_forms[kind].body) return &bodies[kind];
    }
    return nullptr;
  }

  /// Returns the kinds of records whose key member (the head) is in the line.
  [[nodiscard]] auto kinds() const -> std::vector<std::size_t> {
    std::vector<std::size_t> out;
    for (std::size_t kind = 0; kind < heads.size(); ++kind)
      if (heads[kind]) out.push_back(kind);
    return out;
  }
};

/// Returns the key in a line if the key is a text, and an empty text otherwise.
auto key_of(dom::object object) -> std::string_view {
  for (const dom::key_value_pair member : object)
    if ((member.key == delete_head ||
         std::ranges::find(record_forms, member.key, &record_form::head) != record_forms.end()) &&
        member.value.is_string())
      return member.value.get_string().value_unsafe();
  return {};
}

auto in_backquotes(std::string_view name) -> std::string { return "`" + std::string(name) + "`"; }

}  // namespace

/// The buffers of a parser, and its state for the current line.
class record_parser::machine {
 public:
  explicit machine(vector_lengths lengths) : lengths_(std::move(lengths)) {}

  auto run(const text_line& line, std::uint32_t file) -> braid::checked<std::optional<parsed_record>>;

 private:
  auto deletion(const members& found) -> braid::checked<std::optional<parsed_record>>;
  void report(std::string_view code, std::string_view pointer, std::string_view message, std::string_view hint = {}) {
    const std::string record = key_.empty() ? std::string() : quote_name(key_) + ": ";
    diagnostics_.add(line_diagnostic(origin_.line, code, pointer, record + std::string(message), hint));
  }
  [[nodiscard]] auto full() const -> bool { return diagnostics_.size() >= max_diagnostics; }

  void wrong_type(std::string_view pointer, std::string_view wanted, dom::element found, std::string_view hint = {});
  auto read_document(std::string_view text) -> std::optional<dom::object>;
  auto read_members(dom::object object) -> members;
  void check_pairing(const members& found);
  void check_deletion(const members& found);
  void read_deleted_fields(dom::element element);
  auto read_key(dom::element element, std::string_view pointer) -> std::string_view;
  auto read_hash(dom::element element) -> std::span<const std::byte>;
  auto read_vector(dom::array numbers, std::string_view field) -> std::string_view;
  void find_twin_fields();
  auto read_list(dom::element element) -> std::span<const std::byte>;
  void read_element(dom::element element, std::string_view parent, std::size_t index);
  auto read_set(dom::element element) -> std::span<const std::byte>;
  auto read_sorted_set(dom::element element) -> std::span<const std::byte>;
  auto read_string(dom::element element) -> std::span<const std::byte>;
  auto read_body(record_kind kind, dom::element element) -> std::span<const std::byte>;
  void become_text();
  auto digits(std::int64_t id) -> std::string_view;
  void check_dump(std::string_view key, std::string_view pointer, std::span<const std::byte> bytes, std::size_t read);

  vector_lengths lengths_;
  dom::parser parser_;
  std::string widened_;
  record_builder builder_;
  braid::arena scratch_;
  braid::diagnostics diagnostics_;
  record_origin origin_;
  std::string_view key_;  ///< the key of the faulty record; empty if the line names no key
  std::vector<hash_field> fields_;
  std::vector<std::int64_t> ids_;
  std::vector<std::string_view> texts_;
  std::vector<scored_member> scored_;
  bool has_text_ = false;
};

void record_parser::machine::wrong_type(std::string_view pointer, std::string_view wanted, dom::element found,
                                        std::string_view hint) {
  report("wrong_type", pointer, "expected " + std::string(wanted) + ", got " + std::string(detail::type_name(found)),
         hint);
}

auto record_parser::machine::read_document(std::string_view text) -> std::optional<dom::object> {
  dom::element root;
  if (const auto error = detail::parse_json_line(parser_, text, widened_, root); error != simdjson::SUCCESS) {
    const auto [code, message] = detail::refusal_of(error);
    const bool has_column = error == simdjson::UTF8_ERROR;  // finding the others would need a second parser
    report(code, "",
           std::string(message) + (has_column ? " from column " + std::to_string(utf8_prefix(text) + 1) + " on" : ""));
    return std::nullopt;
  }
  if (!root.is_object()) {
    wrong_type("", "an object", root, R"(write {"hash":KEY,"fields":{…}} or {"list":KEY,"values":[…]}, say)");
    return std::nullopt;
  }
  return root.get_object().value_unsafe();
}

auto record_parser::machine::read_members(dom::object object) -> members {
  static const std::vector<std::string_view> known = [] {
    std::vector<std::string_view> names;
    for (const record_form& kind : record_forms) names.insert(names.end(), {kind.head, kind.body});
    names.push_back(delete_head);
    return names;
  }();
  members found;
  for (const dom::key_value_pair member : object) {
    if (full()) break;
    std::optional<dom::element>* const place = found.named(member.key);
    const std::string quoted = quote_name(member.key);
    if (place == nullptr)
      report("unknown_member", braid::json_pointer("", member.key), "there is no member " + quoted,
             braid::did_you_mean(member.key, known));
    else if (place->has_value())
      report("duplicate_member", braid::json_pointer("", member.key), quoted + " is given twice");
    else
      *place = member.value;
  }
  return found;
}

void record_parser::machine::check_pairing(const members& found) {
  const std::vector<std::size_t> kinds = found.kinds();
  if (kinds.size() + (found.deleted ? 1 : 0) > 1) {
    const std::string_view other = found.deleted ? delete_head : record_forms[kinds[1]].head;
    report("ambiguous_record", "",
           "a line is a " + std::string(record_forms[kinds[0]].head) + " or a " + std::string(other) + ", not both",
           "write two lines, each with its own key");
    return;
  }
  if (found.deleted) return check_deletion(found);
  if (kinds.empty()) {
    std::string heads;
    for (const record_form& form : record_forms) heads += (heads.empty() ? "" : ", ") + in_backquotes(form.head);
    report(
        "missing_member", "",
        "the line has no key; one of `hash`, `list`, `set`, `sorted_set`, `string` and `delete` must contain the key");
    return;
  }
  const std::string head = in_backquotes(record_forms[kinds[0]].head);
  const std::string body = in_backquotes(record_forms[kinds[0]].body);
  if (!found.bodies[kinds[0]]) report("missing_member", "", head + " needs " + body);
  for (std::size_t other = 0; other < record_forms.size(); ++other)
    if (other != kinds[0] && found.bodies[other])
      report("unknown_member", braid::json_pointer("", record_forms[other].body),
             head + " has no " + in_backquotes(record_forms[other].body), "write " + body);
}

void record_parser::machine::check_deletion(const members& found) {
  for (std::size_t kind = 0; kind < record_forms.size(); ++kind)
    if (kind != hash_form && found.bodies[kind])
      report("unknown_member", braid::json_pointer("", record_forms[kind].body),
             "`delete` has no " + in_backquotes(record_forms[kind].body),
             "use `fields` to delete fields of a hash, or leave it out to delete the whole key");
}

void record_parser::machine::read_deleted_fields(dom::element element) {
  if (!element.is_array()) return wrong_type("/fields", "an array of names", element);
  std::size_t index = 0;
  const dom::array array = element.get_array().value_unsafe();
  for (const dom::element item : array) {
    if (full()) break;
    const std::string pointer = braid::json_pointer("/fields", index++);
    if (!item.is_string())
      wrong_type(pointer, "the name of a field", item);
    else if (item.get_string().value_unsafe().empty())
      report("empty_field", pointer, "a field has no name");
    else
      texts_.push_back(item.get_string().value_unsafe());
  }
  if (index == 0) report("no_fields", "/fields", "no field is named", "remove `fields` to delete the whole key");
  std::ranges::sort(texts_);
  for (auto at = std::ranges::adjacent_find(texts_); at != texts_.end() && !full();
       at = std::adjacent_find(std::next(at), texts_.end()))
    report("duplicate_field", "/fields", "the field " + quote_name(*at) + " is given twice");
}

auto record_parser::machine::read_key(dom::element element, std::string_view pointer) -> std::string_view {
  if (!element.is_string()) {
    wrong_type(pointer, "a string", element);
    return {};
  }
  const std::string_view key = element.get_string().value_unsafe();
  if (key.empty()) report("empty_key", pointer, "the key is empty");
  if (key.size() > lmdb::max_key)
    report("key_too_long", pointer,
           "the key has " + std::to_string(key.size()) + " bytes; at most " + std::to_string(lmdb::max_key) +
               " are allowed");
  return key;
}

auto record_parser::machine::read_hash(dom::element element) -> std::span<const std::byte> {
  fields_.clear();
  if (!element.is_object()) {
    wrong_type("/fields", "an object", element);
    return {};
  }
  const dom::object object = element.get_object().value_unsafe();  // named: a range-for would keep a dead temporary
  for (const dom::key_value_pair field : object) {
    if (full()) break;
    if (field.key.empty()) report("empty_field", "/fields/", "a field has no name");
    if (field.value.is_string())
      fields_.push_back({field.key, field.value.get_string().value_unsafe()});
    else if (field.value.is_array())
      fields_.push_back({field.key, read_vector(field.value.get_array().value_unsafe(), field.key)});
    else
      wrong_type(braid::json_pointer("/fields", field.key), "a string or a vector", field.value,
                 "write numbers as strings: \"1.5\"");
  }
  std::sort(fields_.begin(), fields_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  find_twin_fields();
  return builder_.hash(fields_, origin_);
}

/// Reads an array of numbers as a vector, and returns the bytes of the vector.
auto record_parser::machine::read_vector(dom::array numbers, std::string_view field) -> std::string_view {
  const std::string pointer = braid::json_pointer("/fields", field);
  std::string bytes;
  std::size_t index = 0;
  for (const dom::element item : numbers) {
    if (full()) break;
    const std::string at = braid::json_pointer(pointer, index++);
    double number = 0;
    if (item.get_double().get(number) != simdjson::SUCCESS)
      wrong_type(at, "a number", item);
    else if (!append_vector_item(bytes, number))
      report("out_of_range", at, "the number is larger than any float32");
  }
  if (index == 0) report("empty_vector", pointer, "a vector must have at least one number");
  if (index > max_dimensions)
    report(
        "too_many_items", pointer,
        "the vector has " + counted(index, "number") + "; at most " + std::to_string(max_dimensions) + " are allowed");
  const auto known = lengths_.find(field);
  if (index != 0 && index <= max_dimensions && known != lengths_.end() && index != known->second)
    report("wrong_length", pointer,
           "the vector has " + counted(index, "number") + ", but the key " + quote_name(known->first) + " has " +
               counted(known->second, "dimension"),
           "write as many numbers as keys.toml declares; a vector of another length would be read as null");
  return scratch_.copied(std::string_view(bytes));
}

void record_parser::machine::find_twin_fields() {
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
  for (auto at = std::adjacent_find(fields_.begin(), fields_.end(), same); at != fields_.end() && !full();
       at = std::adjacent_find(std::next(at), fields_.end(), same))
    report("duplicate_field", braid::json_pointer("/fields", at->name),
           "the field " + quote_name(at->name) + " is given twice");
}

auto record_parser::machine::read_list(dom::element element) -> std::span<const std::byte> {
  ids_.clear();
  texts_.clear();
  has_text_ = false;
  if (!element.is_array()) {
    wrong_type("/values", "an array", element);
    return {};
  }
  std::size_t index = 0;
  const dom::array array = element.get_array().value_unsafe();
  for (const dom::element item : array) {
    if (full()) break;
    read_element(item, "/values", index++);
  }
  return has_text_ ? builder_.text_list(texts_, origin_) : builder_.id_list(ids_, origin_);
}

auto record_parser::machine::read_set(dom::element element) -> std::span<const std::byte> {
  ids_.clear();
  texts_.clear();
  has_text_ = true;  // members are texts
  if (!element.is_array()) {
    wrong_type("/members", "an array", element);
    return {};
  }
  std::size_t index = 0;
  const dom::array array = element.get_array().value_unsafe();
  for (const dom::element item : array) {
    if (full()) break;
    read_element(item, "/members", index++);
  }
  std::ranges::sort(texts_);
  for (auto at = std::ranges::adjacent_find(texts_); at != texts_.end() && !full();
       at = std::adjacent_find(std::next(at), texts_.end()))
    report("duplicate_value", "/members", "the member " + quote_name(*at) + " is given twice");
  return builder_.set(texts_, origin_);
}

auto record_parser::machine::read_sorted_set(dom::element element) -> std::span<const std::byte> {
  scored_.clear();
  if (!element.is_object()) {
    wrong_type("/scores", "an object", element);
    return {};
  }
  const dom::object object = element.get_object().value_unsafe();  // named: a range-for would keep a dead temporary
  for (const dom::key_value_pair member : object) {
    if (full()) break;
    double score = 0;
    if (member.value.get_double().get(score) == simdjson::SUCCESS)
      scored_.push_back({member.key, score + 0.0});  // -0 is 0, as in Redis
    else
      wrong_type(braid::json_pointer("/scores", member.key), "a number", member.value);
  }
  std::ranges::sort(scored_, {}, &scored_member::text);
  const auto same = [](const auto& a, const auto& b) { return a.text == b.text; };
  for (auto at = std::ranges::adjacent_find(scored_, same); at != scored_.end() && !full();
       at = std::adjacent_find(std::next(at), scored_.end(), same))
    report("duplicate_value", braid::json_pointer("/scores", at->text),
           "the member " + quote_name(at->text) + " is given twice");
  std::ranges::sort(scored_, [](const scored_member& a, const scored_member& b) {
    return a.score < b.score || (a.score == b.score && a.text < b.text);
  });
  return builder_.sorted_set(scored_, origin_);
}

auto record_parser::machine::read_string(dom::element element) -> std::span<const std::byte> {
  if (element.is_string()) return builder_.string(element.get_string().value_unsafe(), origin_);
  wrong_type("/value", "a string", element, "write numbers as strings: \"1.5\"");
  return {};
}

auto record_parser::machine::read_body(record_kind kind, dom::element element) -> std::span<const std::byte> {
  switch (kind) {
    case record_kind::hash: return read_hash(element);
    case record_kind::id_list:
    case record_kind::text_list: return read_list(element);
    case record_kind::set: return read_set(element);
    case record_kind::sorted_set: return read_sorted_set(element);
    case record_kind::string: return read_string(element);
  }
  return {};
}

void record_parser::machine::read_element(dom::element element, std::string_view parent, std::size_t index) {
  if (element.is_string()) {
    become_text();
    texts_.push_back(element.get_string().value_unsafe());
    return;
  }
  std::int64_t id = 0;
  if (element.get_int64().get(id) == simdjson::SUCCESS) {
    if (has_text_)
      texts_.push_back(digits(id));
    else
      ids_.push_back(id);
    return;
  }
  const std::string pointer = braid::json_pointer(parent, index);
  if (element.type() == dom::element_type::UINT64)
    report("id_out_of_range", pointer, "the integer does not fit into a signed 64-bit integer",
           "ids are at most 9223372036854775807");
  else
    wrong_type(pointer, "an integer or a string", element);
}

void record_parser::machine::become_text() {
  if (has_text_) return;
  has_text_ = true;
  for (const std::int64_t id : ids_) texts_.push_back(digits(id));
}

auto record_parser::machine::digits(std::int64_t id) -> std::string_view {
  std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), id).ptr;
  return scratch_.copied(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

/// Refuses a line for which a dump would write a line that is too long. The dumped line may be longer, because a dump
/// escapes control characters, and quotes integers next to text.
void record_parser::machine::check_dump(std::string_view key, std::string_view pointer,
                                        std::span<const std::byte> bytes, std::size_t read) {
  constexpr std::size_t max_for_a_byte = 6;  // \u007f
  if (read <= line_reader::max_bytes / max_for_a_byte) return;
  std::string line;
  append_record(line, key, *record_view::parse(bytes));
  const std::size_t length = line.size() - 1;  // without its line feed
  if (length > line_reader::max_bytes)
    report("record_too_long", pointer,
           "`rankd dump` would write the record as a line of " + std::to_string(length) + " bytes; at most " +
               std::to_string(line_reader::max_bytes) + " are allowed",
           "divide it among several keys");
}

auto record_parser::machine::deletion(const members& found) -> braid::checked<std::optional<parsed_record>> {
  const std::string_view key = read_key(*found.deleted, "/delete");
  texts_.clear();
  if (found.bodies[hash_form]) read_deleted_fields(*found.bodies[hash_form]);
  if (!diagnostics_.empty()) return std::unexpected(diagnostics_);
  return parsed_record{.key = key, .bytes = {}, .origin = origin_, .fields = texts_};
}

auto record_parser::machine::run(const text_line& line, std::uint32_t file)
    -> braid::checked<std::optional<parsed_record>> {
  diagnostics_ = {};
  scratch_.reset();
  origin_ = {file, static_cast<std::uint32_t>(line.number)};
  key_ = {};
  if (line.too_long) {
    report("line_too_long", "", "the line is longer than 16 MiB");
    return std::unexpected(diagnostics_);
  }
  if (is_blank(line.text)) return std::nullopt;

  const auto document = read_document(line.text);
  if (document) key_ = key_of(*document);
  const members found = document ? read_members(*document) : members{};
  if (document) check_pairing(found);
  std::string_view key;
  std::string pointer;
  for (const std::size_t kind : found.kinds()) {
    pointer = braid::json_pointer("", record_forms[kind].head);
    key = read_key(*found.heads[kind], pointer);
  }
  if (found.deleted && found.kinds().empty()) return deletion(found);
  std::span<const std::byte> bytes;
  for (std::size_t kind = 0; kind < record_forms.size(); ++kind)
    if (found.bodies[kind]) bytes = read_body(record_forms[kind].kind, *found.bodies[kind]);
  if (diagnostics_.empty()) check_dump(key, pointer, bytes, line.text.size());
  if (!diagnostics_.empty()) return std::unexpected(diagnostics_);
  return parsed_record{.key = key, .bytes = bytes, .origin = origin_};
}

record_parser::record_parser(vector_lengths lengths) : machine_(std::make_unique<machine>(std::move(lengths))) {}
record_parser::~record_parser() = default;

auto record_parser::parse(const text_line& line, std::uint32_t file) -> braid::checked<std::optional<parsed_record>> {
  return machine_->run(line, file);
}

auto line_diagnostic(std::uint32_t line, std::string_view code, std::string_view pointer, std::string_view message,
                     std::string_view hint) -> braid::diagnostic {
  return {.code = std::string(code),
          .pointer = std::string(pointer),
          .message = "line " + std::to_string(line) + ": " + std::string(message),
          .hint = std::string(hint),
          .node = {},
          .source = {}};
}

}  // namespace rankd
