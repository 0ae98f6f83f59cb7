// tests/fuzz/key_template_fuzz.cpp: any text as a template of keys, with values that must stay apart whatever they are.
#include <tests/fuzz/target.hpp>

#include <rankd/plan/key_template.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace rankd;

namespace {

constexpr std::array<std::string_view, 14> words{"{id}", "{P.shop}", "{{", "}}", "{", "}",  ":",
                                                 "%3A",  "{P.",      "é",  "-",  "a", "\n", "{id}:{P.shop}"};

using texts = std::vector<std::string>;

auto key_of(const key_template& of, const texts& values) -> std::string {
  std::string out = of.literals.front();
  for (std::size_t at = 0; at < of.holes.size(); ++at) {
    append_escaped(out, values[at]);
    out += of.literals[at + 1];
  }
  return out;
}

/// The template as text again.
auto text_of(const key_template& of) -> std::string {
  const auto doubled = [](std::string_view literal) {
    std::string out;
    for (const char c : literal) out.append(c == '{' || c == '}' ? 2 : 1, c);
    return out;
  };
  std::string out = doubled(of.literals.front());
  for (std::size_t at = 0; at < of.holes.size(); ++at) {
    out += of.holes[at].from == template_hole::source_kind::param ? "{P." : "{";
    out += of.holes[at].name + "}" + doubled(of.literals[at + 1]);
  }
  return out;
}

/// Values that a value of the input is cut into, one for each hole, the first of `first` bytes.
auto list_values(std::string_view input, std::size_t holes, std::size_t first) -> texts {
  texts out(holes);
  for (std::size_t at = 0; at < holes; ++at) {
    const std::size_t size = at == 0 ? first : at + 1 == holes ? input.size() : (input.size() + 1) / 2;
    out[at] = input.substr(0, size);
    input.remove_prefix(out[at].size());
  }
  return out;
}

/// The first line is a template, the rest a value.
void run(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view text = input.substr(0, end);
  const std::string_view value = input.substr(std::min(end + 1, input.size())).substr(0, 64);
  const auto parsed = key_template::parse(text);
  if (!parsed) {
    BRAID_EXPECTS(!parsed.error().code.empty() && !parsed.error().message.empty(), "a refusal has a reason");
    return;
  }
  BRAID_EXPECTS(parsed->literals.size() == parsed->holes.size() + 1, "literals stand around holes");
  BRAID_EXPECTS(text_of(*parsed) == text, "a template is what it was read from");
  if (parsed->holes.empty()) return;
  for (std::size_t first = 1; first <= value.size(); ++first) {
    const texts one = list_values(value, parsed->holes.size(), first - 1);
    const texts other = list_values(value, parsed->holes.size(), first);
    BRAID_EXPECTS((one == other) == (key_of(*parsed, one) == key_of(*parsed, other)), "values have keys of their own");
  }
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
