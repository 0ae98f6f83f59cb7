// rankd/abi/operators.hpp: an interface in C++17 for projects' own operators, on top of c_operators.h. It is
// header-only, so no library has to be linked.
//
// An operator is a class with a static `shape()`, a constructor that takes a `binding`, and `run(rows&) const`:
//
//   struct double_it {
//     static auto shape() -> rankd::operators::shape {
//       return rankd::operators::shape("mine::double_it", "Twice the value of a key.")
//           .reads("in_key", rankd::operators::floats)
//           .writes("out_key", rankd::operators::floats);
//     }
//     explicit double_it(const rankd::operators::binding& options)
//         : in(options.read("in_key")), out(options.written("out_key")) {}
//     void run(rankd::operators::rows& rows) const {
//       const auto values = rows.floats(in);
//       auto doubled = rows.write_floats(out);
//       for (std::size_t row = 0; row < rows.size(); ++row)
//         if (!values.is_null(row)) doubled.set(row, 2 * values[row]);
//     }
//     rankd::operators::read_column in;
//     rankd::operators::written_column out;
//   };
//   RANKD_OPERATORS(double_it)
//
// Threads: one object is constructed for each node of a plan, on any thread. `run` is called from several threads at
// once, so an object must not keep state between calls, unless the state is synchronized.
// Errors: an exception from `run` fails the node with the code `operator_failed` and the exception's text. If the
// constructor throws, the plan is refused. An exception of type `refusal` also names the option.
#pragma once

#include <rankd/abi/c_operators.h>
#include <rankd/abi/operator_rows.hpp>
#include <rankd/abi/operator_shape.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::operators {

/// An exception for constructors: describes what is wrong with an option, or with the node if `option` is empty.
class refusal : public std::runtime_error {
 public:
  refusal(std::string_view option, const std::string& sentence) : std::runtime_error(sentence), option_(option) {}
  [[nodiscard]] auto option() const noexcept -> const std::string& { return option_; }

 private:
  std::string option_;
};

/// The name and the type of a key.
struct key {
  std::string_view name;
  std::uint32_t type = 0;
  bool nullable = false;
};

/// The options of one node, by name. If the shape has no option of this name, or the option is of another kind, the
/// functions throw std::logic_error. The plan is then refused. Lifetime: until the constructor returns.
class binding {
 public:
  binding(const rankd_binding& from, const rankd_operator& declared) noexcept : binding_(&from), operator_(&declared) {}

  [[nodiscard]] auto given(std::string_view name) const -> bool { return value(name).given != 0; }
  /// Returns true if a param of the request sets the value. The value is then unknown until `run`, where `rows::value`
  /// returns it.
  [[nodiscard]] auto per_request(std::string_view name) const -> bool { return value(name).per_request != 0; }

  [[nodiscard]] auto integer(std::string_view name, std::int64_t otherwise = 0) const -> std::int64_t {
    const rankd_value& found = value(name, RANKD_OPTION_INT);
    return found.given != 0 ? found.integer : otherwise;
  }
  [[nodiscard]] auto number(std::string_view name, double otherwise = 0) const -> double {
    const rankd_value& found = value(name, RANKD_OPTION_FLOAT);
    return found.given != 0 ? found.number : otherwise;
  }
  [[nodiscard]] auto truth(std::string_view name, bool otherwise = false) const -> bool {
    const rankd_value& found = value(name, RANKD_OPTION_BOOL);
    return found.given != 0 ? found.integer != 0 : otherwise;
  }
  [[nodiscard]] auto text(std::string_view name, std::string_view otherwise = {}) const -> std::string {
    const rankd_value& found = value(name, RANKD_OPTION_TEXT);
    return std::string(found.given != 0 ? std::string_view(found.text.data, found.text.size) : otherwise);
  }
  /// Returns the index of the chosen value in the list of choices that the shape declares.
  [[nodiscard]] auto choice(std::string_view name, std::size_t otherwise = 0) const -> std::size_t {
    const rankd_value& found = value(name, RANKD_OPTION_CHOICE);
    return found.given != 0 ? static_cast<std::size_t>(found.integer) : otherwise;
  }

  /// Returns the handle of an option. `rows::value` returns the value of the option for this handle, even if a request
  /// sets the value.
  [[nodiscard]] auto int_of(std::string_view name) const -> int_option {
    return {static_cast<std::uint32_t>(&value(name, RANKD_OPTION_INT) - binding_->options)};
  }
  [[nodiscard]] auto float_of(std::string_view name) const -> float_option {
    return {static_cast<std::uint32_t>(&value(name, RANKD_OPTION_FLOAT) - binding_->options)};
  }

  [[nodiscard]] auto read(std::string_view name) const -> read_column {
    const rankd_value& found = value(name, RANKD_OPTION_READ_KEY);
    if (found.given == 0) throw std::logic_error("`" + std::string(name) + "` is not set; check with `given` first");
    return {found.first_column};
  }
  [[nodiscard]] auto written(std::string_view name) const -> written_column {
    const rankd_value& found = value(name, RANKD_OPTION_WRITE_KEY);
    if (found.given == 0) throw std::logic_error("`" + std::string(name) + "` is not set; check with `given` first");
    return {found.first_column};
  }
  [[nodiscard]] auto all_read(std::string_view name) const -> std::vector<read_column> {
    return all<read_column>(value(name, RANKD_OPTION_READ_KEYS));
  }
  [[nodiscard]] auto all_written(std::string_view name) const -> std::vector<written_column> {
    return all<written_column>(value(name, RANKD_OPTION_WRITE_KEYS));
  }

