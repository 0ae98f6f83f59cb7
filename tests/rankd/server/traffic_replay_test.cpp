// tests/rankd/server/traffic_replay_test.cpp: requests that a server has recorded have the same answers again.
#include <rankd/server/traffic/traffic_replay.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/traffic/traffic_images.hpp>
#include <rankd/server/traffic/traffic_writer.hpp>
#include <rankd/store/faulty_store.hpp>
#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_options.hpp>
#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/rankd/server/traffic_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/scratch_folder.hpp>

#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::scratch_folder;
using nlohmann::json;

namespace {

/// Those of files; one that a test has written has a made-up one, which is not run.
auto image_for_test(const bound_plan& plan) -> braid::checked<recorded_plan> {
  const auto& project = reference_project::get();
  if (plan.name == "reels_plan_a" || plan.name == "concat_plan")
    return make_image(plan, project.where, project.declared);
  recorded_plan out;
  out.name = "t";
  out.artifact = artifact_of(source("a", 1), R"("a")");
  out.digest = bound_from(out.artifact, "t")->digest;
  return out;
}

auto reference_image() -> recorded_project {
  const auto& project = reference_project::get();
  return value_of(make_image(project.where, project.declared, "1.2"));
}

/// A server that records, and what it has recorded once it is gone.
class recording_world {
 public:
  explicit recording_world(std::vector<std::string> redacted = {},
                           std::vector<store*> stores = reference_project::get().stores)
      : writer_(value_of(traffic_writer::open(file(), reference_image(), {.make_image = &image_for_test}))),
        served_(std::make_unique<serve_world>(
            serve_options{}, nullptr, serve_log{}, std::move(stores), nullptr,
            value_of(redaction::make(std::move(redacted), reference_project::get().declared)), writer_.get())) {}

  auto served() -> serve_world& { return *served_; }
  [[nodiscard]] auto file() const -> std::filesystem::path { return folder_.path() / "t.rec"; }

  /// Ends the server and runs everything again.
  auto replayed(traffic_replay::settings how = {.plans = {}, .request_id = {}, .workers = 1})
      -> std::vector<replayed_request> {
    served_.reset();
    writer_.reset();
    auto from = value_of(traffic_reader::open(file()));
    traffic_replay again(how);
    std::vector<replayed_request> out;
    while (const auto frame = from.next())
      if (auto one = value_of(again.take(*frame))) out.push_back(std::move(*one));
    CHECK(from.how_it_ends() == traffic_reader::end::whole);
    CHECK(again.lost() == 0);
    check_together(std::move(how), out);
    return out;
  }

 private:
  /// Several threads have the same results, in the same order.
  void check_together(traffic_replay::settings how, const std::vector<replayed_request>& alone) const {
    how.workers = 3;
    auto from = value_of(traffic_reader::open(file()));
    std::deque<std::string> contents;
    std::vector<traffic_reader::frame> frames;
    while (const auto frame = from.next())
      frames.push_back({.kind = frame->kind, .content = contents.emplace_back(frame->content)});
    traffic_replay again(std::move(how));
    const auto together = value_of(again.take_all(frames));
    CHECK(again.lost() == 0);
    REQUIRE(together.size() == alone.size());
    for (std::size_t at = 0; at < alone.size(); ++at) {
      CHECK(together[at].number == alone[at].number);
      CHECK(together[at].result == alone[at].result);
      CHECK(together[at].replayed == alone[at].replayed);
      CHECK(together[at].why == alone[at].why);
    }
  }

  scratch_folder folder_;
  std::unique_ptr<traffic_writer> writer_;
  std::unique_ptr<serve_world> served_;
};

auto asked(int user, const std::string& plan, const std::string& more = "") -> std::string {
  return R"({"user_id":)" + std::to_string(user) + R"(,"plan":")" + plan + "\"" + more + "}";
}

}  // namespace

