// rankd/op/operators/columns/extract_features.cpp: implements the operator that converts columns to columns of floats
// for models.
#include <rankd/expr/detail/facts.hpp>
#include <rankd/op/detail/written_key.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/rows/defect.hpp>

#include <braid/task/parallel.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::detail::extract_features_op {
namespace {

/// The transforms of columns, in the order of `transform_names`.
enum class transform : std::uint8_t { bucket, clip, is_null, log1p, one_hot };
constexpr std::array<std::string_view, 5> transform_names{"bucket", "clip", "is_null", "log1p", "one_hot"};

/// The minimum number of rows for which a separate parallel part is worthwhile.
constexpr std::size_t min_part = 256;

/// The rows for which a new column is computed, and how they are divided into parallel parts.
struct canvas {
  row_set rows;
  std::size_t rows_of_part;
  braid::arena& memory;
  std::span<const scalar> params;  ///< of the request

  explicit canvas(const node_context& context)
      : rows(context.inputs[0]),
        rows_of_part(std::max(context.rows_of_part, min_part)),
        memory(context.memory),
        params(context.params) {
    // If every row is active, the order of rows does not matter, so the columns can be read sequentially.
    if (rows.size() == rows.table().size()) rows = row_set(rows.table());
  }

  /// Returns a column with `value(row)` for each active row. The column is null on inactive rows, and on rows whose bit
  /// in `known` is not set.
  template <typename Fn>
  [[nodiscard]] auto draw(bitmap known, const Fn& value) const -> column {
    const std::span<double> out = memory.uninitialized<double>(rows.table().size());
    std::ranges::fill(out.subspan(rows.is_prefix() ? rows.size() : 0), 0.0);
    const auto run_part = [&](std::size_t part) {
      const std::size_t from = part * rows_of_part;
      draw_part(from, from + std::min(rows.size() - from, rows_of_part), out, value);
    };
    if (rows.size() <= rows_of_part)
      run_part(0);
    else
      braid::parallel_for(std::size_t{0}, (rows.size() - 1) / rows_of_part + 1, run_part, {.grain = 1});
    return {.values = std::span<const double>(out), .validity = validity(known)};
  }

 private:
  template <typename Fn>
  void draw_part(std::size_t from, std::size_t to, std::span<double> out, const Fn& value) const {
    if (rows.is_prefix()) {
      for (std::size_t row = from; row < to; ++row) out[row] = value(row);
    } else {
      for (const std::uint32_t row : rows.order().subspan(from, to - from)) out[row] = value(row);
    }
  }

  [[nodiscard]] auto validity(bitmap known) const -> bitmap {
    if (rows.size() == rows.table().size()) return known;
    const std::span<std::uint64_t> words = memory.filled(words_for(rows.table().size()), std::uint64_t{0});
    rows.for_each_row([&](std::uint32_t row) {
      if (known[row]) set_bit(words.data(), row);
    });
    return bitmap(words.data());
  }
};

/// Converts a boolean to 1.0 or 0.0.
constexpr auto as_float(bool holds) noexcept -> double { return holds ? 1.0 : 0.0; }

/// Returns a bitmap of this size with all bits clear.
auto no_bits(std::size_t size, braid::arena& memory) -> bitmap {
  return bitmap(memory.filled(std::max(words_for(size), std::size_t{1}), std::uint64_t{0}).data());
}

/// An ascending list of numbers that counts how many of its numbers are not greater than a value.
template <typename T>
class ladder {
 public:
  ladder() = default;
  explicit ladder(std::vector<T> steps)
      : size_(steps.size()), bits_(static_cast<unsigned>(std::bit_width(steps.size()))), steps_(std::move(steps)) {
    steps_.resize((std::size_t{1} << bits_) - 1, std::numeric_limits<T>::max());
  }

  /// Returns how many of the numbers are not greater than `value`. The search computes one bit of the result after
  /// another, and contains no branches, because the results of the comparisons are rarely predictable.
  [[nodiscard]] auto count_up_to(T value) const noexcept -> std::size_t {
    std::size_t count = 0;
    for (unsigned bit = bits_; bit-- > 0;) {
      const T step = steps_[count + (std::size_t{1} << bit) - 1];
      count += static_cast<std::size_t>(step <= value) << bit;
    }
    return std::min(count, size_);  // the padding after the last step does not count
  }

  [[nodiscard]] auto bits() const noexcept -> unsigned { return bits_; }

