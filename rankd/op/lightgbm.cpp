// rankd/op/lightgbm.cpp: converts LightGBM's splits and objectives to rankd's splits and objectives.
#include <rankd/op/detail/lightgbm.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

struct objective_row {
  std::string_view name;
  score_link link;
};

constexpr std::array objectives{
    objective_row{"binary", score_link::sigmoid},
    objective_row{"cross_entropy", score_link::sigmoid},
    objective_row{"cross_entropy_lambda", score_link::log1p_exp},
    objective_row{"custom", score_link::identity},
    objective_row{"fair", score_link::identity},
    objective_row{"gamma", score_link::exponential},
    objective_row{"huber", score_link::identity},
    objective_row{"lambdarank", score_link::identity},
    objective_row{"mape", score_link::identity},
    objective_row{"multiclass", score_link::softmax},
    objective_row{"multiclassova", score_link::sigmoid},
    objective_row{"poisson", score_link::exponential},
    objective_row{"quantile", score_link::identity},
    objective_row{"quantile_l2", score_link::identity},  // versions 2.0 only
    objective_row{"rank_xendcg", score_link::identity},
    objective_row{"regression", score_link::identity},
    objective_row{"regression_l1", score_link::identity},
    objective_row{"tweedie", score_link::exponential},
    objective_row{"xentlambda", score_link::log1p_exp},  // cross_entropy_lambda, as versions before 2.3 write it
    objective_row{"xentropy", score_link::sigmoid},      // cross_entropy, likewise
};

/// Splits an objective into words: the name, and options such as `sigmoid:1` and `sqrt`.
auto split_words(std::string_view text) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// Parses the positive number after `sigmoid:`.
auto parse_steepness(std::string_view word) -> std::optional<double> {
  const auto out = braid::detail::number_in<double>(word);
  return out && std::isfinite(*out) && *out > 0 ? out : std::nullopt;
}

void read_option(std::string_view word, const lightgbm_header& header, score_rule& out, const model_reading& reading) {
  constexpr std::string_view sigmoid = "sigmoid:";
  constexpr std::string_view classes = "num_class:";
  if (word.starts_with(sigmoid)) {
    const auto steepness = parse_steepness(word.substr(sigmoid.size()));
    if (!steepness)
      return reading.report("bad_value", "/objective", "the factor of " + quote_name(word) + " must be positive");
    out.steepness = *steepness;
  } else if (word.starts_with(classes)) {
    if (word.substr(classes.size()) != std::to_string(header.outputs))
      reading.report(
          "wrong_length", "/objective",
          quote_name(word) + " does not fit `num_tree_per_iteration`, which is " + std::to_string(header.outputs));
  } else if (word == "sqrt" && out.link == score_link::identity) {
    out.link = score_link::signed_square;
  } else {
    reading.report("unknown_objective", "/objective", "the objective has an unknown option, " + quote_name(word));
  }
}

}  // namespace

void split_by_number(const lightgbm_split& split, drawn_node& out) {
  constexpr double max_zero = 1e-35F;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool zero_left = 0 <= split.threshold;
  double last_left = split.threshold;
  // LightGBM treats numbers up to this size as zero before it compares them with the threshold.
  if (std::abs(split.threshold) <= max_zero) last_left = zero_left ? max_zero : std::nextafter(-max_zero, -infinity);
  out.threshold = std::nextafter(last_left, infinity);
  out.null_left = split.missing == lightgbm_missing::none ? zero_left : split.default_left;
  const bool is_plain = split.missing != lightgbm_missing::zero ||
                        (zero_left == split.default_left && std::abs(split.threshold) > max_zero);
  out.kind = is_plain ? split_kind::number : split_kind::number_or_zero;
}

void split_by_category(std::vector<std::uint32_t> categories, drawn_node& out) {
  out.kind = split_kind::category;
  out.threshold = std::nextafter(-1.0, 0.0);  // the whole part of -0.5 is category 0
  out.null_left = true;
  out.categories = std::move(categories);
  std::swap(out.left, out.right);
  out.is_swapped = true;
}

auto recodes_categories(const nlohmann::json& pandas_categorical) -> bool {
  if (!pandas_categorical.is_array()) return false;
  for (const nlohmann::json& values : pandas_categorical)
    for (std::size_t at = 0; at < values.size(); ++at)
      if (!values.is_array() || !values[at].is_number() || values[at] != at) return true;
  return false;
}

auto lightgbm_rule(const lightgbm_header& header, std::size_t trees, const model_reading& reading) -> score_rule {
  score_rule out;
  if (header.outputs != 0 && trees % header.outputs != 0)
    reading.report("wrong_length", "/num_tree_per_iteration",
                   "the file has " + counted(trees, "tree") +
                       ", which is not a multiple of `num_tree_per_iteration`, " + std::to_string(header.outputs));
  if (header.averages) out.divisor = static_cast<double>(std::max<std::size_t>(trees / header.outputs, 1));
  const auto words = split_words(header.objective);
  if (words.empty()) return out;
  const auto found = std::ranges::find(objectives, words.front(), &objective_row::name);
  if (found == objectives.end()) {
    std::vector<std::string_view> known;
    for (const objective_row& each : objectives) known.push_back(each.name);
    reading.report("unknown_objective", "/objective", "the objective " + quote_name(words.front()) + " is not known",
                   braid::did_you_mean(words.front(), known));
    return out;
  }
  out.link = found->link;
  for (std::size_t at = 1; at < words.size(); ++at) read_option(words[at], header, out, reading);
  if (!header.averages || out.link == score_link::identity) return out;
  if (!header.leaves_are_scores)
    reading.report("unsupported_schema", "/version",
                   "this random forest was written by LightGBM 2.2, which changed the meaning of its leaves in 2.2.3",
                   "if 2.2.3 wrote it, load it into LightGBM 3 or 4 and save it again; otherwise train it again");
  else if (*header.leaves_are_scores)
    out.link = score_link::identity;
  return out;
}

auto finished_lightgbm(lightgbm_header header, std::size_t count, tree_model trees, const model_reading& reading)
    -> std::shared_ptr<const model> {
  trained_model made{
      .trees = std::move(trees),
      .intercepts = std::vector<double>(header.outputs, 0.0),
      .rule = {},
      .features = {},
      .features_pointer = "/feature_names",
      .naming_hint =
          "give the features the names of keys when you train: lgb.Dataset(X, y, feature_name=[\"price\", \"age\"])"};
  const bool by_categories =
      std::ranges::any_of(made.trees.rules, [](const split_rule& each) { return each.words != 0; });
  if (header.recodes && by_categories)
    reading.report("recoded_categories", "/pandas_categorical",
                   "the trainer gave new numbers to the categories, which depend on its training data",
                   "train on the numbers in the rows: frame[name] = codes, with categorical_feature=[name]");
  made.rule = lightgbm_rule(header, count, reading);
  made.features = std::move(header.features);
  return with_keys(std::move(made), reading);
}

}  // namespace rankd::detail
