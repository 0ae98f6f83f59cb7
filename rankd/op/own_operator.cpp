// rankd/op/own_operator.cpp: binds and runs nodes whose operator is from a library, and checks their results.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/own_columns.hpp>
#include <rankd/op/detail/own_operator.hpp>
#include <rankd/op/detail/own_rows.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/registry/names.hpp>

#include <array>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

namespace rankd::detail {
namespace {

constexpr std::size_t max_sentence = 1000;

/// Converts a text from a library to valid UTF-8 of limited length, for use in a message.
auto format_sentence(rankd_text text) -> std::string {
  if (text.data == nullptr) return {};
  std::string_view seen(text.data, std::min<std::size_t>(text.size, max_sentence));
  return std::string(seen.substr(0, utf8_prefix(seen)));
}

auto text_of(std::string_view text) -> rankd_text { return {text.data(), text.size()}; }

/// Calls the code of a library. If the code throws an exception, stores the exception's text in `message` and returns
/// 1.
template <typename Call>
auto guarded(std::string& message, Call call) -> std::int32_t {
  try {
    return call();
  } catch (const std::exception& thrown) {
    message = "it threw: " + format_sentence(text_of(thrown.what()));
  } catch (...) {
    message = "it threw an object that is not a std::exception";
  }
  return 1;
}

/// A numeric option that each request may set by a param.
struct bound_number {
  std::size_t option = 0;
  std::variant<option_value<std::int64_t>, option_value<double>> value;
};

/// The state that a library's function `bind` returned. This state is released together with the node.
class own_state {
 public:
  own_state(const own_operator& owner, void* state) noexcept : operator_(&owner), state_(state) {}
  own_state(own_state&& other) noexcept : operator_(other.operator_), state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(own_state&&) -> own_state& = delete;
  ~own_state() {
    std::string message;
    if (state_ == nullptr || operator_->of.release == nullptr) return;
    static_cast<void>(guarded(message, [this] { return operator_->of.release(state_), 0; }));
  }

  [[nodiscard]] auto get() const noexcept -> const void* { return state_; }

 private:
  const own_operator* operator_;
  void* state_;
};

/// The callbacks and data that a library can use during a run.
struct run_host {
  node_context* context;
  own_rows* made;
  std::string message = {};
  bool over_budget = false;

  static auto allocate(void* host, std::uint64_t bytes) noexcept -> void* {
    auto& self = *static_cast<run_host*>(host);
    constexpr std::size_t alignment = 16;
    try {
      if (self.context->may_make(0, bytes)) return self.context->memory.bytes(bytes, alignment);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // A failed allocation counts as an exceeded budget, because no exception may pass through the code of the
      // library.
    }
    self.over_budget = true;
    return nullptr;
  }
  static auto make(void* host, std::uint64_t rows) noexcept -> const rankd_made* {
    auto& self = *static_cast<run_host*>(host);
    try {
      return self.made->make(rows);
    } catch (...) {  // as in `allocate`
      self.over_budget = true;
    }
    return nullptr;
  }
  static void fail(void* host, rankd_text sentence) noexcept {
    try {
      static_cast<run_host*>(host)->message = format_sentence(sentence);
    } catch (...) {}  // NOLINT(bugprone-empty-catch): without memory for the sentence the failure has none
  }
  static auto stopped(void* host) noexcept -> std::int32_t {
    const braid::stop_flag* const stop = static_cast<run_host*>(host)->context->stop;
    return stop != nullptr && stop->requested() ? 1 : 0;
  }
};

auto failed(std::string message) -> std::unexpected<op_error> {
  return std::unexpected(op_error{"operator_failed", std::move(message)});
}

struct own_params {
  const own_operator* of;
  std::vector<rankd_value> values;
  std::vector<bound_number> bound;
  std::vector<seen_key> reads;
  std::vector<written_key> writes;
  std::vector<own_input> inputs;                         ///< without their rows
  value_type ids;                                        ///< the type of the project's ids
  std::unique_ptr<const std::deque<std::string>> texts;  ///< that values refer to
  own_state state;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return 10 + of->of.run_cost_ns + of->of.row_cost_ns * static_cast<double>(rows);
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const std::vector<own_input> taken = list_inputs(context);
    if (!context.may_make(0, bytes_before(taken))) return over_budget();
    if (makes_rows(of->entry.change)) return run_making(taken, context);
    const row_set& rows = taken.front().rows;
    const bool chooses = of->entry.change != row_change::preserves_view;
    std::vector<rankd_written> written;
    for (const written_key& key : writes) written.push_back(blank(key.type, rows.size(), context.memory));
    std::span<std::uint32_t> order;
    if (chooses) order = context.memory.uninitialized<std::uint32_t>(rows.size());
    std::uint64_t kept = unset_order;
    own_rows none(context, taken, writes, ids, of->entry.change);
    rankd_run with{};
    with.writes = written.data();
    with.order = chooses ? order.data() : nullptr;
    with.kept = &kept;
    if (auto wrong = called(with, taken, none, context)) return std::unexpected(std::move(*wrong));
    row_set out = rows;
    if (chooses) {
      auto chosen = chosen_rows(rows, order, kept, of->entry.change, context.memory);
      if (!chosen) return failed(chosen.error());
      out = *chosen;
    }
    return with_written(rows, out, written, context.memory);
  }

