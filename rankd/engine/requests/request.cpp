// rankd/engine/requests/request.cpp: parses the JSON of a request, and checks it against the registries.
#include <rankd/engine/requests/request.hpp>

#include <rankd/engine/detail/diagnostic_list.hpp>
#include <rankd/engine/detail/plain_request.hpp>
#include <rankd/engine/detail/read_candidates.hpp>
#include <rankd/engine/detail/read_captures.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/store/id_batch.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using detail::diagnostic_list;

constexpr std::int64_t max_deadline_ms = 86'400'000;

/// The maximum number of diagnostics for one request. Without this limit, a request with a million errors would produce
/// a million diagnostics.
constexpr std::size_t max_diagnostics = 100;

/// Parses a user_id that is a string. Returns nothing if the user_id is invalid.
auto read_text_user(object_reader& reader, const nlohmann::json& value, diagnostic_list problems)
    -> std::optional<row_id> {
  auto id = detail::id_from_json(value, value_type::string);
  if (!id)
    problems.add("bad_user_id", reader.pointer_of("user_id"),
                 "a user_id of this project must be " + detail::refused_id(value, value_type::string));
  return id;
}

/// Parses the user_id. If ids are integers, the user_id must be an integer from 1 to 2^63-1, or a string with the
/// digits of such an integer. Returns nothing if the user_id is absent or invalid.
auto read_user_id(object_reader& reader, value_type id_type, diagnostic_list problems) -> std::optional<row_id> {
  const nlohmann::json* value = reader.value("user_id", presence::optional);
  if (value == nullptr) return std::nullopt;
  if (id_type == value_type::string) return read_text_user(reader, *value, problems);
  std::int64_t id = 0;
  if (value->is_number_unsigned()) {
    const auto number = value->get<std::uint64_t>();
    if (std::in_range<std::int64_t>(number)) id = static_cast<std::int64_t>(number);
  } else if (value->is_string()) {
    id = parse_id(value->get_ref<const std::string&>()).value_or(0);
  }
  if (id < 1)
    problems.add("bad_user_id", reader.pointer_of("user_id"),
                 "a user_id must be an integer from 1 to 9223372036854775807, or a string of its digits, not " +
                     described(*value));
  return id < 1 ? std::nullopt : std::optional<row_id>(id);
}

/// Sets a param to the value in the request. Requires that the request may set this param.
void read_param(const param_entry& param, const nlohmann::json& value, const std::string& pointer, scalar& place,
                diagnostic_list problems) {
  if (value.is_null()) {
    if (!param.nullable) return problems.add("null_param", pointer, "param `" + param.name + "` must not be null");
    place = scalar{};
    return;
  }
  auto read = scalar_from_json(value, param.type);
  if (read)
    place = std::move(*read);
  else
    problems.add(read.error().code, pointer, read.error().message);
}

auto context_names(const registries& declared) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  for (const param_entry& param : declared.params())
    if (param.source == param_source::context) out.emplace_back(param.name);
  return out;
}

void read_context_value(const std::string& name, const nlohmann::json& value, const std::string& pointer,
                        const registries& declared, rank_request& request, diagnostic_list problems) {
  const param_entry* param = declared.find_param(name);
  if (param == nullptr)
    return problems.add("unknown_param", pointer, "no param is called " + quote_name(name),
                        braid::did_you_mean(name, context_names(declared)));
  if (param->status == lifecycle::blocked)
    return problems.add("blocked_param", pointer, "param `" + name + "` is blocked", declared.successor_hint(*param));
  if (param->source != param_source::context)
    return problems.add("wrong_source", pointer, "param `" + name + "` is not a context param",
                        "set this param in `param_overrides`");
  const std::size_t index = declared.index_of(*param);
  request.in_context.push_back(index);
  read_param(*param, value, pointer, request.params[index], problems);
}

