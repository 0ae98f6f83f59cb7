// rankd/store/dump.cpp: converts records to lines, and writes the lines in pieces.
#include <rankd/store/dump.hpp>

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/line_reader.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece = std::size_t{1} << 20U;

void append_list(std::string& out, const record_view& record) {
  for (std::size_t at = 0; at < record.count(); ++at) {
    if (at != 0) out += ',';
    if (record.kind() == record_kind::id_list)
      append_json_number(out, record.id_at(at));
    else
      append_json_string(out, record.text_at(at));
  }
}

void append_scores(std::string& out, const record_view& record) {
  for (std::size_t at = 0; at < record.count(); ++at) {
    if (at != 0) out += ',';
    append_json_string(out, record.text_at(at));
    out += ':';
    append_json_number(out, record.score_at(at));
  }
}

/// Returns whether the bytes of a value are written as a vector: they are not valid text, and have the form of a
/// vector. If the bytes of a vector happen to be valid text, they are written as text, and a load restores the same
/// bytes.
auto is_dumped_vector(std::string_view bytes) -> bool {
  return !is_utf8(bytes) && vector_size(bytes) <= max_dimensions && is_vector(bytes, vector_size(bytes));
}

void append_fields(std::string& out, const record_view& record) {
  for (std::size_t at = 0; at < record.count(); ++at) {
    if (at != 0) out += ',';
    const hash_field field = record.field_at(at);
    append_json_string(out, field.name);
    out += ':';
    if (is_dumped_vector(field.value))
      append_vector_json(out, field.value);
    else
      append_json_string(out, field.value);
  }
}

/// Returns the reason why a load would refuse the line of this record, or nothing.
auto obstacle(const store_entry& entry) -> std::optional<std::string_view> {
  constexpr std::string_view not_text = "holds text that is not UTF-8";
  const record_view& record = entry.record;
  if (!is_utf8(entry.key)) return not_text;
  if (record.kind() == record_kind::id_list) return std::nullopt;
  for (std::size_t at = 0; at < record.count(); ++at) {
    if (record.kind() != record_kind::hash) {
      if (!is_utf8(record.text_at(at))) return not_text;
      if (record.kind() == record_kind::sorted_set && !std::isfinite(record.score_at(at)))
        return "has a score that is not a finite number";
      continue;
    }
    const hash_field field = record.field_at(at);
    if (field.name.empty()) return "has a field without a name";
    if (!is_utf8(field.name) || (!is_utf8(field.value) && !is_dumped_vector(field.value))) return not_text;
  }
  return std::nullopt;
}

/// A running dump of one snapshot.
class dump_job {
 public:
  dump_job(const fs::path& folder, const dump_options& options, const dump_sink& sink)
      : folder_(folder), options_(options), sink_(sink) {}

  auto run(const embedded_store::snapshot& snapshot) -> braid::checked<std::uint64_t>;

 private:
  auto add(const store_entry& entry) -> braid::checked<void>;
  auto flush() -> braid::checked<void>;
  auto refuse(std::string_view code, std::string_view message, std::string_view hint = {}) const {
    return std::unexpected(store_diagnostic(code, folder_, message, hint));
  }
  auto damaged(std::error_code error) const {
    return refuse("store_corrupt", "the store cannot be read: " + error.message(), load_again_hint);
  }

  const fs::path& folder_;
  const dump_options& options_;
  const dump_sink& sink_;
  std::string lines_;
  dump_progress progress_;
};

auto dump_job::run(const embedded_store::snapshot& snapshot) -> braid::checked<std::uint64_t> {
  const auto total = snapshot.count();
  if (!total) return damaged(total.error());
  progress_.records_total = *total;
  auto cursor = snapshot.walk(options_.prefix);
  if (!cursor) return damaged(cursor.error());
  for (;;) {
    const auto entry = cursor->next();
    if (!entry) return damaged(entry.error());
    if (!*entry || !(*entry)->key.starts_with(options_.prefix)) break;
    if (auto added = add(**entry); !added) return std::unexpected(std::move(added.error()));
  }
  if (auto flushed = flush(); !flushed) return std::unexpected(std::move(flushed.error()));
  return progress_.records_done;
}

auto dump_job::add(const store_entry& entry) -> braid::checked<void> {
  const std::size_t before = lines_.size();
  std::optional<std::string_view> why = obstacle(entry);
  if (!why) append_record(lines_, entry.key, entry.record);
  if (lines_.size() - before > line_reader::max_bytes + 1) why = "needs a line of more than 16 MiB";
  if (why)
    return refuse("not_loadable", "the record " + quote_name(entry.key) + " " + std::string(*why),
                  "`rankd load` cannot read such a line; shorten or delete the record");
  ++progress_.records_done;
  return lines_.size() < piece ? braid::checked<void>() : flush();
}

auto dump_job::flush() -> braid::checked<void> {
  if (!lines_.empty()) {
    const auto written = sink_(lines_);
    if (!written)
      return std::unexpected(store_diagnostic("output_unwritable", options_.output,
                                              "the output cannot be written: " + written.error().message(), {}));
  }
  lines_.clear();
  if (options_.progress) options_.progress(progress_);
  return {};
}

}  // namespace

void append_record(std::string& out, std::string_view key, const record_view& record) {
  const record_form& form = find_record_form(record.kind());
  out.append("{\"").append(form.head).append("\":");
  append_json_string(out, key);
  out.append(",\"").append(form.body).append("\":").append(form.brackets.substr(0, form.brackets.size() / 2));
  switch (record.kind()) {
    case record_kind::hash: append_fields(out, record); break;
    case record_kind::sorted_set: append_scores(out, record); break;
    default: append_list(out, record);
  }
  out.append(form.brackets.substr(form.brackets.size() / 2)).append("}\n");
}

auto dump_store(const fs::path& folder, const dump_options& options, const dump_sink& sink)
    -> braid::checked<std::uint64_t> {
  const auto opened = embedded_store::open(folder);
  if (!opened) return std::unexpected(opened.error());
  const auto snapshot = opened->take_snapshot();
  if (!snapshot)
    return std::unexpected(
        store_diagnostic("store_corrupt", folder, "the store cannot be read: " + snapshot.error().message(), {}));
  return dump_job(folder, options, sink).run(*snapshot);
}

}  // namespace rankd
