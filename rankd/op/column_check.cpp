// rankd/op/column_check.cpp: compares the columns of records with the columns that plans read from these records.
#include <rankd/op/column_check.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/op/detail/stored_columns.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/store/record_parser.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace rankd {
namespace {

constexpr std::uint64_t max_examples = 3;
constexpr std::size_t max_names = 50;
constexpr std::size_t max_unread = 20;

/// Returns the option that names the store endpoint of a node, or null if the node has no such option.
auto find_endpoint_param(const plan_node& node) -> const plan_param* {
  const auto at = std::ranges::find(node.params, param_kind::endpoint_ref, &plan_param::kind);
  return at == node.params.end() ? nullptr : &*at;
}

/// Returns the forms of the keys that a node reads, such as `user:{id}`. Returns an empty list if the node reads no
/// records.
auto list_forms(const plan_node& node) -> std::vector<std::string> {
  if (find_endpoint_param(node) == nullptr) return {};
  const read_records& records = find_op(node.op)->records;
  const plan_param* const prefix = records.prefix_option.empty() ? nullptr : node.find_param(records.prefix_option);
  std::vector<std::string> out;
  for (const std::string_view form : records.keys) {
    const std::string_view rest = prefix == nullptr ? form : form.substr(form.find(':'));
    out.push_back((prefix == nullptr ? "" : std::get<std::string>(prefix->value)) + std::string(rest));
  }
  for (const plan_param& param : node.params)
    if (param.kind == param_kind::key_template) out.push_back(std::get<std::string>(param.value));
  return out;
}

/// Returns true if some operator reads keys with this prefix whatever its options are. Data may contain such keys even
/// if no plan reads them.
auto is_fixed(std::string_view key) -> bool {
  const auto begins = [key](std::string_view form) { return key.starts_with(form.substr(0, form.find(':') + 1)); };
  return std::ranges::any_of(all_ops(), [&](const op_entry& op) {
    return op.records.prefix_option.empty() && std::ranges::any_of(op.records.keys, begins);
  });
}

/// Returns whether the escaped value of a hole may contain this character. `append_escaped` escapes all other
/// characters.
auto is_of_value(char c) -> bool {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '%';
}

auto spells_value(std::string_view text) -> bool { return std::ranges::all_of(text, is_of_value); }

/// Returns whether a template with these literals can produce a key. A value cannot contain the literal that follows
/// its hole, so it is enough to try the first match of each literal.
auto is_of_form(std::string_view key, const std::vector<std::string>& literals) -> bool {
  if (!key.starts_with(literals.front())) return false;
  key.remove_prefix(literals.front().size());
  if (literals.size() == 1) return key.empty();
  for (std::size_t at = 1; at + 1 < literals.size(); ++at) {
    const std::size_t found = key.find(literals[at]);
    if (found == std::string_view::npos || !spells_value(key.substr(0, found))) return false;
    key.remove_prefix(found + literals[at].size());
  }
  const std::string& last = literals.back();
  return key.ends_with(last) && spells_value(key.substr(0, key.size() - last.size()));
}

auto shown_form(const std::vector<std::string>& literals) -> std::string {
  std::string out = literals.front();
  for (std::size_t at = 1; at < literals.size(); ++at) out += "*" + literals[at];
  return out;
}

/// Returns whether an operator that reads columns would accept the text as a value of the key.
auto fits_key(std::string_view text, const key_entry& key) -> bool {
  switch (key.type) {
    case value_type::integer: return detail::spelled(text, std::int64_t{}).has_value();
    case value_type::boolean: return detail::spelled(text, bool{}).has_value();
    case value_type::vector: return is_vector(text, key.dimensions);
    case value_type::string: return true;
    case value_type::floating: break;
  }
  return detail::spelled(text, double{}).has_value();
}

/// Returns a phrase for messages about a malformed value, such as "no float" or "no vector of 3 numbers".
auto what_it_is_not(const key_entry& key) -> std::string {
  const std::string type(to_string(key.type));
  return "no " + type + (key.type == value_type::vector ? " of " + counted(key.dimensions, "number") : "");
}

auto spelling_hint(value_type type) -> std::string {
  switch (type) {
    case value_type::integer: return "write only digits: \"15\"";
    case value_type::boolean: return "write \"true\", \"false\", \"1\" or \"0\"";
    case value_type::vector: return "write a list with as many numbers as keys.toml declares, such as [0.5, 1]";
    default: return "write a number with a decimal point: \"1.5\"";
  }
}

template <typename Names>
auto listed(const Names& names) -> std::string {
  std::string out;
  for (const std::string& each : names) out += (out.empty() ? "" : ", ") + each;
  return out;
}

/// Returns "which plan NAME reads" or "which plans NAME, NAME read", for messages.
auto list_readers(const std::set<std::string>& plans) -> std::string {
  return (plans.size() == 1 ? "which plan " : "which plans ") + listed(plans) +
         (plans.size() == 1 ? " reads" : " read");
}

}  // namespace