 private:
  [[nodiscard]] auto list_inputs(const node_context& context) const -> std::vector<own_input> {
    std::vector<own_input> taken = inputs;
    for (own_input& each : taken)
      if (each.place) each.rows = context.inputs[*each.place];
    return taken;
  }

  /// Returns the approximate number of bytes to allocate before the library runs.
  [[nodiscard]] auto bytes_before(std::span<const own_input> taken) const -> std::uint64_t {
    const bool makes = makes_rows(of->entry.change);
    std::uint64_t bytes = 0;
    for (const own_input& each : taken) {
      const bool is_written = !makes && &each == &taken.front();
      bytes += own_bytes(each.rows, reads,
                         is_written ? std::span<const written_key>(writes) : std::span<const written_key>());
    }
    const bool chooses = !makes && of->entry.change != row_change::preserves_view;
    return bytes + (chooses ? taken.front().rows.size() * sizeof(std::uint32_t) : 0);
  }

  [[nodiscard]] auto run_making(std::span<const own_input> taken, node_context& context) const -> op_result<row_set> {
    own_rows made(context, taken, writes, ids, of->entry.change);
    std::uint64_t ignored = unset_order;
    rankd_run with{};
    with.kept = &ignored;
    if (auto wrong = called(with, taken, made, context)) return std::unexpected(std::move(*wrong));
    const auto rows = made.finish();
    if (!rows) return failed(rows.error());
    return with_written(*rows, *rows, made.written(), context.memory);
  }

  /// Sets the remaining members of `arguments` to the data of the node, and calls the library. Returns the error of the
  /// call, or no error if it succeeds.
  [[nodiscard]] auto called(rankd_run arguments, std::span<const own_input> taken, own_rows& made,
                            node_context& context) const -> std::optional<op_error> {
    std::vector<rankd_column> columns;
    columns.reserve(taken.size() * reads.size());  // what is inside is referred to
    std::vector<rankd_input> seen;
    for (const own_input& each : taken) {
      const rankd_column* const first = columns.data() + columns.size();
      for (const seen_key& key : reads) columns.push_back(gathered(each.rows, key, context.memory));
      seen.push_back({.rows = each.rows.size(), .id = list_ids(each.rows, context.memory), .reads = first});
    }
    std::vector<rankd_value> given = values;
    for (const bound_number& each : bound) set_number(each, context.params, given[each.option]);
    run_host host{&context, &made};
    const bool takes_rows = of->of.inputs != 0;
    arguments.rows = takes_rows ? seen.front().rows : 0;
    arguments.id = takes_rows ? seen.front().id : list_ids({}, context.memory);
    arguments.reads = takes_rows ? seen.front().reads : nullptr;
    arguments.options = given.data();
    arguments.host = &host;
    arguments.allocate = &run_host::allocate;
    arguments.fail = &run_host::fail;
    arguments.stopped = &run_host::stopped;
    arguments.inputs = seen.data();
    arguments.make = &run_host::make;
    const std::int32_t status = guarded(host.message, [&] { return of->of.run(state.get(), &arguments); });
    if (host.over_budget) return over_budget().error();
    if (made.refusal()) return made.refusal();
    if (status == 0) return std::nullopt;
    return failed(host.message.empty() ? "the operator failed without a reason" : host.message).error();
  }

