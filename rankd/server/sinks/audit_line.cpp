// rankd/server/sinks/audit_line.cpp: writes a request as JSON, with everything that is needed to send the request
// again.
#include <rankd/server/sinks/audit_line.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/server/files/serve_log.hpp>

#include <algorithm>
#include <array>
#include <variant>

namespace rankd {
namespace {

constexpr std::array<std::string_view, 12> hidden_fields{
    "user_id",         "request_id",  "engine_request_id", "trace_id",    "client", "context",
    "param_overrides", "output_keys", "explain",           "experiments", "cursor", "capture"};

void append_id(std::string& out, std::string_view name, const row_id& id) {
  append_json_name(out, name);
  append_json_id(out, id);
}

/// Writes the fields of a request, and records which of these fields are hidden.
class request_writer {
 public:
  request_writer(const rank_request& request, const registries& declared, const redaction& hidden)
      : request_(&request), declared_(&declared), hidden_(&hidden) {}

  auto write() -> audited_request {
    audited_request out;
    if (shows("request_id")) append_json_unless_empty(text_, "request_id", request_->request_id);
    if (request_->user_id && shows("user_id")) append_id(text_, "user_id", *request_->user_id);
    append_json_unless_empty(text_, "plan", request_->plan);
    out.rest = text_.size();
    out.names_keys = request_->output_keys.has_value();
    write_params("context", with_times());
    write_params("param_overrides", request_->overridden);
    if (!request_->forced.empty() && shows("experiments")) write_forced();
    if (request_->output_keys && shows("output_keys")) write_output_keys();
    if (request_->cursor && shows("cursor")) append_json_unless_empty(text_, "cursor", *request_->cursor);
    if (request_->deadline) append_json_member(text_, "deadline_ms", request_->deadline->count());
    if (request_->explain == explain_mode::on && shows("explain")) write_explain();
    if (!request_->captures.empty() && shows("capture")) write_captures();
    out.json = std::move(text_) + "}";
    out.redacted = std::move(redacted_);
    out.engine_request_id = request_->engine_request_id;
    out.has_candidates = request_->candidates != nullptr;
    if (out.has_candidates) out.candidates = request_->candidates->rows.size();
    return out;
  }

 private:
  auto shows(std::string_view name) -> bool {
    if (!hidden_->hides(name)) return true;
    redacted_.emplace_back(name);
    return false;
  }

  /// Returns the params of `context` and the params that the server's clock has set, so that a replay uses the same
  /// times.
  auto with_times() -> std::vector<std::size_t> {
    std::vector<std::size_t> out = request_->in_context;
    for (std::size_t at = 0; at < declared_->params().size(); ++at) {
      const bool given = std::ranges::find(request_->in_context, at) != request_->in_context.end() ||
                         std::ranges::find(request_->overridden, at) != request_->overridden.end();
      if (declared_->params()[at].clock && !given) out.push_back(at);
    }
    return out;
  }

  void write_params(std::string_view field, const std::vector<std::size_t>& given) {
    if (given.empty() || !shows(field)) return;
    append_json_name(text_, field);
    text_ += '{';
    for (const std::size_t param : given) {
      const std::string& name = declared_->params()[param].name;
      if (!shows(name)) continue;
      append_json_name(text_, name);
      append_json_scalar(text_, request_->params[param]);
    }
    text_ += '}';
  }

  void write_forced() {
    append_json_name(text_, "experiments");
    text_ += '{';
    for (const forced_choice& each : request_->forced) {
      append_json_name(text_, each.experiment);
      append_json_string(text_, each.arm);
    }
    text_ += '}';
  }

  void write_output_keys() {
    append_json_list(text_, "output_keys", *request_->output_keys, [this](std::string& out, std::uint32_t key) {
      append_json_string(out, declared_->find_key(key)->name);
    });
  }