TEST_CASE("what was answered is answered again, byte for byte: alone, in batches, with ids of the head, explained") {
  recording_world world;
  std::vector<std::string> answers;
  const auto ask = [&](const std::string& text, std::string_view fields = {}) {
    std::string body = world.served().rank(text, fields).body;
    body.pop_back();  // its line feed
    answers.push_back(std::move(body));
  };
  for (int user = 1; user < 8; ++user)
    for (const char* plan : {"reels_plan_a", "concat_plan"}) ask(asked(user, plan));
  ask(asked(1, "reels_plan_a"), "X-Request-Id: of the head\r\n");
  ask(asked(1, "reels_plan_a", R"(,"deadline_ms":60000,"output_keys":[])"));
  const json explained = json::parse(world.served().rank(asked(2, "reels_plan_a", R"(,"explain":true)")).body);
  answers.emplace_back();
  static_cast<void>(world.served().ask(
      "POST", "/v1/rank/batch", R"({"requests":[)" + asked(3, "concat_plan") + "," + asked(0, "concat_plan") + "]}",
      "X-Request-Id: b\r\n"));
  const auto found = world.replayed();
  REQUIRE(found.size() == answers.size() + 1);
  int with_candidates = 0;
  for (std::size_t at = 0; at < found.size(); ++at) {
    CAPTURE(found[at].replayed);
    CHECK(found[at].result == replay_result::equal);
    CHECK(found[at].number == at);
    if (!json::parse(found[at].replayed).at("candidates").empty()) ++with_candidates;
    if (at < answers.size() && !answers[at].empty()) CHECK(found[at].replayed == answers[at]);
  }
  CHECK(with_candidates > 10);
  CHECK(found[14].request_id == "of the head");
  CHECK(found.back().request_id == "b.0");
  json again = json::parse(found[16].replayed);
  CHECK(again.at("candidates") == explained.at("candidates"));
}

TEST_CASE("reads that requests share are recorded for each of them") {
  faulty_store elsewhere(*reference_project::get().stores.front(), "ep_0001", {});
  recording_world world({}, {&elsewhere, nullptr});
  std::string batch = R"({"requests":[)";
  for (int n = 0; n < 8; ++n) batch += (n == 0 ? "" : ",") + asked(2, "concat_plan");
  static_cast<void>(world.served().ask("POST", "/v1/rank/batch", batch + "]}"));
  const auto found = world.replayed();
  REQUIRE(found.size() == 8);
  for (const replayed_request& each : found) {
    CHECK(each.result == replay_result::equal);
    CHECK(!json::parse(each.replayed).at("candidates").empty());
  }
}

TEST_CASE("a store that failed fails again, with the same words") {
  const auto at_port = [] {
    endpoint_entry endpoint = *reference_project::get().declared.find_endpoint("ep_0001");
    endpoint.resolver = static_resolver{"127.0.0.1", 1};
    return endpoint;
  };
  std::vector<std::unique_ptr<store>> owned;
  std::vector<store*> stores;
  for (const store* each : reference_project::get().stores) {
    owned.push_back(each == nullptr ? nullptr : value_of(open_store(at_port(), ".")));
    stores.push_back(owned.back().get());
  }
  recording_world world({}, stores);
  const std::string answer = world.served().rank(asked(1, "reels_plan_a")).body;
  CHECK(answer.find("store_unreachable") != std::string::npos);
  const auto found = world.replayed();
  REQUIRE(found.size() == 1);
  CHECK(found[0].result == replay_result::equal);
  CHECK(found[0].replayed.find("store_unreachable") != std::string::npos);
}

TEST_CASE("what Redis has answered is answered again without it") {
  std::vector<std::unique_ptr<store>> owned;
  std::vector<store*> stores;
  std::unique_ptr<recording_world> world;
  {
    const braid::testing::redis_server server;
    const auto& project = reference_project::get();
    for (const endpoint_entry& each : project.declared.endpoints()) {
      endpoint_entry endpoint = each;
      endpoint.resolver = static_resolver{"127.0.0.1", server.port()};
      endpoint.policy.request_timeout = endpoint.policy.connect_timeout = std::chrono::seconds(20);
      const bool is_store = each.kind != endpoint_entry::kind_type::http;
      owned.push_back(is_store ? value_of(open_store(endpoint, ".")) : nullptr);
      stores.push_back(owned.back().get());
      if (!is_store) continue;
      std::vector<std::filesystem::path> files;
      for (const auto& file : std::filesystem::directory_iterator(project.where.data.value()))
        if (file.path().extension() == ".ndjson") files.push_back(file.path());
      value_of(load_redis(value_of(parse_redis_options(endpoint)), files, {}));
    }
    world = std::make_unique<recording_world>(std::vector<std::string>(), stores);
    for (int user = 1; user < 4; ++user) CHECK(world->served().rank(asked(user, "reels_plan_a")).status == 200);
  }
  for (const replayed_request& each : world->replayed()) CHECK(each.result == replay_result::equal);
}

