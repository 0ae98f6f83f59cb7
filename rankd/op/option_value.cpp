// rankd/op/option_value.cpp: checks that the registry allows each param that sets an option of a node.
#include <rankd/op/option_value.hpp>

#include <rankd/registry/json_text.hpp>

#include <string>
#include <utility>

namespace rankd {
namespace {

auto wrong(std::string code, const plan_param& option, std::string message, std::string hint = {})
    -> braid::diagnostic {
  return {.code = std::move(code),
          .pointer = braid::json_pointer(option.pointer, "param_id"),
          .message = std::move(message),
          .hint = std::move(hint),
          .node = {},
          .source = {}};
}

void check_default(const plan_param& option, const param_entry& param, const std::string& named,
                   braid::diagnostics& problems) {
  const param_binding& bound = *option.bound;
  const scalar& value = param.default_value;
  if (!is_null(value) && !(value < bound.min) && !(bound.max < value)) return;
  problems.add(wrong("default_out_of_range", option,
                     named + (is_null(value) ? " has no default" : " is " + number_text(value) + " by default") +
                         ", but `" + option.name + "` must be from " + number_text(bound.min) + " to " +
                         number_text(bound.max),
                     "bind it to a param whose default is in this range"));
}

void check_binding(const plan_param& option, const registries& declared, braid::diagnostics& problems) {
  const std::uint32_t id = option.bound->param_id;
  const param_entry* const param = declared.find_param(id);
  if (param == nullptr)
    return problems.add(wrong("unknown_param", option, "there is no param " + std::to_string(id),
                              "the params are declared in params.toml"));
  const std::string named = "the param `" + param->name + "`";
  if (param->status == lifecycle::blocked)
    return problems.add(wrong("blocked_param", option, named + " is blocked", declared.successor_hint(*param)));
  if (!param->allow_read) return problems.add(wrong("unreadable_param", option, named + " may not be read"));
  const value_type wanted = option.kind == param_kind::int64 ? value_type::integer : value_type::floating;
  if (param->type != wanted)
    return problems.add(wrong("wrong_param_type", option,
                              named + " is of type " + std::string(to_string(param->type)) + "; `" + option.name +
                                  "` needs a param of type " + std::string(to_string(wanted))));
  check_default(option, *param, named, problems);
}

}  // namespace

void check_bindings(const plan_node& node, const registries& declared, braid::diagnostics& problems) {
  for (const plan_param& option : node.params)
    if (option.bound) check_binding(option, declared, problems);
}

}  // namespace rankd