  /// Returns the handle of an input. The input has no rows if the plan omits the option.
  [[nodiscard]] auto input(std::string_view name) const -> input_rows {
    const auto option = static_cast<std::uint32_t>(&value(name, RANKD_OPTION_INPUT) - binding_->options);
    std::uint32_t at = operator_->inputs;
    for (std::uint32_t before = 0; before < option; ++before)
      if (operator_->options[before].kind == RANKD_OPTION_INPUT) ++at;
    return {at};
  }

  [[nodiscard]] auto key_of(read_column column) const -> key { return key_of(binding_->reads[column.at]); }
  [[nodiscard]] auto key_of(written_column column) const -> key { return key_of(binding_->writes[column.at]); }
  /// Returns whether the ids of rows are texts. If not, they are integers.
  [[nodiscard]] auto text_ids() const noexcept -> bool { return binding_->id_type == RANKD_TYPE_TEXT; }

 private:
  [[nodiscard]] auto value(std::string_view name, std::optional<std::uint32_t> kind = {}) const -> const rankd_value& {
    for (std::uint32_t at = 0; at < operator_->option_count; ++at) {
      if (name != operator_->options[at].name) continue;
      if (!kind || *kind == operator_->options[at].kind) return binding_->options[at];
      throw std::logic_error("option `" + std::string(name) + "` was read as another kind than its shape declares");
    }
    throw std::logic_error("the shape has no option `" + std::string(name) + "`");
  }
  template <typename Column>
  static auto all(const rankd_value& found) -> std::vector<Column> {
    std::vector<Column> out;
    for (std::uint32_t at = 0; at < found.column_count; ++at) out.push_back({found.first_column + at});
    return out;
  }
  static auto key_of(const rankd_key& from) -> key {
    return {std::string_view(from.name.data, from.name.size), from.type, from.nullable != 0};
  }

  const rankd_binding* binding_;
  const rankd_operator* operator_;
};

// The namespace has hidden visibility, because two libraries may have classes of the same name. Without this attribute,
// the dynamic linker would merge the static objects of such classes.
namespace [[gnu::visibility("hidden")]] detail {

inline auto text_of(std::string_view text) noexcept -> rankd_text { return {text.data(), text.size()}; }

template <typename Operator>
struct glue {
  static inline rankd_operator made{};

  static auto find_option(const std::string& name) noexcept -> std::uint32_t {
    std::uint32_t at = 0;
    while (at < made.option_count && name != made.options[at].name) ++at;
    return at;
  }

  static auto bind(const rankd_binding* given, void** state) noexcept -> std::int32_t {
    try {
      *state = new Operator(binding(*given, made));
      return 0;
    } catch (const refusal& error) {
      given->fail(given->host, find_option(error.option()), text_of(error.what()));
    } catch (const std::exception& error) {
      given->fail(given->host, given->option_count, text_of(error.what()));
    } catch (...) {
      given->fail(given->host, given->option_count, text_of("it threw an object that is not a std::exception"));
    }
    return 1;
  }

  static auto run(const void* state, const rankd_run* given) noexcept -> std::int32_t {
    try {
      rows all(*given, static_cast<effect>(made.effect));
      static_cast<const Operator*>(state)->run(all);
      return 0;
    } catch (const std::exception& error) {
      given->fail(given->host, text_of(error.what()));
    } catch (...) {
      given->fail(given->host, text_of("it threw an object that is not a std::exception"));
    }
    return 1;
  }

  static void release(void* state) noexcept { delete static_cast<Operator*>(state); }

  /// Returns the operator in the form of the C interface. The shape must not be moved afterwards.
  static auto make(shape& from) -> rankd_operator {
    made = from.for_c();
    made.bind = &bind;
    made.run = &run;
    made.release = &release;
    return made;
  }
};

template <typename... Operators>
auto library() noexcept -> const rankd_operator_library* {
  struct contents {
    std::vector<std::unique_ptr<shape>> shapes;
    std::vector<rankd_operator> operators;
    std::string problem;
    rankd_operator_library offered{RANKD_OPERATOR_ABI, 0, nullptr, nullptr};

    contents() {
      try {
        (shapes.push_back(std::make_unique<shape>(Operators::shape())), ...);
        std::size_t at = 0;
        (operators.push_back(glue<Operators>::make(*shapes[at++])), ...);
        offered.operators = operators.data();
        offered.operator_count = static_cast<std::uint32_t>(operators.size());
      } catch (const std::exception& error) {
        problem = error.what();
        offered.problem = problem.c_str();
      }
    }
  };
  static const contents all;
  return &all.offered;
}

}  // namespace detail
}  // namespace rankd::operators

/// Defines the function `rankd_operators`, which offers these classes as the operators of the library. Use the macro
/// once, outside of any namespace.
#define RANKD_OPERATORS(...)                                                                              \
  extern "C" __attribute__((visibility("default"))) const rankd_operator_library* rankd_operators(void) { \
    return ::rankd::operators::detail::library<__VA_ARGS__>();                                            \
  }