  void write_explain() {
    append_json_name(text_, "explain");
    if (request_->explain_ids.empty()) {
      text_ += "true";
      return;
    }
    text_ += '{';
    append_json_list(text_, "ids", request_->explain_ids, append_json_id);
    text_ += '}';
  }

  void write_captures() {
    append_json_list(text_, "capture", request_->captures, [this](std::string& out, const asked_capture& each) {
      out += '{';
      append_json_unless_empty(out, "node", each.node);
      if (each.what.key_ids)
        append_json_list(out, "keys", *each.what.key_ids, [this](std::string& name, std::uint32_t key) {
          append_json_string(name, declared_->find_key(key)->name);
        });
      append_json_member(out, "max_rows", static_cast<std::int64_t>(each.what.max_rows));
      append_json_unless_empty(out, "side", capture_side_names[static_cast<std::size_t>(each.what.side)]);
      out += '}';
    });
  }

  const rank_request* request_;
  const registries* declared_;
  const redaction* hidden_;
  std::string text_ = "{";
  std::vector<std::string> redacted_;
};

}  // namespace

auto redaction::make(std::vector<std::string> names, const registries& declared) -> braid::checked<redaction> {
  braid::diagnostics problems;
  std::vector<std::string_view> known = declared.param_names();
  known.insert(known.end(), hidden_fields.begin(), hidden_fields.end());
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (std::ranges::find(known, names[at]) != known.end()) continue;
    problems.add({.code = "unknown_name",
                  .pointer = braid::json_pointer("/audit/redact", at),
                  .message = quote_name(names[at]) + " is neither a param nor a field of the audit",
                  .hint = braid::did_you_mean(names[at], known),
                  .node = {},
                  .source = std::string(project_file)});
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return redaction(std::move(names));
}

auto redaction::hides(std::string_view name) const -> bool { return std::ranges::find(names_, name) != names_.end(); }

auto audited(const rank_request& request, const registries& declared, const redaction& hidden) -> audited_request {
  return request_writer(request, declared, hidden).write();
}

auto audit_line(const request_record& record, const redaction& hidden) -> std::string {
  std::string out = "{";
  append_json_unless_empty(out, "time", utc_text(record.time));
  std::vector<std::string> redacted = record.asked.redacted;
  const auto shows = [&](std::string_view name) {
    if (!hidden.hides(name)) return true;
    if (std::ranges::find(redacted, name) == redacted.end()) redacted.emplace_back(name);
    return false;
  };
  if (!record.request_id.empty() && shows("request_id")) append_json_unless_empty(out, "request_id", record.request_id);
  if (shows("engine_request_id")) append_json_unless_empty(out, "engine_request_id", record.asked.engine_request_id);
  if (record.trace && shows("trace_id")) append_json_unless_empty(out, "trace_id", record.trace->trace_id_text());
  if (!record.client.empty() && shows("client")) append_json_unless_empty(out, "client", record.client);
  if (record.user_id && shows("user_id")) append_id(out, "user_id", *record.user_id);
  append_json_unless_empty(out, "plan", record.plan);
  append_json_unless_empty(out, "plan_digest", record.plan_digest);
  append_json_member(out, "status", static_cast<std::int64_t>(record.status));
  append_json_unless_empty(out, "code", record.code);
  append_json_member(out, "duration_us", std::chrono::duration_cast<std::chrono::microseconds>(record.took).count());
  append_json_member(out, "candidates", static_cast<std::int64_t>(record.candidates));
  if (!record.experiments.empty() && shows("experiments")) out += "," + record.experiments;
  if (!record.degraded.empty()) out += "," + record.degraded;
  if (!record.asked.json.empty()) {
    append_json_name(out, "request");
    out += record.asked.json;
  }
  if (record.asked.has_candidates)
    append_json_member(out, "request_candidates", static_cast<std::int64_t>(record.asked.candidates));
  if (!redacted.empty()) append_json_list(out, "redacted", redacted, append_json_string);
  return out + "}";
}

}  // namespace rankd
