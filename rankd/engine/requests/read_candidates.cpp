// rankd/engine/requests/read_candidates.cpp: parses the candidates of a request, as rows or as columns, in one pass.
#include <rankd/engine/detail/read_candidates.hpp>

#include <rankd/engine/detail/diagnostic_list.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/rows/column_builder.hpp>
#include <rankd/store/id_batch.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

using json = nlohmann::json;

constexpr std::string_view root = "/candidates";
constexpr std::string_view id_name = "id";

auto integer_id(const json& value) -> std::optional<std::int64_t> {
  if (value.is_string()) return parse_id(*value.get_ptr<const std::string*>());
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())) return std::nullopt;
  return value.get<std::int64_t>();
}

/// A list of errors with a maximum length. Further errors are only counted.
class problem_list {
 public:
  problem_list(std::size_t max_count, braid::diagnostics& out) noexcept : max_count_(max_count), out_(&out) {}

  void add(std::string code, std::string pointer, std::string message, std::string hint = {}) {
    ++count_;
    if (!has_room()) return;
    diagnostic_list{*out_}.add(std::move(code), std::move(pointer), std::move(message), std::move(hint));
  }

  [[nodiscard]] auto has_room() const noexcept -> bool { return out_->size() < max_count_; }
  [[nodiscard]] auto none() const noexcept -> bool { return count_ == 0; }

 private:
  std::size_t max_count_;
  braid::diagnostics* out_;
  std::size_t count_ = 0;  // of all, added or not
};

/// Builds the column of one key. The column is built from one JSON value for each row.
class column_maker {
 public:
  column_maker(const key_entry& key, std::size_t rows, braid::arena& memory)
      : key_(&key), values_(make_builder(key.type, rows, memory)) {}

  [[nodiscard]] auto key() const noexcept -> const key_entry& { return *key_; }

  /// Appends a value without conversion if it has the usual JSON type of this key's values. Returns false otherwise.
  [[nodiscard]] auto push_common(const json& value) -> bool {
    if (auto* floats = std::get_if<column_builder<double>>(&values_)) {
      if (!value.is_number_float()) return false;
      floats->push(*value.get_ptr<const json::number_float_t*>());
    } else if (auto* texts = std::get_if<column_builder<std::string_view>>(&values_)) {
      if (!value.is_string() || key_->dimensions != 0) return false;
      texts->push(*value.get_ptr<const std::string*>());
    } else if (auto* flags = std::get_if<column_builder<bool>>(&values_)) {
      if (!value.is_boolean()) return false;
      flags->push(*value.get_ptr<const bool*>());
    } else {
      return false;
    }
    return true;
  }

  /// Appends a number. Requires a value of the key's type.
  void push(const scalar& value) {
    if (const auto* number = std::get_if<double>(&value))
      std::get<column_builder<double>>(values_).push(*number);
    else
      std::get<column_builder<std::int64_t>>(values_).push(std::get<std::int64_t>(value));
  }

  /// Appends a vector. Requires a key of type vector, and a vector with as many numbers as the key has dimensions.
  void push_vector(std::string_view bytes) { std::get<column_builder<std::string_view>>(values_).push(bytes); }

  void push_null() {
    std::visit([](auto& builder) { builder.push_null(); }, values_);
  }

  [[nodiscard]] auto finish() -> column {
    column made = std::visit([](auto& builder) { return builder.finish(); }, values_);
    if (auto* text = std::get_if<string_values>(&made.values)) text->dimensions = key_->dimensions;
    return made;
  }

 private:
  using builders = std::variant<column_builder<double>, column_builder<std::int64_t>, column_builder<bool>,
                                column_builder<std::string_view>>;

  static auto make_builder(value_type type, std::size_t rows, braid::arena& memory) -> builders {
    switch (type) {
      case value_type::integer: return column_builder<std::int64_t>(memory, rows);
      case value_type::boolean: return column_builder<bool>(memory, rows);
      case value_type::vector:
      case value_type::string: return column_builder<std::string_view>(memory, rows);
      case value_type::floating: break;
    }
    return column_builder<double>(memory, rows);
  }

  const key_entry* key_;
  builders values_;
};

/// The common base of the parsers for rows and for columns.
class candidates_reader {
 public:
  candidates_reader(const registries& declared, problem_list& problems)
      : made_(std::make_shared<candidate_rows>()), declared_(&declared), problems_(&problems) {}

