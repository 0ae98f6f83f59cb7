// rankd/abi/operator_shape.hpp: the description of a library operator: its name, its options and its effect on rows.
#pragma once

#include <rankd/abi/c_operators.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

namespace rankd::operators {

/// Types of columns. `floats | ints` allows both types.
inline constexpr std::uint32_t ints = RANKD_TYPE_INT;
inline constexpr std::uint32_t floats = RANKD_TYPE_FLOAT;
inline constexpr std::uint32_t texts = RANKD_TYPE_TEXT;
inline constexpr std::uint32_t bools = RANKD_TYPE_BOOL;

/// The effect of an operator on its input rows. Whatever its effect, an operator may write columns. The first four
/// effects apply to the rows that the operator is called on. Other inputs, which `input` adds as options, are only
/// read.
enum class effect : std::uint32_t {
  keeps_rows = RANKD_KEEPS_ROWS,      ///< the same rows in the same order
  filters_rows = RANKD_FILTERS_ROWS,  ///< some of the input rows, in the same order
  orders_rows = RANKD_ORDERS_ROWS,    ///< all input rows, in another order
  selects_rows = RANKD_SELECTS_ROWS,  ///< some of the input rows, in any order
  makes_rows = RANKD_MAKES_ROWS,      ///< new rows, with the columns that the operator writes
  merges_rows = RANKD_MERGES_ROWS,    ///< rows of any inputs, with the columns of all inputs, and new rows
};

/// States whether every plan must set an option.
enum class need : std::uint32_t { optional = 0, required = 1 };

/// States whether a param of the request may set the value of an option.
enum class given_by : std::uint32_t { plan = 0, plan_or_request = 1 };

/// The range of values that an option accepts, including both ends.
struct int_range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};
struct float_range {
  double min = -std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::max();
};

/// The name of an operator, and the options that plans can set. All texts must be literals, because they are not
/// copied.
class shape {
 public:
  shape(const char* name, const char* doc, effect does = effect::keeps_rows) {
    made_.name = name;
    made_.doc = doc;
    made_.effect = static_cast<std::uint32_t>(does);
    made_.inputs = does == effect::makes_rows ? 0 : 1;
  }

  /// Adds an option that is an input: the rows of another node.
  auto input(const char* name, need needed = need::required) -> shape& {
    add(name, RANKD_OPTION_INPUT, needed);
    return *this;
  }
  /// Makes an operator that creates rows a method: plans call it on the rows of another node, and these rows become its
  /// input. Operators that do not create rows are always methods.
  auto takes_rows() -> shape& {
    made_.inputs = 1;
    return *this;
  }

  auto integer(const char* name, int_range range = {}, need needed = need::required, given_by from = given_by::plan)
      -> shape& {
    rankd_option& out = add(name, RANKD_OPTION_INT, needed);
    out.int_min = range.min;
    out.int_max = range.max;
    out.bindable = static_cast<std::uint32_t>(from);
    return *this;
  }
  auto number(const char* name, float_range range = {}, need needed = need::required, given_by from = given_by::plan)
      -> shape& {
    rankd_option& out = add(name, RANKD_OPTION_FLOAT, needed);
    out.float_min = range.min;
    out.float_max = range.max;
    out.bindable = static_cast<std::uint32_t>(from);
    return *this;
  }
  auto truth(const char* name, need needed = need::required) -> shape& {
    add(name, RANKD_OPTION_BOOL, needed);
    return *this;
  }
  auto text(const char* name, need needed = need::required) -> shape& {
    add(name, RANKD_OPTION_TEXT, needed);
    return *this;
  }
  auto choice(const char* name, std::initializer_list<const char*> choices, need needed = need::required) -> shape& {
    add(name, RANKD_OPTION_CHOICE, needed);
    choices_.resize(options_.size());
    choices_.back() = choices;
    return *this;
  }

  /// Adds an option that is one key to read or to write, of any of the given types.
  auto reads(const char* name, std::uint32_t types, need needed = need::required) -> shape& {
    add(name, RANKD_OPTION_READ_KEY, needed).types = types;
    return *this;
  }
  auto writes(const char* name, std::uint32_t types, need needed = need::required) -> shape& {
    add(name, RANKD_OPTION_WRITE_KEY, needed).types = types;
    return *this;
  }
  /// Adds an option that is a list of keys to read or to write.
  auto reads_all(const char* name, std::uint32_t types, std::uint32_t min_items = 1, need needed = need::required)
      -> shape& {
    rankd_option& out = add(name, RANKD_OPTION_READ_KEYS, needed);
    out.types = types;
    out.min_items = min_items;
    return *this;
  }
  auto writes_all(const char* name, std::uint32_t types, std::uint32_t min_items = 1, need needed = need::required)
      -> shape& {
    rankd_option& out = add(name, RANKD_OPTION_WRITE_KEYS, needed);
    out.types = types;
    out.min_items = min_items;
    return *this;
  }

  /// Sets the estimated time per input row. rankd uses it to decide whether a node runs on a worker.
  auto row_cost_ns(double cost) -> shape& {
    made_.row_cost_ns = cost;
    return *this;
  }
  /// Sets the part of the estimated time of a run that does not depend on the number of input rows. An operator without
  /// an input has only this time.
  auto run_cost_ns(double cost) -> shape& {
    made_.run_cost_ns = cost;
    return *this;
  }

  /// Returns the description in the form of the C interface.
  /// Lifetime: until the shape is moved or changed.
  [[nodiscard]] auto for_c() -> rankd_operator {
    choices_.resize(options_.size());
    for (std::size_t at = 0; at < options_.size(); ++at) {
      options_[at].choices = choices_[at].data();
      options_[at].choice_count = static_cast<std::uint32_t>(choices_[at].size());
    }
    made_.options = options_.data();
    made_.option_count = static_cast<std::uint32_t>(options_.size());
    return made_;
  }

 private:
  auto add(const char* name, std::uint32_t kind, need needed) -> rankd_option& {
    rankd_option out{};
    out.name = name;
    out.kind = kind;
    out.required = static_cast<std::uint32_t>(needed);
    return options_.emplace_back(out);
  }

  rankd_operator made_{};
  std::vector<rankd_option> options_;
  std::vector<std::vector<const char*>> choices_;  // of each option
};

}  // namespace rankd::operators