TEST_CASE("a request that ran out of time is not compared, nor one that is redacted, and neither leaks") {
  recording_world world({"user_id"});
  CHECK(world.served().rank(asked(1, "slow", R"(,"deadline_ms":300)")).status == 504);
  CHECK(world.served().rank(asked(4711, "reels_plan_a", R"(,"request_id":"r")")).status == 200);
  CHECK(world.served().rank(R"({"plan":"ten","request_id":"nobody"})").status == 200);
  const auto found = world.replayed();
  REQUIRE(found.size() == 3);
  CHECK(found[0].result == replay_result::redacted);
  CHECK(found[1].result == replay_result::redacted);
  CHECK(found[1].request_id == "r");
  CHECK(found[1].why == "the recording does not contain user_id of the request, or the data that depends on it");
  CHECK(found[1].replayed.empty());
  CHECK(found[2].result != replay_result::redacted);
  const std::string bytes = value_of(read_text_file(world.file()));
  CHECK(bytes.find("4711") == std::string::npos);

  recording_world late;
  CHECK(late.served().rank(asked(1, "slow", R"(,"deadline_ms":300)")).status == 504);
  const auto timed = late.replayed();
  REQUIRE(timed.size() == 1);
  CHECK(timed[0].result == replay_result::timed);
  CHECK(timed[0].why == "the request ran out of time when it was recorded (deadline_exceeded)");
}

TEST_CASE("a request whose plan failed, and whose substitute ran out of time, is not compared") {
  const auto& project = reference_project::get();
  const std::string required =
      R"("capabilities_required":["cap.rfc.0004.fallback.v1"],"fallback_plan":{"plan":"late","on":["test_failure"]},)";
  const std::string failing = source("a", 1) + "," + sleep("b", "a", 0, sleep_end::failing);
  const std::string stuck = source("a", 1) + "," + sleep("b", "a", an_hour_ms);
  auto whole = std::make_shared<bound_plan>(*bound_from(artifact_of(failing, R"("b")", required), "whole"));
  REQUIRE(add_substitute(*whole, bound_from(artifact_of(stuck, R"("b")"), "late")).empty());
  const fixed_plans plans({{.name = "whole", .bound = whole, .problems = {}}});
  const scratch_folder folder;
  const auto file = folder.path() / "t.rec";
  {
    const auto writer = value_of(traffic_writer::open(file, reference_image(), {.make_image = &image_for_test}));
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    const auto server = value_of(rank_server::start(
        {.declared = &project.declared, .stores = project.stores, .plans = &plans, .traffic = writer.get()}, options));
    braid::testing::http_caller one(server->address());
    one.say(braid::testing::request_text("POST", "/v1/rank", {}, asked(1, "whole", R"(,"deadline_ms":300)")));
    CHECK(one.hear().value().body.find("test_failure") != std::string::npos);
  }
  auto from = value_of(traffic_reader::open(file));
  traffic_replay again({.plans = {}, .request_id = {}, .workers = 1});
  std::vector<replay_result> found;
  while (const auto frame = from.next())
    if (const auto one = value_of(again.take(*frame))) found.push_back(one->result);
  CHECK(found == std::vector<replay_result>{replay_result::timed});
}

TEST_CASE("names that every answer has are redacted with every request, others where they are given") {
  const auto redacted_of = [](const std::string& name) {
    recording_world world({name});
    CHECK(world.served().rank(asked(1, "reels_plan_a", R"(,"output_keys":[])")).status == 200);
    CHECK(world.served().rank(asked(1, "reels_plan_a")).status == 200);
    std::string out;
    for (const replayed_request& each : world.replayed()) out += each.result == replay_result::redacted ? 'r' : '-';
    return out;
  };
  CHECK(redacted_of("engine_request_id") == "rr");
  CHECK(redacted_of("request_id") == "rr");
  CHECK(redacted_of("output_keys") == "r-");
  CHECK(redacted_of("client") == "--");
}