 private:
  std::size_t size_ = 0;
  unsigned bits_ = 0;
  std::vector<T> steps_;  ///< as many as bits can distinguish
};

/// Rounds each boundary up to an int64. Omits boundaries that are greater than every int64.
auto as_integers(std::span<const double> boundaries) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> out;
  for (const double each : boundaries) {
    if (each >= 0x1p63) break;
    out.push_back(each <= -0x1p63 ? std::numeric_limits<std::int64_t>::min()
                                  : static_cast<std::int64_t>(std::ceil(each)));
  }
  return out;
}

struct bucket_rule {
  ladder<double> floats;
  ladder<std::int64_t> integers;  ///< an int64 is compared with these, exactly

  [[nodiscard]] auto row_ns() const noexcept -> double { return 1 + 1.5 * floats.bits(); }

  [[nodiscard]] auto draw(const column& from, std::size_t /*place*/, const canvas& canvas) const -> column {
    if (const auto* whole = from.integers()) return counted(*whole, from.validity, integers, canvas);
    return counted(*from.floats(), from.validity, floats, canvas);
  }

 private:
  template <typename T>
  static auto counted(std::span<const T> values, bitmap known, const ladder<T>& boundaries, const canvas& canvas)
      -> column {
    return canvas.draw(known, [values, &boundaries](std::size_t row) {
      return static_cast<double>(boundaries.count_up_to(values[row]));
    });
  }
};

struct clip_rule {
  option_value<double> min{std::numeric_limits<double>::lowest()};
  option_value<double> max{std::numeric_limits<double>::max()};

  [[nodiscard]] auto row_ns() const noexcept -> double { return 2; }

  [[nodiscard]] auto draw(const column& from, std::size_t /*place*/, const canvas& canvas) const -> column {
    if (const auto* whole = from.integers()) return clipped(*whole, from.validity, canvas);
    return clipped(*from.floats(), from.validity, canvas);
  }

 private:
  template <typename T>
  auto clipped(std::span<const T> values, bitmap known, const canvas& canvas) const -> column {
    return canvas.draw(known, [values, low = min.in(canvas.params), high = max.in(canvas.params)](std::size_t row) {
      const auto value = static_cast<double>(values[row]);
      const double raised = value < low ? low : value;
      return raised > high ? high : raised;
    });
  }
};

struct is_null_rule {
  [[nodiscard]] auto row_ns() const noexcept -> double { return 1; }

  [[nodiscard]] auto draw(const column& from, std::size_t /*place*/, const canvas& canvas) const -> column {
    return canvas.draw({}, [known = from.validity](std::size_t row) { return as_float(!known[row]); });
  }
};

struct log1p_rule {
  [[nodiscard]] auto row_ns() const noexcept -> double { return 10; }

  [[nodiscard]] auto draw(const column& from, std::size_t /*place*/, const canvas& canvas) const -> column {
    if (const auto* whole = from.integers()) return logarithms(*whole, from.validity, canvas);
    return logarithms(*from.floats(), from.validity, canvas);
  }

 private:
  template <typename T>
  static auto logarithms(std::span<const T> values, bitmap known, const canvas& canvas) -> column {
    return canvas.draw(known, [values, known](std::size_t row) {
      return known[row] ? std::log1p(static_cast<double>(values[row])) : 0.0;
    });
  }
};

struct one_hot_rule {
  std::vector<scalar> values;  ///< all int64, or all strings

  [[nodiscard]] auto row_ns() const noexcept -> double { return 1; }

  [[nodiscard]] auto draw(const column& from, std::size_t place, const canvas& canvas) const -> column {
    if (const auto* text = std::get_if<std::string>(&values[place])) return marked(*text, from, canvas);
    return marked(std::get<std::int64_t>(values[place]), from, canvas);
  }

 private:
  static auto marked(std::string_view text, const column& from, const canvas& canvas) -> column {
    const string_values* strings = from.strings();
    const auto entries = strings == nullptr ? std::span<const std::string_view>() : strings->words->entries();
    const auto at = std::ranges::find(entries, text);
    if (at == entries.end()) return none(canvas);
    return equal(strings->codes, static_cast<std::uint32_t>(at - entries.begin()), from.validity, canvas);
  }

  static auto marked(std::int64_t number, const column& from, const canvas& canvas) -> column {
    if (const auto* whole = from.integers()) return equal(*whole, number, from.validity, canvas);
    const auto same = as_exact_double(number);  // no double equals some large integers
    return same ? equal(*from.floats(), *same, from.validity, canvas) : none(canvas);
  }

  template <typename T>
  static auto equal(std::span<const T> all, T wanted, bitmap known, const canvas& canvas) -> column {
    return canvas.draw({}, [=](std::size_t row) { return as_float(all[row] == wanted && known[row]); });
  }