void read_override(const std::string& name, const nlohmann::json& value, const std::string& pointer,
                   const registries& declared, rank_request& request, diagnostic_list problems) {
  const param_entry* param = declared.find_param(name);
  if (param == nullptr)
    return problems.add("unknown_param", pointer, "no param is called " + quote_name(name),
                        braid::did_you_mean(name, declared.param_names()));
  if (param->status == lifecycle::blocked)
    return problems.add("blocked_param", pointer, "param `" + name + "` is blocked", declared.successor_hint(*param));
  if (!param->allow_write)
    return problems.add("unwritable_param", pointer, "param `" + name + "` must not be overridden",
                        param->source == param_source::context ? "set this param in `context`" : "");
  const std::size_t index = declared.index_of(*param);
  if (std::ranges::find(request.in_context, index) != request.in_context.end())
    return problems.add("duplicate_value", pointer, "param `" + name + "` already has a value in `context`");
  request.overridden.push_back(index);
  read_param(*param, value, pointer, request.params[index], problems);
}

using read_value = void (*)(const std::string& name, const nlohmann::json& value, const std::string& pointer,
                            const registries& declared, rank_request& request, diagnostic_list problems);

/// Parses an object of params by name. Calls `read` for each param.
void read_params(object_reader& reader, std::string_view field, read_value read, const registries& declared,
                 rank_request& request, diagnostic_list problems) {
  const nlohmann::json* values = reader.object(field, presence::optional);
  if (values == nullptr) return;
  const std::string pointer = reader.pointer_of(field);
  for (const auto& [name, value] : values->items()) {
    if (problems.out.size() >= max_diagnostics) return;
    read(name, value, braid::json_pointer(pointer, name), declared, request, problems);
  }
}

void read_output_keys(object_reader& reader, const registries& declared, rank_request& request,
                      diagnostic_list problems) {
  const nlohmann::json* names = reader.array("output_keys", presence::optional);
  if (names == nullptr) return;
  std::vector<std::uint32_t> keys;
  const std::string pointer = reader.pointer_of("output_keys");
  for (std::size_t index = 0; index < names->size() && problems.out.size() < max_diagnostics; ++index)
    detail::read_key_name((*names)[index], braid::json_pointer(pointer, index), declared, keys, problems);
  std::ranges::sort(keys);
  request.output_keys = std::move(keys);
}

void read_explained_id(const nlohmann::json& value, const std::string& pointer, value_type id_type,
                       rank_request& request, diagnostic_list problems) {
  std::optional<row_id> id = detail::id_from_json(value, id_type);
  if (!id) return problems.add("bad_id", pointer, "an id is " + detail::refused_id(value, id_type));
  if (std::ranges::find(request.explain_ids, *id) != request.explain_ids.end())
    return problems.add("duplicate_value", pointer, "the id " + to_text(*id) + " is named twice");
  request.explain_ids.push_back(std::move(*id));
}

/// Parses `explain`, which is a boolean or an object with ids.
void read_explain(object_reader& reader, value_type id_type, rank_request& request, diagnostic_list problems) {
  const nlohmann::json* value = reader.value("explain", presence::optional);
  if (value == nullptr || !value->is_object()) {
    if (reader.boolean("explain", presence::optional).value_or(false)) request.explain = explain_mode::on;
    return;
  }
  request.explain = explain_mode::on;
  object_reader what(*value, reader.pointer_of("explain"), problems.out);
  if (const nlohmann::json* ids = what.array("ids", presence::optional)) {
    const std::string pointer = what.pointer_of("ids");
    if (ids->size() > max_explained_ids)
      problems.add("too_many_ids", pointer, "at most " + std::to_string(max_explained_ids) + " ids are explained");
    for (std::size_t at = 0; at < std::min(ids->size(), max_explained_ids); ++at)
      read_explained_id((*ids)[at], braid::json_pointer(pointer, at), id_type, request, problems);
  }
  what.refuse_unknown_fields();
}

/// Parses the arms that a request names. The existence of experiments and arms is checked later, because that requires
/// the plan.
void read_forced(object_reader& reader, rank_request& request, diagnostic_list problems) {
  const nlohmann::json* values = reader.object("experiments", presence::optional);
  if (values == nullptr) return;
  for (const auto& [name, value] : values->items()) {
    if (problems.out.size() >= max_diagnostics) return;
    if (value.is_string())
      request.forced.push_back({.experiment = name, .arm = value.get<std::string>()});
    else
      problems.add("wrong_type", braid::json_pointer(reader.pointer_of("experiments"), name),
                   "an arm must be a name, not " + described(value));
  }
}

/// The first 16 hexadecimal digits of a digest of a request. They identify the request in engine logs. If the request
/// is a line of a file, the digest includes the line number, so that equal lines have different digests.
using request_digits = std::array<char, 16>;