TEST_CASE("another plan gives other answers, and reads that were not recorded are named") {
  recording_world world;
  static_cast<void>(world.served().rank(asked(1, "reels_plan_a", R"(,"request_id":"a")")));
  static_cast<void>(world.served().rank(asked(2, "reels_plan_a", R"(,"request_id":"b")")));
  const scratch_folder folder;
  const auto& where = reference_project::get().where;
  const auto plan = [&](const char* from, const char* to) {
    std::string text = value_of(read_text_file(where.plans / "reels_plan_a.json"));
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return folder.write("other.json", text.replace(at, std::string_view(from).size(), to));
  };
  const auto run = [&](const std::filesystem::path& file, const std::string& id = {}) {
    return world.replayed({.plans = {file}, .request_id = id, .workers = 1});
  };
  const auto heavier = run(plan("\"value\": 0.2", "\"value\": 0.3"));
  REQUIRE(heavier.size() == 2);
  for (const replayed_request& each : heavier) {
    CHECK(each.result == replay_result::different);
    CHECK(each.why.empty());
    CHECK(each.recorded != each.replayed);
  }
  const auto wider = run(plan("\"fanout\": 10", "\"fanout\": 20"), "a");
  REQUIRE(wider.size() == 1);
  CHECK(wider[0].request_id == "a");
  CHECK(wider[0].result == replay_result::missing);
  CHECK(wider[0].why == "the recording does not contain `follow:1` of endpoint `ep_0001`");
  CHECK(wider[0].replayed.find("read_not_recorded") != std::string::npos);
  const auto whole = run(plan("\"fanout\": 10", "\"fanout\": 20"), "b");  // whose list has fewer than ten
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].result == replay_result::equal);
}

TEST_CASE("frames that come in no order, or cannot be read, are refused") {
  const std::string request = encode_frame(recorded_request{});
  const std::string project = encode_frame(reference_image());
  const auto content = [](const std::string& frame) { return std::string_view(frame).substr(frame_head); };
  traffic_replay again({.plans = {}, .request_id = {}, .workers = 1});
  const auto code = [&](frame_kind kind, std::string_view bytes) {
    const auto taken = again.take({kind, bytes});
    return taken ? std::string("fine") : taken.error().front().code + ": " + taken.error().front().message;
  };
  CHECK(code(static_cast<frame_kind>(99), "x") == "fine");
  CHECK(code(frame_kind::request, content(request)) == "not_traffic: does not begin with a project");
  CHECK(code(frame_kind::project, "x") == "not_traffic: has a project that cannot be read");
  CHECK(code(frame_kind::project, content(project)) == "fine");
  CHECK(code(frame_kind::project, content(project)) == "not_traffic: has two projects");
  CHECK(code(frame_kind::plan, "x") == "not_traffic: has a plan that cannot be read");
  CHECK(code(frame_kind::request, "x") == "not_traffic: has a request that cannot be read");
  std::string last = request;
  number_request(std::span(last), std::numeric_limits<std::uint64_t>::max(), 1);
  CHECK(code(frame_kind::request, content(last)) == "not_traffic: has a request with an invalid number");
  const auto unusable = again.take({frame_kind::request, content(request)});
  REQUIRE(unusable.has_value());
  CHECK(unusable->value().result == replay_result::unusable);
  CHECK(unusable->value().why == "the recording does not contain the plan of the request");
  CHECK(code(frame_kind::request, content(request)) == "fine");  // the same number again
  CHECK(again.lost() == 0);
}

TEST_CASE("a server whose record cannot be written goes on, and its metrics tell what is lost") {
  const int file = ::memfd_create("t.rec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const auto writer =
      value_of(traffic_writer::on(braid::descriptor(file), reference_image(), {.make_image = &image_for_test}));
  serve_world world({}, nullptr, {}, reference_project::get().stores, nullptr, {}, writer.get());
  CHECK(world.rank(asked(1, "concat_plan")).status == 200);
  CHECK(eventually([&] { return writer->counts().recorded == 1; }));
  REQUIRE(::fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW) == 0);
  CHECK(world.rank(asked(2, "concat_plan")).status == 200);
  CHECK(eventually([&] { return writer->counts().all_lost() == 1; }));
  CHECK(world.rank(asked(3, "concat_plan")).status == 200);
  const std::string metrics = world.ask("GET", "/metrics").body;
  CHECK(metrics.find("rankd_recorded_requests_total 1\n") != std::string::npos);
  CHECK(metrics.find(R"(rankd_record_lost_total{reason="write"} )") != std::string::npos);
  CHECK(metrics.find(R"(rankd_record_lost_total{reason="write"} 0)") == std::string::npos);
  CHECK(metrics.find("rankd_record_bytes ") != std::string::npos);
}