  static auto none(const canvas& canvas) -> column {
    return canvas.draw({}, [](std::size_t /*row*/) { return 0.0; });
  }
};

/// A column that the operator adds, and the column that it is computed from.
struct made_feature {
  std::uint32_t from_key = 0;
  written_key out;
};

template <typename Rule>
struct extract_params {
  Rule rule;
  std::string_view name;  ///< of the transform
  std::vector<made_feature> made;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return rule.row_ns() * static_cast<double>(rows) * static_cast<double>(made.size());
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (!context.may_make(0, made.size() * rows.table().size() * sizeof(double))) return over_budget();
    const canvas on(context);
    row_set out = rows;
    for (std::size_t at = 0; at < made.size(); ++at) {
      if (context.stop != nullptr && context.stop->requested())
        return std::unexpected(op_error{"stopped", "the node was stopped during its computation"});
      const column values = rule.draw(find_source(made[at], on), at, on);
      if (const auto wrong = find_defect(rows, values, made[at].out.nulls)) return refused(made[at], rows, *wrong);
      out = out.with_column(made[at].out.key_id, values, context.memory);
    }
    return out;
  }

 private:
  /// Returns the source column of a feature. If the rows lack the column, returns a column of nulls.
  static auto find_source(const made_feature& feature, const canvas& canvas) -> column {
    if (const auto found = canvas.rows.table().find(feature.from_key)) return *found;
    const std::size_t size = canvas.rows.table().size();
    const std::span<const double> zeros = canvas.memory.filled(size, 0.0);
    return {.values = zeros, .validity = no_bits(size, canvas.memory)};
  }

  [[nodiscard]] auto refused(const made_feature& feature, const row_set& rows, const defect& wrong) const
      -> std::unexpected<op_error> {
    const std::string what = "the " + std::string(name) + " of row " + std::to_string(wrong.row) + " (id " +
                             to_text(rows.table().id(wrong.row)) + ") for `" + feature.out.name + "` is ";
    if (wrong.kind == defect_kind::non_finite)
      return std::unexpected(op_error{"non_finite_value", what + "not a finite number"});
    return std::unexpected(op_error{"null_value", what + "null, which the key does not allow"});
  }
};

constexpr std::array<std::string_view, 3> listed_types{"int", "float", "string"};
constexpr std::array<std::string_view, 1> of_bucket{"bucket"};
constexpr std::array<std::string_view, 1> of_clip{"clip"};
constexpr std::array<std::string_view, 1> of_one_hot{"one_hot"};

constexpr param_shape keys_shape{.name = "keys", .kind = param_kind::key_ids, .min_items = 1, .choices = scalar_types};
constexpr param_shape out_keys_shape{
    .name = "out_keys", .kind = param_kind::key_ids, .use = key_use::write, .min_items = 1, .choices = float_types};
constexpr std::array extract_shape{
    param_shape{.name = "transform", .kind = param_kind::enumeration, .choices = transform_names},
    keys_shape,
    out_keys_shape,
    param_shape{.name = "boundaries",
                .kind = param_kind::ascending,
                .min_items = 1,
                .when = {.param = "transform", .values = of_bucket}},
    param_shape{.name = "min",
                .kind = param_kind::float64,
                .need = presence::nullable,
                .when = {.param = "transform", .values = of_clip},
                .bindable = true},
    param_shape{.name = "max",
                .kind = param_kind::float64,
                .need = presence::nullable,
                .when = {.param = "transform", .values = of_clip},
                .bindable = true},
    param_shape{.name = "values",
                .kind = param_kind::literals,
                .min_items = 1,
                .when = {.param = "transform", .values = of_one_hot}},
};

/// Returns the types of keys that the transform accepts.
auto list_types(transform kind) noexcept -> std::span<const std::string_view> {
  if (kind == transform::is_null) return scalar_types;
  if (kind == transform::one_hot) return listed_types;
  return number_types;
}

/// Checks the params of one node against each other, after each param has been checked alone.
struct extract_checks {
  const plan_node& node;
  transform how;
  std::span<const key_entry* const> from;  ///< null after a diagnostic
  const registries& declared;
  braid::diagnostics& problems;

  [[nodiscard]] auto name() const -> std::string {
    return "`" + std::string(transform_names[static_cast<std::size_t>(how)]) + "`";
  }