  /// Returns the ids of the rows. If an empty row set belongs to a batch without ids and without an id type, returns an
  /// empty column.
  [[nodiscard]] auto list_ids(const row_set& rows, braid::arena& memory) const -> rankd_column {
    if (!rows.empty()) return gathered(rows, {registries::id_key, ids}, memory);
    const rankd_written none = blank(ids, 0, memory);
    return {.values = none.values, .valid = none.valid, .type = none.type};
  }

  static void set_number(const bound_number& from, std::span<const scalar> params, rankd_value& to) {
    if (const auto* whole = std::get_if<option_value<std::int64_t>>(&from.value)) to.integer = whole->in(params);
    if (const auto* number = std::get_if<option_value<double>>(&from.value)) to.number = number->in(params);
  }

  /// Adds to `out` the columns that the library wrote. `out` contains the rows of `rows` that the library kept.
  [[nodiscard]] auto with_written(const row_set& rows, row_set out, std::span<const rankd_written> written,
                                  braid::arena& memory) const -> op_result<row_set> {
    for (std::size_t at = 0; at < writes.size(); ++at) {
      const auto made = scattered(rows, written[at], memory);
      if (!made) return failed("the value for `" + writes[at].name + "` " + made.error());
      if (auto wrong = refused_value(out, *made, writes[at])) return std::unexpected(std::move(*wrong));
      out = out.with_column(writes[at].key_id, *made, memory);
    }
    return out;
  }
};

/// Reads the options of a node, and binds the library's operator with them.
class own_binder {
 public:
  own_binder(const own_operator& owner, const plan_node& node, const bind_context& context)
      : operator_(&owner), node_(&node), context_(&context) {}

  auto bind() -> braid::checked<bound_ptr> {
    if (operator_->of.inputs != 0) inputs_.push_back({.name = {}, .place = next_place_++});
    for (std::size_t at = 0; at < operator_->params.size(); ++at) read(at);
    if (!problems_.empty()) return std::unexpected(std::move(problems_));
    void* state = nullptr;
    const rankd_binding binding{.options = values_.data(),
                                .reads = reads_.data(),
                                .writes = writes_.data(),
                                .option_count = static_cast<std::uint32_t>(values_.size()),
                                .read_count = static_cast<std::uint32_t>(reads_.size()),
                                .write_count = static_cast<std::uint32_t>(writes_.size()),
                                .id_type = type_number(context_->declared.id_type()),
                                .host = this,
                                .fail = &own_binder::fail};
    std::string thrown;
    const std::int32_t status = guarded(thrown, [&] { return operator_->of.bind(&binding, &state); });
    own_state kept(*operator_, status == 0 ? state : nullptr);
    if (status == 0 && problems_.empty())
      return make_bound(own_params{.of = operator_,
                                   .values = std::move(values_),
                                   .bound = std::move(bound_),
                                   .reads = std::move(seen_),
                                   .writes = std::move(written_),
                                   .inputs = std::move(inputs_),
                                   .ids = context_->declared.id_type(),
                                   .texts = std::move(texts_),
                                   .state = std::move(kept)});
    if (problems_.empty()) refuse(values_.size(), thrown.empty() ? "the operator gave no reason" : thrown);
    return std::unexpected(std::move(problems_));
  }

 private:
  static void fail(void* host, std::uint32_t option, rankd_text sentence) noexcept {
    try {
      static_cast<own_binder*>(host)->refuse(option, format_sentence(sentence));
    } catch (...) {}  // NOLINT(bugprone-empty-catch): without memory for the sentence the failure has none
  }

  void refuse(std::size_t option, std::string message) {
    const plan_param* const given =
        option < operator_->params.size() ? node_->find_param(operator_->params[option].name) : nullptr;
    problems_.add({.code = "operator_refused",
                   .pointer = given == nullptr ? node_->pointer : given->pointer,
                   .message = "`" + node_->op + "` refuses this: " + std::move(message),
                   .hint = {},
                   .node = {},
                   .source = {}});
  }