auto column_check::find_form(std::string_view text, record_kind kind) -> key_form* {
  auto parsed = key_template::parse(text);
  if (!parsed) return nullptr;  // the loader of plans has complained
  const auto same = [&](const key_form& each) { return each.kind == kind && each.literals == parsed->literals; };
  if (const auto known = std::ranges::find_if(forms_, same); known != forms_.end()) return &*known;
  key_form& made = forms_.emplace_back(key_form{.literals = std::move(parsed->literals), .kind = kind});
  made.shown = shown_form(made.literals);
  return &made;
}

void column_check::add_column(key_form& form, std::string_view field, const key_entry* key,
                              const std::string& plan_name) {
  if (key == nullptr || std::ranges::find(options_.written, field) != options_.written.end()) return;
  const auto same = [&](const column_read& each) {
    return each.field == field && each.key->type == key->type && each.key->dimensions == key->dimensions;
  };
  auto known = std::ranges::find_if(form.columns, same);
  if (known == form.columns.end())
    known = form.columns.insert(known, column_read{.field = std::string(field), .key = key});
  known->plans.insert(plan_name);
}

void column_check::add_node(const plan_node& node, const std::string& plan_name, const registries& declared) {
  const op_entry& op = *find_op(node.op);
  if (op.records.columns == record_part::none) return;
  const auto& id = std::get<std::string>(find_endpoint_param(node)->value);
  if (!options_.endpoints.empty() && std::ranges::find(options_.endpoints, id) == options_.endpoints.end()) return;
  const bool has_fields = op.records.columns == record_part::fields;
  key_form* const form = find_form(list_forms(node).front(), has_fields ? record_kind::hash : record_kind::string);
  if (form == nullptr) return;
  const plan_param* const fields = node.find_param("fields");
  for (const param_shape& option : op.shape.params) {
    const plan_param* const written = option.use == key_use::write ? node.find_param(option.name) : nullptr;
    if (written == nullptr) continue;
    if (!has_fields) {
      add_column(*form, {}, declared.find_key(written->index()), plan_name);
      continue;
    }
    for (std::size_t at = 0; at < written->key_ids.size(); ++at) {
      const key_entry* const key = declared.find_key(written->key_ids[at]);
      if (key == nullptr || (fields != nullptr && at >= fields->names.size())) continue;
      add_column(*form, fields == nullptr ? key->name : fields->names[at], key, plan_name);
    }
  }
}

/// Records the keys that a node reads. The node's endpoint is ignored, because one file may contain the data of several
/// stores.
void column_check::add_keys(const plan_node& node) {
  for (const std::string& form : list_forms(node))
    if (auto parsed = key_template::parse(form)) keys_read_.insert(std::move(parsed->literals));
}

/// Counts a record that no plan reads, under the prefix of its key. After `max_unread` prefixes, all further prefixes
/// share one counter.
void column_check::note_unread(std::string_view key, record_origin origin) {
  const std::size_t end = key.find(':');
  std::string_view beginning = key.substr(0, end == std::string_view::npos ? key.size() : end + 1);
  if (!unread_.contains(beginning) && unread_.size() >= max_unread) beginning = {};
  const auto at = unread_.find(beginning);
  unread_keys& all = at != unread_.end() ? at->second : unread_[std::string(beginning)];
  if (all.records++ == 0) all = {.records = 1, .first = std::string(key), .from = origin};
}

void column_check::add(const plan& stated, const registries& declared) {
  for (const plan_node& node : stated.nodes) {
    add_node(node, stated.plan_name, declared);
    add_keys(node);
  }
  std::erase_if(forms_, [](const key_form& form) { return form.columns.empty(); });
}

void column_check::add_example(const key_form& form, column_read& column, std::string_view key, std::string_view text,
                               record_origin origin) const {
  if (++column.malformed > max_examples) return;
  const std::string value =
      column.key->type == value_type::vector ? "a value of " + counted(text.size(), "byte") : quote_name(text);
  std::string message = quote_name(key) + ": ";
  if (form.kind == record_kind::hash) message += quote_name(column.field) + " is ";
  message += value + ", " + what_it_is_not(*column.key) + ", so rows have " +
             (column.key->nullable ? "null" : "the default") + " there";
  const std::string hint = spelling_hint(column.key->type);
  if (origin.file < options_.files.size()) {
    braid::diagnostics placed(line_diagnostic(origin.line, "malformed_value", "", message, hint));
    placed.set_source(options_.files[origin.file].string());
    return column.examples.append(std::move(placed));
  }
  if (origin.line != 0) message += "; it was loaded from line " + std::to_string(origin.line) + " of its file";
  column.examples.add(problem_at("malformed_value", {}, std::move(message), hint));
}

void column_check::look_at(key_form& form, std::string_view key, const record_view& record) const {
  ++form.records;
  if (form.kind == record_kind::string) {
    for (column_read& each : form.columns) {
      each.is_there = true;
      if (!fits_key(record.text_at(0), *each.key)) add_example(form, each, key, record.text_at(0), record.origin());
    }
    return;
  }
  bool has_all = true;
  for (column_read& each : form.columns) {
    const auto text = record.field(each.field);
    each.is_there = each.is_there || text;
    has_all = has_all && each.is_there;
    if (text && !fits_key(*text, *each.key)) add_example(form, each, key, *text, record.origin());
  }
  for (std::size_t at = 0; !has_all && at < record.count() && form.names.size() < max_names; ++at)
    form.names.emplace(record.field_at(at).name);
}