  void types() const {
    const auto wanted = list_types(how);
    std::string all;
    for (const std::string_view type : wanted) all.append(all.empty() ? "" : ", ").append(type);
    for (std::size_t at = 0; at < from.size(); ++at) {
      if (from[at] == nullptr || std::ranges::find(wanted, to_string(from[at]->type)) != wanted.end()) continue;
      problems.add(problem_at("wrong_key_type", braid::json_pointer(node.find_param("keys")->pointer, at),
                              "key " + std::to_string(from[at]->key_id) + " (" + from[at]->name + ") is of type " +
                                  std::string(to_string(from[at]->type)) + "; " + name() + " takes one of: " + all));
    }
  }

  /// Checks the number of output keys. Each input key becomes one column. With `one_hot`, each value becomes one
  /// column.
  void lengths() const {
    const plan_param& keys = *node.find_param("keys");
    const plan_param& out_keys = *node.find_param("out_keys");
    const plan_param* values = node.find_param("values");
    if (values != nullptr && from.size() != 1)
      problems.add(problem_at("too_many_items", keys.pointer,
                              name() + " needs exactly one key; `keys` has " + std::to_string(from.size())));
    const plan_param& each = values == nullptr ? keys : *values;
    check_same_length(out_keys, out_keys.key_ids.size(), each, values == nullptr ? from.size() : values->items.size(),
                      problems);
  }

  [[nodiscard]] auto bucket() const -> bucket_rule {
    std::vector<double> boundaries;
    for (const scalar& each : node.find_param("boundaries")->items) boundaries.push_back(std::get<double>(each));
    return {.floats = ladder(boundaries), .integers = ladder(as_integers(boundaries))};
  }

  [[nodiscard]] auto clip() const -> clip_rule {
    clip_rule rule;
    const plan_param* min = node.find_param("min");
    const plan_param* max = node.find_param("max");
    if (min == nullptr && max == nullptr)
      problems.add(problem_at("missing_field", braid::json_pointer(node.pointer, "params"),
                              name() + " needs `min`, `max` or both"));
    if (min != nullptr) rule.min = option_value<double>(*min, declared);
    if (max != nullptr) rule.max = option_value<double>(*max, declared);
    check_ends(min, max, problems);
    return rule;
  }

  [[nodiscard]] auto one_hot() const -> one_hot_rule {
    const plan_param& values = *node.find_param("values");
    const key_entry* key = from.size() == 1 ? from.front() : nullptr;
    const bool strings = std::holds_alternative<std::string>(values.items.front());
    if (key != nullptr && key->type != value_type::boolean && strings != (key->type == value_type::string))
      problems.add(problem_at("wrong_type", values.pointer,
                              "`values` must be " + std::string(strings ? "integers" : "strings") + ", as key " +
                                  std::to_string(key->key_id) + " (" + key->name + ") is of type " +
                                  std::string(to_string(key->type))));
    return {.values = values.items};
  }
};

auto bind_extract_features(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const auto& chosen = std::get<std::string>(node.find_param("transform")->value);
  const auto place = static_cast<std::size_t>(std::ranges::find(transform_names, chosen) - transform_names.begin());
  const auto from = find_typed_keys(*node.find_param("keys"), keys_shape, context, problems);
  const auto to = find_typed_keys(*node.find_param("out_keys"), out_keys_shape, context, problems);
  const extract_checks checks{.node = node,
                              .how = static_cast<transform>(place),
                              .from = from,
                              .declared = context.declared,
                              .problems = problems};
  checks.types();
  checks.lengths();

  const auto finish = [&](auto rule) -> braid::checked<bound_ptr> {
    if (!problems.empty()) return std::unexpected(std::move(problems));
    std::vector<made_feature> made;
    for (std::size_t at = 0; at < to.size(); ++at)
      made.push_back({.from_key = (from.size() == 1 ? from.front() : from[at])->key_id, .out = written_key(*to[at])});
    return make_bound(extract_params<decltype(rule)>{
        .rule = std::move(rule), .name = transform_names[place], .made = std::move(made)});
  };
  switch (checks.how) {
    case transform::bucket: return finish(checks.bucket());
    case transform::clip: return finish(checks.clip());
    case transform::is_null: return finish(is_null_rule{});
    case transform::log1p: return finish(log1p_rule{});
    case transform::one_hot: break;
  }
  return finish(checks.one_hot());
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::extract_features", .inputs = 1, .params = extract_shape},
          .change = row_change::preserves_view,
          .doc = "Adds float columns: other columns after one transform, in the form that models expect.",
          .bind = &bind_extract_features,
          .adds = {.option = "out_keys", .hint = "write the features under keys that no earlier node has written"}};
}

}  // namespace rankd::detail::extract_features_op