auto find_digits(std::string_view text, request_origin origin) -> request_digits {
  constexpr std::string_view hex = "0123456789abcdef";
  std::uint64_t head = sha256_head(origin.line != 0 ? std::to_string(origin.line) + "\n" + std::string(text) : text);
  request_digits out{};
  for (std::size_t at = out.size(); at > 0; head >>= 4U) out[--at] = hex[head & 15U];
  return out;
}

auto with_digits(std::string_view begin, const request_digits& digits) -> std::string {
  std::string out;
  out.reserve(begin.size() + digits.size());
  out += begin;
  out.append(digits.data(), digits.size());
  return out;
}

/// Returns an id for a request without a request_id. The id is the one in `origin`, if there is one. Otherwise, it is
/// derived from the line number of the request in its file, or from the digits of the request if it is not from a file.
auto made_up_request_id(const request_digits& digits, request_origin origin) -> std::string {
  if (!origin.request_id.empty()) return std::string(origin.request_id);
  return origin.line != 0 ? "line_" + std::to_string(origin.line) : with_digits("req_", digits);
}

/// Finds the request_id in a text that may be invalid JSON. The field must be a string at the top level and occur once.
class id_finder : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// Returns the request_id, or nothing if the request_id is not certain.
  auto found() -> std::optional<std::string> { return times_ == 1 && complete_ ? std::move(id_) : std::nullopt; }

  bool null() override { return value(); }
  bool boolean(bool /*value*/) override { return value(); }
  bool number_integer(number_integer_t /*value*/) override { return value(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return value(); }
  bool number_float(number_float_t /*value*/, const string_t& /*literal*/) override { return value(); }
  bool binary(binary_t& /*value*/) override { return value(); }
  bool string(string_t& text) override {
    if (is_next_) id_ = std::move(text);
    return value();
  }

  bool start_object(std::size_t /*unknown*/) override { return open(); }
  bool start_array(std::size_t /*unknown*/) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    complete_ = complete_ || times_ == 1;
    is_next_ = depth_ == 1 && name == "request_id";
    if (is_next_) ++times_;
    return true;
  }
  bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  auto value() -> bool {
    is_next_ = false;
    return true;
  }
  auto open() -> bool {
    ++depth_;
    return value();
  }
  auto close() -> bool {
    complete_ = complete_ || times_ == 1;
    --depth_;
    return true;
  }

  std::optional<std::string> id_;
  std::size_t depth_ = 0;
  std::size_t times_ = 0;
  bool is_next_ = false;   // the next value is the request_id
  bool complete_ = false;  // something follows it, so its end was not the quote that broke the text
};