 protected:
  /// Allocates memory for the ids of `rows` rows. Reports an error and returns false if a request must not contain so
  /// many rows.
  auto announce(std::size_t rows, const std::string& pointer) -> bool {
    if (rows > max_candidates) {
      problems_->add("too_many_candidates", pointer,
                     "the request has " + std::to_string(rows) + " candidates; at most " +
                         std::to_string(max_candidates) + " are allowed");
      return false;
    }
    rows_ = rows;
    if (declared_->id_type() == value_type::string)
      codes_ = made_->memory.uninitialized<std::uint32_t>(rows);
    else
      ids_ = made_->memory.uninitialized<std::int64_t>(rows);
    return true;
  }

  /// Returns the key of a column. If there is no such key, or if a request must not set this key, reports an error and
  /// returns null.
  auto find_key(const std::string& name, const std::string& pointer) -> const key_entry* {
    const key_entry* key = declared_->find_key(name);
    if (key == nullptr) {
      if (problems_->has_room())  // a hint is expensive
        problems_->add("unknown_key", pointer, "no key is called " + quote_name(name),
                       braid::did_you_mean(name, declared_->key_names()));
      return nullptr;
    }
    if (key->status == lifecycle::blocked)
      problems_->add("blocked_key", pointer, "key `" + name + "` is blocked", declared_->successor_hint(*key));
    else if (!key->allow_write)
      problems_->add("unwritable_key", pointer, "key `" + name + "` is not writable, so a request cannot set it");
    else
      return key;
    return nullptr;
  }

  template <typename PointerOf>
  void read_id(const json& value, std::size_t row, PointerOf pointer_of) {
    const value_type type = declared_->id_type();
    if (type == value_type::string ? read_text(value, row) : read_integer(value, row)) return;
    if (problems_->has_room()) problems_->add("bad_id", pointer_of(), "an id is " + refused_id(value, type));
  }

  template <typename PointerOf>
  void read_value(const json& value, column_maker& into, PointerOf pointer_of) {
    if (into.push_common(value)) return;
    if (value.is_null()) {
      into.push_null();
      if (!into.key().nullable && problems_->has_room())
        problems_->add("null_value", pointer_of(), "key `" + into.key().name + "` must not be null");
      return;
    }
    if (into.key().type == value_type::vector) return read_vector(value, into, pointer_of);
    const auto read = scalar_from_json(value, into.key().type);
    if (read) return into.push(*read);
    into.push_null();
    if (problems_->has_room())
      problems_->add(read.error().code, pointer_of(), "`" + into.key().name + "` " + read.error().message);
  }

  /// Parses a vector: an array with as many numbers as the key has dimensions.
  template <typename PointerOf>
  void read_vector(const json& value, column_maker& into, PointerOf pointer_of) {
    const auto refuse = [&](std::string code, const std::string& problem) {
      into.push_null();
      if (problems_->has_room()) problems_->add(std::move(code), pointer_of(), "`" + into.key().name + "` " + problem);
    };
    if (!value.is_array()) return refuse("wrong_type", "must be an array of numbers, not " + described(value));
    if (value.size() != into.key().dimensions)
      return refuse("wrong_length", "has " + counted(into.key().dimensions, "dimension") + ", but the value has " +
                                        counted(value.size(), "number"));
    std::string bytes;
    for (const json& each : value) {
      if (!each.is_number()) return refuse("wrong_type", "must be an array of numbers, not of " + described(each));
      if (!append_vector_item(bytes, each.get<double>()))
        return refuse("out_of_range", "holds " + each.dump() + ", which does not fit into a float32");
    }
    into.push_vector(bytes);
  }

  /// Returns the columns, sorted by key. Requires that there were no errors.
  auto finish(std::vector<column_maker>& makers, const std::vector<std::uint32_t>& first_rows, candidates_form form)
      -> std::shared_ptr<const candidate_rows> {
    std::vector<std::size_t> order(makers.size());
    for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
    std::ranges::sort(order, {}, [&makers](std::size_t index) { return makers[index].key().key_id; });
    const auto columns = made_->memory.uninitialized<keyed_column>(makers.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
      column_maker& from = makers[order[at]];
      columns[at] = {.key_id = from.key().key_id, .values = from.finish()};
      made_->first_rows.push_back(first_rows[order[at]]);
    }
    if (declared_->id_type() == value_type::string)
      made_->rows = batch(string_values{codes_, words_.finish()}, columns);
    else
      made_->rows = batch(ids_, columns);
    made_->form = form;
    return std::move(made_);
  }