  void read(std::size_t index) {
    const param_shape& shape = operator_->params[index];
    rankd_value& out = values_.emplace_back();
    const plan_param* const given = node_->find_param(shape.name);
    if (shape.kind == param_kind::node_ref)
      inputs_.push_back({.name = shape.name, .place = given == nullptr ? std::nullopt : std::optional(next_place_++)});
    if (given == nullptr) return;
    out.given = 1;
    if (shape.kind == param_kind::node_ref) return;
    if (shape.kind == param_kind::key_id || shape.kind == param_kind::key_ids) return read_keys(*given, shape, out);
    if (given->bound) return read_bound(index, *given, out);
    if (const auto* whole = std::get_if<std::int64_t>(&given->value)) out.integer = *whole;
    if (const auto* number = std::get_if<double>(&given->value)) out.number = *number;
    if (const auto* truth = std::get_if<bool>(&given->value)) out.integer = *truth ? 1 : 0;
    if (shape.kind == param_kind::enumeration) out.integer = static_cast<std::int64_t>(find_choice(*node_, shape));
    if (shape.kind == param_kind::string) out.text = text_of(texts_->emplace_back(std::get<std::string>(given->value)));
  }

  void read_bound(std::size_t index, const plan_param& given, rankd_value& out) {
    out.per_request = 1;
    if (given.kind == param_kind::int64)
      bound_.push_back({index, option_value<std::int64_t>(given, context_->declared)});
    else
      bound_.push_back({index, option_value<double>(given, context_->declared)});
  }

  void read_keys(const plan_param& given, const param_shape& shape, rankd_value& out) {
    const bool writes = shape.use == key_use::write;
    out.first_column = static_cast<std::uint32_t>(writes ? writes_.size() : reads_.size());
    const std::vector<const key_entry*> keys = given.kind == param_kind::key_id
                                                   ? std::vector{find_typed_key(given, shape, *context_, problems_)}
                                                   : find_typed_keys(given, shape, *context_, problems_);
    out.column_count = static_cast<std::uint32_t>(keys.size());
    for (std::size_t item = 0; item < keys.size(); ++item) {
      const key_entry* const key = keys[item];
      if (key == nullptr) continue;
      const std::string pointer =
          given.kind == param_kind::key_id ? given.pointer : braid::json_pointer(given.pointer, item);
      add_key(*key, writes, pointer);
    }
  }

  void add_key(const key_entry& key, bool writes, const std::string& pointer) {
    (writes ? writes_ : reads_)
        .push_back({.name = text_of(key.name), .type = type_number(key.type), .nullable = key.nullable ? 1U : 0U});
    if (!writes) return seen_.push_back({key.key_id, key.type});
    const bool twice = std::ranges::find(written_, key.key_id, &written_key::key_id) != written_.end();
    if (twice || key.key_id == registries::id_key)
      problems_.add({.code = twice ? "duplicate_value" : "unwritable_key",
                     .pointer = pointer,
                     .message = twice
                                    ? "the node writes key " + std::to_string(key.key_id) + " (" + key.name + ") twice"
                                    : "an operator must not write the ids of rows",
                     .hint = {},
                     .node = {},
                     .source = {}});
    written_.emplace_back(key);
  }

  const own_operator* operator_;
  const plan_node* node_;
  const bind_context* context_;
  braid::diagnostics problems_;
  std::vector<rankd_value> values_;
  std::vector<bound_number> bound_;
  std::vector<rankd_key> reads_;
  std::vector<rankd_key> writes_;
  std::vector<seen_key> seen_;
  std::vector<written_key> written_;
  std::vector<own_input> inputs_;
  std::size_t next_place_ = 0;  ///< among the inputs of the node
  std::unique_ptr<std::deque<std::string>> texts_ = std::make_unique<std::deque<std::string>>();
};

}  // namespace

auto bind_own(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  const own_operator* const of = find_own(node.op);
  BRAID_EXPECTS(of != nullptr, "a node can be bound only if its operator is known");
  return own_binder(*of, node, context).bind();
}

}  // namespace rankd::detail