void column_check::see(std::string_view key, const record_view& record) {
  for (key_form& form : forms_)
    if (form.kind == record.kind() && is_of_form(key, form.literals)) look_at(form, key, record);
  const auto reads = [&](const std::vector<std::string>& literals) { return is_of_form(key, literals); };
  if (!keys_read_.empty() && std::ranges::none_of(keys_read_, reads) && !is_fixed(key))
    note_unread(key, record.origin());
}

auto column_check::read(const embedded_store::snapshot& snapshot, std::size_t max_records) -> braid::result<void> {
  for (key_form& form : forms_) {
    const std::string& prefix = form.literals.front();
    auto cursor = snapshot.walk(prefix);
    if (!cursor) return braid::fail(cursor.error());
    for (std::size_t count = 0;; ++count) {
      const auto entry = cursor->next();
      if (!entry) return braid::fail(entry.error());
      if (!*entry || !(*entry)->key.starts_with(prefix)) break;
      form.is_whole = count < max_records;
      if (!form.is_whole) break;
      if ((*entry)->record.kind() == form.kind && is_of_form((*entry)->key, form.literals))
        look_at(form, (*entry)->key, (*entry)->record);
    }
  }
  return {};
}

auto column_check::missing_records() const -> braid::diagnostics {
  braid::diagnostics out;
  for (const key_form& form : forms_) {
    if (form.records != 0 || !form.is_whole) continue;
    std::set<std::string> plans;
    for (const column_read& each : form.columns) plans.insert(each.plans.begin(), each.plans.end());
    out.add(problem_at("missing_record", {},
                       "there is no " + std::string(form.kind == record_kind::hash ? "hash" : "string") + " `" +
                           form.shown + "`, " + list_readers(plans),
                       "compare the keys of the data with the option `key` in the plan"));
  }
  return out;
}

auto column_check::missing_columns() const -> braid::diagnostics {
  braid::diagnostics out;
  for (const key_form& form : forms_) {
    if (form.records == 0) continue;
    const std::vector<std::string_view> names(form.names.begin(), form.names.end());
    for (const column_read& each : form.columns) {
      if (each.is_there) continue;
      const std::string records =
          form.is_whole ? "no record of" : "none of the first " + counted(form.records, "record") + " of";
      out.add(problem_at("missing_column", {},
                         records + " `" + form.shown + "` has " + quote_name(each.field) + ", " +
                             list_readers(each.plans) + "; these records have the columns " + listed(form.names),
                         braid::did_you_mean(each.field, names)));
    }
  }
  return out;
}

auto column_check::unread_records() const -> braid::diagnostics {
  std::vector<std::string> read;
  std::vector<std::string_view> beginnings;
  for (const std::vector<std::string>& literals : keys_read_) {
    read.push_back(shown_form(literals));
    beginnings.push_back(literals.front());
  }
  braid::diagnostics out;
  for (const auto& [beginning, all] : unread_) {
    const std::string keys = beginning.empty()          ? "other keys"
                             : beginning.ends_with(':') ? "`" + beginning + "*`"
                                                        : quote_name(beginning);
    const std::string message = counted(all.records, "record") + " of " + keys + ", such as " + quote_name(all.first) +
                                ", " + (all.records == 1 ? "is" : "are") + " read by no plan; the plans read " +
                                listed(read);
    std::string hint = braid::did_you_mean(beginning, beginnings);
    if (all.from.file < options_.files.size()) {
      braid::diagnostics placed(line_diagnostic(all.from.line, "unread_record", "", message, std::move(hint)));
      placed.set_source(options_.files[all.from.file].string());
      out.append(std::move(placed));
    } else {
      out.add(problem_at("unread_record", {}, message, std::move(hint)));
    }
  }
  return out;
}

auto column_check::count() const -> counts {
  counts all;
  for (const auto& [beginning, keys] : unread_) all.unread_records += keys.records;
  for (const key_form& form : forms_)
    for (const column_read& each : form.columns) {
      all.malformed_values += each.malformed;
      all.missing_columns += form.records != 0 && !each.is_there ? 1 : 0;
    }
  return all;
}

auto column_check::malformed_values() const -> braid::diagnostics {
  braid::diagnostics out;
  for (const key_form& form : forms_)
    for (const column_read& each : form.columns) {
      out.append(each.examples);
      if (each.malformed <= max_examples) continue;
      const std::string of = form.kind == record_kind::hash ? quote_name(each.field) + " of " : std::string();
      out.add(problem_at("malformed_value", {},
                         counted(each.malformed - max_examples, "more value") + ", " + of + "`" + form.shown + "`, " +
                             (each.malformed - max_examples == 1 ? "is " : "are ") + what_it_is_not(*each.key),
                         spelling_hint(each.key->type)));
    }
  return out;
}

}  // namespace rankd
