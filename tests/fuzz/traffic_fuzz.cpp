// tests/fuzz/traffic_fuzz.cpp: any bytes as a file of recorded traffic, as the content of its frames, and as reads.
#include <tests/fuzz/target.hpp>

#include <rankd/server/traffic/traffic_file.hpp>
#include <rankd/store/replayed_reads.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/server/traffic_world.hpp>
#include <tests/rankd/store/asking.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/spawn.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::string_view, 8> words{"rankd traffic 1\n",
                                                std::string_view("\x01", 1),
                                                std::string_view("\0", 1),
                                                "\x80",
                                                "\xff\xff\xff\xff",
                                                "u:",
                                                "country",
                                                "ok"};

/// What was read and is written is read as the same.
void expect_same(const recorded_request& one) {
  const std::string frame = encode_frame(one);
  const auto again = read_request(std::string_view(frame).substr(frame_head));
  BRAID_EXPECTS(again.has_value(), "what is written can be read");
  BRAID_EXPECTS(again->number == one.number && again->plan == one.plan && again->time == one.time, "numbers are kept");
  BRAID_EXPECTS(again->text == one.text && again->reads == one.reads && again->answer == one.answer, "texts are kept");
  BRAID_EXPECTS(again->redacted == one.redacted && again->is_timed == one.is_timed && again->code == one.code,
                "the rest is kept");
}

/// The questions that the corpus answers, and some that it does not.
void ask_all(store& from) {
  constexpr std::array<std::int64_t, 2> ids{1, -2};
  const std::vector<std::string_view> keys{"a", "b"};
  const std::vector<std::string_view> asked{"7"};
  const std::vector<std::span<const std::string_view>> members{asked, asked};
  braid::arena memory;
  std::size_t sum = 0;
  if (const auto got = braid::sync_wait(ask_store(from, field_read{{"u:", ids}, "country"}, memory)))
    for (const auto& each : *got) sum += each ? std::string(*each).size() : 0;
  if (const auto got = braid::sync_wait(ask_store(from, hash_read{{"u:", ids}}, memory)))
    for (const auto& each : *got)
      for (const hash_field& field : each) sum += std::string(field.name).size() + std::string(field.value).size();
  if (const auto got = braid::sync_wait(ask_store(from, list_read{{"u:", ids}, 3}, memory)))
    for (const auto& each : got->lists) sum += each.size();
  for (const named_read& what : {named_read{.kind = read_kind::list, .keys = keys, .count = 3},
                                 named_read{.kind = read_kind::strings, .keys = keys},
                                 named_read{.kind = read_kind::fields, .keys = keys, .fields = asked},
                                 named_read{.kind = read_kind::scores, .keys = keys, .members = members}}) {
    const auto got = braid::sync_wait(ask_store(from, what, memory));
    if (!got) continue;
    BRAID_EXPECTS(got->of_key.size() == keys.size(), "each key has what was found");
    for (const auto& each : got->of_key)
      for (const stored_item& item : each) sum += std::string(item.text).size();
  }
  static_cast<void>(sum);
}

void read_reads(std::string_view input) {
  const auto reads = replayed_reads::parse(std::string(input), op_world());
  if (reads == nullptr) return;
  BRAID_EXPECTS(reads->batches() <= input.size(), "a batch takes bytes");
  for (store* each : *replayed_reads::list_stores(reads))
    if (each != nullptr) ask_all(*each);
}

void read_file(const std::string& input) {
  auto from = make_reader(input, 64);
  if (!from) return;
  while (const auto frame = from->next()) {
    static_cast<void>(read_project(frame->content));
    static_cast<void>(read_plan(frame->content));
    if (const auto request = read_request(frame->content)) read_reads(request->reads);
  }
  BRAID_EXPECTS(from->position() <= input.size(), "no byte is read that is not there");
  BRAID_EXPECTS((from->how_it_ends() == traffic_reader::end::whole) == (from->position() == input.size()),
                "a file that ends after a frame is whole");
}

void run(std::string_view input) {
  read_file(std::string(input));
  if (const auto request = read_request(input)) expect_same(*request);
  static_cast<void>(read_project(input));
  if (const auto plan = read_plan(input)) {
    const std::string frame = encode_frame(*plan);
    const auto again = read_plan(std::string_view(frame).substr(frame_head));
    BRAID_EXPECTS(again && again->artifact == plan->artifact && again->models.size() == plan->models.size(),
                  "a plan is kept");
  }
  read_reads(input);
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