  auto memory() -> braid::arena& { return made_->memory; }
  auto problems() -> problem_list& { return *problems_; }
  [[nodiscard]] auto rows() const noexcept -> std::size_t { return rows_; }

 private:
  auto read_integer(const json& value, std::size_t row) -> bool {
    const std::optional<std::int64_t> id = integer_id(value);
    ids_[row] = id.value_or(0);
    return id.has_value();
  }

  auto read_text(const json& value, std::size_t row) -> bool {
    const auto* text = value.get_ptr<const std::string*>();
    const bool is_id = text != nullptr && is_text_id(*text);
    codes_[row] = is_id ? words_.intern(*text) : 0;
    return is_id;
  }

  std::shared_ptr<candidate_rows> made_;
  const registries* declared_;
  problem_list* problems_;
  std::size_t rows_ = 0;
  std::span<std::int64_t> ids_;     // if ids are integers
  std::span<std::uint32_t> codes_;  // if ids are texts
  dictionary_builder words_{made_->memory};
};

/// Parses candidates in columns, such as `{"id": […], "price": […]}`.
class columns_reader : candidates_reader {
 public:
  using candidates_reader::candidates_reader;

  auto read(const json& columns) -> std::shared_ptr<const candidate_rows> {
    const auto ids = columns.find(id_name);
    if (ids == columns.end())
      problems().add("missing_field", std::string(root),
                     "the column `id` is missing: it determines the number of rows");
    else
      has_ids_ = is_array(*ids, id_name);
    if (has_ids_ && !announce(ids->size(), braid::json_pointer(root, id_name))) return nullptr;
    for (const auto& [name, values] : columns.items()) {
      if (!problems().has_room()) break;
      read_column(name, values);
    }
    if (!problems().none()) return nullptr;
    return finish(makers_, std::vector<std::uint32_t>(makers_.size()), candidates_form::columns);
  }

 private:
  auto is_array(const json& values, std::string_view name) -> bool {
    if (values.is_array()) return true;
    problems().add("wrong_type", braid::json_pointer(root, name),
                   "the column " + quote_name(name) + " must be an array, not " + described(values));
    return false;
  }

  void read_column(const std::string& name, const json& values) {
    const std::string pointer = braid::json_pointer(root, name);
    const auto pointer_of = [&pointer](std::size_t row) {
      return [&pointer, row] { return braid::json_pointer(pointer, row); };
    };
    if (name == id_name) {
      for (std::size_t row = 0; row < rows(); ++row) read_id(values[row], row, pointer_of(row));
      return;
    }
    const key_entry* key = find_key(name, pointer);
    if (key == nullptr || !is_array(values, name) || !has_ids_) return;
    if (values.size() != rows())
      return problems().add("wrong_length", pointer,
                            "the column `" + name + "` has " + counted(values.size(), "value") +
                                ", but the column `id` has " + std::to_string(rows()));
    column_maker& into = makers_.emplace_back(*key, rows(), memory());
    for (std::size_t row = 0; row < rows(); ++row) read_value(values[row], into, pointer_of(row));
  }

  bool has_ids_ = false;
  std::vector<column_maker> makers_;
};

/// Parses candidates in rows, such as `[{"id": 17, "price": 9.5}, …]`.
class rows_reader : candidates_reader {
 public:
  using candidates_reader::candidates_reader;

  auto read(const json& rows) -> std::shared_ptr<const candidate_rows> {
    if (!announce(rows.size(), std::string(root))) return nullptr;
    for (std::size_t row = 0; row < rows.size() && problems().has_room(); ++row) read_row(rows[row], row);
    if (!problems().none()) return nullptr;
    return finish(makers_, first_rows_, candidates_form::rows);
  }

 private:
  static constexpr std::size_t no_maker = ~std::size_t{0};

  /// A field name that occurs in the rows. The names are stored in the order of their first occurrence.
  struct seen_name {
    std::string name;
    std::size_t maker = no_maker;  // no_maker: `id`, or a name that was refused
    std::size_t rows = 0;          // the number of rows that have a value
    bool is_missed = false;        // a row without it has been reported
  };

