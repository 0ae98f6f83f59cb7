// rankd/op/operators/rows/dedupe.cpp: implements the operator that keeps one row for each value of a key.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/rows/equal_rows.hpp>

#include <array>
#include <string_view>

namespace rankd::detail::dedupe_op {
namespace {

struct dedupe_params {
  distinct_options how;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 15.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return distinct(context.inputs[0], how, context.memory);
  }
};

constexpr std::array<std::string_view, 3> strategies{"first", "last", "max_by"};
constexpr std::array<std::string_view, 1> of_max_by{"max_by"};
constexpr std::array dedupe_shape{
    param_shape{.name = "by", .kind = param_kind::key_id, .need = presence::nullable, .choices = scalar_types},
    param_shape{.name = "strategy", .kind = param_kind::enumeration, .need = presence::nullable, .choices = strategies},
    param_shape{.name = "score_key",
                .kind = param_kind::key_id,
                .choices = number_types,
                .when = {.param = "strategy", .values = of_max_by}},
};

auto bind_dedupe(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  constexpr std::array rules{survivor::first, survivor::last, survivor::highest};
  const key_entry* by = find_by(node, find_param_shape(dedupe_shape, "by"), context, problems);
  const key_entry* score = nullptr;
  if (const plan_param* given = node.find_param("score_key"))
    score = find_typed_key(*given, find_param_shape(dedupe_shape, "score_key"), context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(dedupe_params{.how = {.key_id = by->key_id,
                                          .stays = rules[find_choice(node, find_param_shape(dedupe_shape, "strategy"))],
                                          .score_key = score == nullptr ? 0 : score->key_id}});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::dedupe", .inputs = 1, .params = dedupe_shape},
          .change = row_change::distinct,
          .doc = "Keeps one row for each value of a key, `id` by default.",
          .bind = &bind_dedupe};
}

}  // namespace rankd::detail::dedupe_op
