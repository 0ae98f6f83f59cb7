// tests/rankd/server/traffic_writer_test.cpp: what reaches the file, and what is counted as lost.
#include <rankd/server/traffic/traffic_writer.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/server/traffic_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::scratch_folder;

namespace {

auto plan_called(const std::string& name) -> std::shared_ptr<bound_plan> {
  auto out = std::make_shared<bound_plan>();
  out->name = name;
  return out;
}

auto image_of_name(const bound_plan& plan) -> braid::checked<recorded_plan> {
  recorded_plan out;
  out.name = plan.name;
  return out;
}

auto options(traffic_options out = {}) -> traffic_options {
  if (!out.make_image) out.make_image = &image_of_name;
  return out;
}

auto request_called(std::string_view name) -> std::string {
  recorded_request out;
  out.request_id = name;
  return encode_frame(out);
}

auto lost_by(const traffic_writer& writer, traffic_loss why) -> std::uint64_t {
  return writer.counts().lost[static_cast<std::size_t>(why)];
}

}  // namespace

TEST_CASE("requests of all threads are in the file once the object is gone, each plan before its first request") {
  const scratch_folder folder;
  const auto file = folder.path() / "t.rec";
  const auto first = plan_called("first");
  const auto second = plan_called("second");
  {
    const auto writer = value_of(traffic_writer::open(file, some_project(), options()));
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        for (int n = 0; n < 100; ++n) writer->add(i % 2 == 0 ? first : second, request_called("r"));
      });
  }
  struct ::stat state{};
  REQUIRE(::stat(file.c_str(), &state) == 0);
  CHECK((state.st_mode & 07777U) == 0600U);
  const seen_traffic found = seen(value_of(traffic_reader::open(file)));
  CHECK(found.end == traffic_reader::end::whole);
  CHECK(found.position == std::filesystem::file_size(file));
  CHECK(found.projects.size() == 1);
  REQUIRE(found.plans.size() == 2);
  CHECK(found.plans[0].name != found.plans[1].name);
  REQUIRE(found.requests.size() == 400);
  for (std::size_t at = 0; at < found.requests.size(); ++at) CHECK(found.requests[at].number == at);
}

TEST_CASE("a file that is there already is refused and stays as it is, and so is one that cannot be made") {
  const scratch_folder folder;
  const auto file = folder.write("t.rec", "precious");
  const auto again = traffic_writer::open(file, some_project(), options());
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().front().code == "file_exists");
  CHECK(again.error().front().source == file.string());
  CHECK(std::filesystem::file_size(file) == 8);
  const auto none = traffic_writer::open(folder.path() / "no folder/t.rec", some_project(), options());
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().front().code == "unwritable_file");
  const auto full =
      traffic_writer::on(braid::descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC)), some_project(), options());
  REQUIRE_FALSE(full.has_value());
  CHECK(full.error().front().code == "unwritable_file");
}

