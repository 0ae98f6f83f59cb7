// tests/rankd/op/abi_1/library.cpp: two operators of a library as version 1 of the interface had them.
#include <tests/rankd/op/abi_1/c_operators.h>

#include <cstdint>

namespace {

auto bind(const rankd_binding* with, void** state) -> std::int32_t {
  *state = nullptr;
  if (with->read_count == with->write_count) return 0;
  constexpr char why[] = "it lacks a key";
  with->fail(with->host, with->option_count, {why, sizeof(why) - 1});
  return 1;
}

auto add_one(const void*, const rankd_run* with) -> std::int32_t {
  const auto* const from = static_cast<const double*>(with->reads[0].values);
  auto* const to = static_cast<double*>(with->writes[0].values);
  for (std::uint64_t row = 0; row < with->rows; ++row) {
    to[row] = from[row] + 1;
    with->writes[0].valid[row / 64] |= std::uint64_t{1} << (row % 64);
  }
  return 0;
}

auto reverse(const void*, const rankd_run* with) -> std::int32_t {
  for (std::uint64_t row = 0; row < with->rows; ++row)
    with->order[row] = static_cast<std::uint32_t>(with->rows - 1 - row);
  *with->kept = with->rows;
  return 0;
}

auto key(const char* name, std::uint32_t kind) -> rankd_option {
  rankd_option out{};
  out.name = name;
  out.kind = kind;
  out.types = RANKD_TYPE_FLOAT;
  out.required = 1;
  return out;
}

const rankd_option options[] = {key("in_key", RANKD_OPTION_READ_KEY), key("out_key", RANKD_OPTION_WRITE_KEY)};
const rankd_operator operators[] = {
    {"first::add_one", "One more.", RANKD_KEEPS_ROWS, 2, options, 1, &bind, &add_one, nullptr},
    {"first::reverse", "The last row first.", RANKD_ORDERS_ROWS, 0, nullptr, 1, &bind, &reverse, nullptr},
};
const rankd_operator_library all{RANKD_OPERATOR_ABI, 2, operators, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const rankd_operator_library* rankd_operators(void) { return &all; }