  static auto pointer_of(std::size_t row) -> std::string { return braid::json_pointer(root, row); }

  void read_row(const json& fields, std::size_t row) {
    if (!fields.is_object()) {
      problems().add("wrong_type", pointer_of(row), "a candidate must be an object, not " + described(fields));
      for (seen_name& seen : names_) skip(seen);
      return;
    }
    bool has_id = false;
    std::size_t next = 0;  // rows mostly have the same names
    for (auto field = fields.begin(); field != fields.end(); ++field) {
      if (!problems().has_room()) return;
      const std::string& name = field.key();
      const auto pointer = [row, &name] { return braid::json_pointer(pointer_of(row), name); };
      if (name == id_name) {
        has_id = true;
        read_id(*field, row, pointer);
        continue;
      }
      seen_name& seen = find_name(name, next, row);
      if (seen.maker == no_maker) continue;
      read_value(*field, makers_[seen.maker], pointer);
      ++seen.rows;
    }
    if (!has_id) problems().add("missing_field", pointer_of(row), "the field `id` is missing");
    for (seen_name& seen : names_) miss(seen, row);
  }

  auto find_name(const std::string& name, std::size_t& next, std::size_t row) -> seen_name& {
    if (next < names_.size() && names_[next].name == name) return names_[next++];
    const auto at = std::ranges::find(names_, name, &seen_name::name);
    if (at != names_.end()) {
      next = static_cast<std::size_t>(at - names_.begin()) + 1;
      return *at;
    }
    return names_.emplace_back(new_name(name, row));
  }

  auto new_name(const std::string& name, std::size_t row) -> seen_name {
    seen_name seen{.name = name};
    const key_entry* key = find_key(name, braid::json_pointer(pointer_of(row), name));
    if (key == nullptr) return seen;
    seen.maker = makers_.size();
    makers_.emplace_back(*key, rows(), memory());
    first_rows_.push_back(static_cast<std::uint32_t>(row));
    for (std::size_t before = 0; before < row; ++before) miss(seen, before);
    return seen;
  }

  void skip(seen_name& seen) {
    if (seen.maker == no_maker) return;
    makers_[seen.maker].push_null();
    ++seen.rows;
  }

  /// Adds a null for a row that does not have the field.
  void miss(seen_name& seen, std::size_t row) {
    if (seen.maker == no_maker || seen.rows > row) return;
    skip(seen);
    if (makers_[seen.maker].key().nullable || std::exchange(seen.is_missed, true)) return;
    problems().add("missing_field", pointer_of(row),
                   "the field `" + seen.name + "` is missing: other candidates have it, and it must not be null");
  }

  std::vector<seen_name> names_;
  std::vector<column_maker> makers_;
  std::vector<std::uint32_t> first_rows_;  // of each maker
};

}  // namespace

auto id_from_json(const nlohmann::json& value, value_type type) -> std::optional<row_id> {
  if (type == value_type::string) {
    const auto* text = value.get_ptr<const std::string*>();
    return text != nullptr && is_text_id(*text) ? std::optional<row_id>(*text) : std::nullopt;
  }
  const auto number = integer_id(value);
  return number ? std::optional<row_id>(*number) : std::nullopt;
}

auto refused_id(const nlohmann::json& value, value_type type) -> std::string {
  std::string what = described(value);
  if (const auto* text = value.get_ptr<const std::string*>(); text != nullptr && type == value_type::string)
    what = text->size() > max_id_bytes ? "a string of " + std::to_string(text->size()) + " bytes"
           : text->empty()             ? "an empty string"
                                       : "a string with NUL";
  return std::string(id_sentence(type)) + ", not " + what;
}

auto read_candidates(const nlohmann::json& value, const registries& declared, std::size_t max_problems,
                     braid::diagnostics& problems) -> std::shared_ptr<const candidate_rows> {
  problem_list found(max_problems, problems);
  if (value.is_array()) return rows_reader(declared, found).read(value);
  if (value.is_object()) return columns_reader(declared, found).read(value);
  found.add("wrong_type", std::string(root),
            "candidates must be an array of objects, or an object of arrays, not " + described(value));
  return nullptr;
}

}  // namespace rankd::detail