TEST_CASE("a disk that is full costs requests, which are counted, and leaves no part of a frame") {
  const int file = ::memfd_create("t.rec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(file >= 0);
  const auto writer = value_of(traffic_writer::on(braid::descriptor(::dup(file)), some_project(), options()));
  const auto plan = plan_called("p");
  writer->add(plan, request_called("one"));
  CHECK(eventually([&] { return writer->counts().recorded == 1; }));
  const auto size = writer->counts().bytes;
  REQUIRE(::fcntl(file, F_ADD_SEALS, F_SEAL_GROW) == 0);
  writer->add(plan, request_called("two"));
  CHECK(eventually([&] { return lost_by(*writer, traffic_loss::write) == 1; }));
  writer->add(plan_called("q"), request_called("three"));
  CHECK(eventually([&] { return lost_by(*writer, traffic_loss::write) == 2; }));
  CHECK(writer->counts().recorded == 1);
  CHECK(writer->counts().all_lost() == 2);
  struct ::stat state{};
  REQUIRE(::fstat(file, &state) == 0);
  CHECK(static_cast<std::uint64_t>(state.st_size) == size);
  ::close(file);
}

TEST_CASE("nothing is written beyond the largest size, nor taken beyond what may wait") {
  const scratch_folder folder;
  const auto plan = plan_called("p");
  {
    const auto writer = value_of(traffic_writer::open(folder.path() / "small", some_project(),
                                                      options({.max_bytes = 400, .max_waiting = 5000})));
    CHECK(writer->wants_next());
    writer->add(plan, request_called(std::string(100, 'x')));
    writer->add(plan, request_called(std::string(1000, 'x')));
    writer->add(plan, request_called(std::string(20, 'x')));
    writer->add(plan, request_called(std::string(9000, 'x')));
    writer->lose(traffic_loss::write);
    CHECK(lost_by(*writer, traffic_loss::queue) == 1);
    CHECK(eventually([&] { return lost_by(*writer, traffic_loss::limit) == 1; }));
    CHECK(eventually([&] { return writer->counts().recorded == 2; }));
    CHECK(writer->counts().all_lost() == 3);
    CHECK(writer->counts().bytes <= 400);
    CHECK_FALSE(writer->wants_next());
    writer->add(plan, request_called("last"));
  }
  const seen_traffic found = seen(value_of(traffic_reader::open(folder.path() / "small")));
  REQUIRE(found.requests.size() == 3);
  CHECK(found.requests[0].number == 0);
  CHECK(found.requests[1].number == 2);
  CHECK(found.requests[2].number == 5);  // the gaps show what was lost
}

TEST_CASE("a plan without an image is looked for again a minute later, and not for each request before") {
  const scratch_folder folder;
  braid::manual_clock clock;
  int looked = 0;  // this and the next ones: of the writing thread until all is counted
  int said = 0;
  bool is_there = false;
  const auto gone = plan_called("gone");
  {
    const auto writer =
        value_of(traffic_writer::open(folder.path() / "t.rec", some_project(),
                                      {.make_image = [&](const bound_plan& plan) -> braid::checked<recorded_plan> {
                                         ++looked;
                                         if (!is_there) return refused("plan_changed", "it changed");
                                         return image_of_name(plan);
                                       },
                                       .on_no_image = [&said](const bound_plan&, const braid::diagnostics&) { ++said; },
                                       .clock = &clock}));
    const auto lose_one = [&](std::uint64_t all) {
      writer->add(gone, request_called("r"));
      REQUIRE(eventually([&] { return lost_by(*writer, traffic_loss::plan) == all; }));
    };
    for (std::uint64_t all = 1; all < 4; ++all) lose_one(all);
    clock.advance(std::chrono::seconds(59));
    lose_one(4);
    CHECK(looked == 1);
    clock.advance(std::chrono::seconds(1));
    lose_one(5);
    CHECK(looked == 2);
    is_there = true;
    lose_one(6);
    clock.advance(std::chrono::seconds(60));
    writer->add(gone, request_called("kept"));
  }
  CHECK(looked == 3);
  CHECK(said == 1);
  const seen_traffic found = seen(value_of(traffic_reader::open(folder.path() / "t.rec")));
  REQUIRE(found.requests.size() == 1);
  CHECK(found.requests[0].request_id == "kept");
}

TEST_CASE("a plan that is too large for a frame is named") {
  const scratch_folder folder;
  std::string said;
  {
    const auto writer = value_of(traffic_writer::open(
        folder.path() / "t.rec", some_project(),
        {.make_image =
             [](const bound_plan&) {
               recorded_plan out;
               out.artifact.resize(max_frame);
               return out;
             },
         .on_no_image = [&said](const bound_plan& plan,
                                const braid::diagnostics& why) { said += plan.name + " " + why.front().code; }}));
    const auto large = plan_called("large");
    writer->add(large, request_called("one"));
    writer->add(large, request_called("two"));
    CHECK(eventually([&] { return lost_by(*writer, traffic_loss::write) == 2; }));
  }
  CHECK(said == "large plan_too_large");
}

TEST_CASE("requests of a plan that has no image are lost, and said once") {
  const scratch_folder folder;
  std::vector<std::string> said;
  {
    const auto writer =
        value_of(traffic_writer::open(folder.path() / "t.rec", some_project(),
                                      {.make_image = [](const bound_plan& plan) -> braid::checked<recorded_plan> {
                                         if (plan.name == "gone") return refused("plan_changed", "it changed");
                                         return image_of_name(plan);
                                       },
                                       .on_no_image =
                                           [&said](const bound_plan& plan, const braid::diagnostics& why) {
                                             said.push_back(plan.name + " " + why.front().code);
                                           }}));
    const auto gone = plan_called("gone");
    writer->add(gone, request_called("one"));
    writer->add(gone, request_called("two"));
    writer->add(plan_called("there"), request_called("three"));
    CHECK(eventually([&] { return lost_by(*writer, traffic_loss::plan) == 2; }));
    CHECK(eventually([&] { return writer->counts().recorded == 1; }));
  }
  CHECK(said == std::vector<std::string>{"gone plan_changed"});
}

TEST_CASE("a plan that stands in comes before the one that names it, and a new plan is not an old one") {
  const scratch_folder folder;
  {
    const auto writer = value_of(traffic_writer::open(folder.path() / "t.rec", some_project(), options()));
    const auto whole = plan_called("whole");
    whole->substitute = plan_called("spare");
    writer->add(whole, request_called("one"));
    for (int n = 0; n < 3; ++n) writer->add(plan_called("short"), request_called("two"));
  }
  const seen_traffic found = seen(value_of(traffic_reader::open(folder.path() / "t.rec")));
  REQUIRE(found.plans.size() == 5);
  CHECK(found.plans[0].name == "spare");
  CHECK(found.plans[1].name == "whole");
  CHECK(found.plans[1].substitute == found.plans[0].number);
  CHECK_FALSE(found.plans[0].substitute.has_value());
  CHECK(found.requests[0].plan == found.plans[1].number);
  CHECK(found.requests[3].plan == found.plans[4].number);
}

TEST_CASE("a share of the requests is spread evenly") {
  const scratch_folder folder;
  const auto writer = value_of(traffic_writer::open(folder.path() / "t.rec", some_project(), options({.share = 0.25})));
  std::string wanted;
  for (int n = 0; n < 12; ++n) wanted += writer->wants_next() ? '1' : '0';
  CHECK(wanted == "000100010001");
  const auto all = value_of(traffic_writer::open(folder.path() / "all.rec", some_project(), options()));
  CHECK(all->wants_next());
  const auto none = value_of(traffic_writer::open(folder.path() / "none.rec", some_project(), options({.share = 0})));
  CHECK_FALSE(none->wants_next());
}