auto now() -> std::chrono::milliseconds {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

/// Converts the time of a request to the unit of a param whose value is that time.
auto time_in(clock_unit unit, std::chrono::milliseconds time) -> std::int64_t {
  if (unit == clock_unit::seconds) return std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return time.count();
}

/// Returns a request with default values, and with the given request_id if there is one.
auto request_with_defaults(std::string_view text, const registries& declared, request_origin origin,
                           std::optional<std::string_view> id) -> rank_request {
  rank_request request;
  request.time = origin.time.count() != 0 ? origin.time : now();
  request.params.reserve(declared.params().size());
  for (const param_entry& param : declared.params())
    request.params.push_back(param.clock ? scalar(time_in(*param.clock, request.time)) : param.default_value);
  const request_digits digits = find_digits(text, origin);
  request.request_id = id ? std::string(*id) : made_up_request_id(digits, origin);
  request.engine_request_id = with_digits("eng_", digits);
  return request;
}

auto make_request(const detail::plain_request& plain, std::string_view text, const registries& declared,
                  request_origin origin) -> rank_request {
  rank_request request = request_with_defaults(text, declared, origin, plain.request_id);
  request.user_id = plain.user_id;
  if (plain.plan) request.plan = *plain.plan;
  return request;
}

/// Returns the name of the plan in a request, or an empty text. Errors in the name are reported later.
auto plan_named_in(const nlohmann::json& document) -> std::string_view {
  if (!document.is_object()) return {};
  const auto found = document.find("plan");
  return found != document.end() && found->is_string() ? found->get_ref<const std::string&>() : std::string_view();
}

auto is_plan_name(std::string_view text) -> bool {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

}  // namespace

auto request_problem(std::string code, std::string pointer, std::string message) -> braid::diagnostics {
  return braid::diagnostics({.code = std::move(code),
                             .pointer = std::move(pointer),
                             .message = std::move(message),
                             .hint = {},
                             .node = {},
                             .source = "request"});
}

auto parse_request(std::string_view text, const registries& declared, request_origin origin)
    -> braid::checked<rank_request> {
  return parse_request(text, [&declared](std::string_view) -> const registries& { return declared; }, origin);
}

auto parse_request(std::string_view text, const registries_of_plan& declared_for, request_origin origin)
    -> braid::checked<rank_request> {
  if (text.starts_with(byte_order_mark))
    return std::unexpected(
        request_problem("json_syntax", "", "a byte order mark is allowed only at the beginning of a file"));
  if (const auto plain = detail::read_plain_request(text)) {
    const registries& declared = declared_for(plain->plan.value_or(std::string_view()));
    if (declared.id_type() == value_type::integer) return make_request(*plain, text, declared, origin);
  }
  auto document = parse_json_with_nan(text, "request", std::max<std::uint64_t>(origin.line, 1));
  if (!document) return std::unexpected(document.error());
  const json_dismantler end(*document);

  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  const std::string* id = in.text("request_id", presence::optional);
  const registries& declared = declared_for(plan_named_in(*document));
  rank_request request =
      request_with_defaults(text, declared, origin, id != nullptr ? std::optional(*id) : std::nullopt);
  request.user_id = read_user_id(in, declared.id_type(), {problems});
  if (const std::string* plan = in.text("plan", presence::optional)) request.plan = *plan;
  read_params(in, "context", &read_context_value, declared, request, {problems});
  read_params(in, "param_overrides", &read_override, declared, request, {problems});
  if (const nlohmann::json* candidates = in.value("candidates", presence::optional))
    request.candidates = detail::read_candidates(*candidates, declared, max_diagnostics, problems);
  read_output_keys(in, declared, request, {problems});
  if (const auto ms = in.integer("deadline_ms", presence::optional, {.min = 1, .max = max_deadline_ms}))
    request.deadline = std::chrono::milliseconds(*ms);
  if (const std::string* cursor = in.text("cursor", presence::optional)) request.cursor = *cursor;
  read_explain(in, declared.id_type(), request, {problems});
  read_forced(in, request, {problems});
  detail::read_captures(in, declared, request, max_diagnostics, problems);
  in.refuse_unknown_fields();

  problems.set_source("request");
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return request;
}

auto find_request_id(std::string_view text, request_origin origin) -> std::string {
  id_finder finder;
  if (text.size() <= largest_document) nlohmann::json::sax_parse(text, &finder);
  return finder.found().value_or(made_up_request_id(find_digits(text, origin), origin));
}

void keep_to_budget(rank_request& request, const plan_budget& budget, budget_times times) {
  if (!request.deadline && times == budget_times::ignored) return;
  if (!request.deadline) request.deadline = budget.default_deadline;
  if (!budget.max_deadline) return;
  if (request.deadline && *request.deadline <= *budget.max_deadline) return;
  request.deadline = budget.max_deadline;
  request.deadline_from = deadline_source::budget;
}

auto plan_to_run(const rank_request& request, std::string_view given) -> braid::checked<std::string> {
  const auto refused = [](std::string code, std::string message) {
    return std::unexpected(request_problem(std::move(code), "/plan", std::move(message)));
  };
  if (given.empty() && request.plan.empty())
    return refused("missing_field", "neither the request nor --plan names a plan");
  if (!request.plan.empty() && !is_plan_name(request.plan))
    return refused("unknown_plan", "`plan` must be a plan name, which consists of letters, digits and `_`");
  if (!given.empty() && !request.plan.empty() && given != request.plan)
    return refused("plan_mismatch",
                   "the request names plan `" + request.plan + "`, but --plan names `" + std::string(given) + "`");
  return given.empty() ? request.plan : std::string(given);
}

auto plan_diagnostics(const rank_request& request, const braid::diagnostics& problems) -> braid::diagnostics {
  braid::diagnostics out;
  for (braid::diagnostic item : problems) {
    if (item.code == "unknown_plan" && !request.plan.empty()) {
      item.pointer = "/plan";
      item.source = "request";
    }
    out.add(std::move(item));
  }
  return out;
}

}  // namespace rankd
