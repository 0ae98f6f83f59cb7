// tests/rankd/store/model_server_test.cpp: rows go to a server of models as it wants them, and its scores come back.
#include <rankd/store/model_server.hpp>

#include <rankd/store/error.hpp>

#include <tests/rankd/store/asking.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/scripted_server.hpp>
#include <tests/support/system_threads.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/sleep.hpp>

#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace std::chrono_literals;
using braid::http_exchange;
using braid::http_status;
using braid::testing::http_scene;
using rankd::detail::circuit_breaker;
using rankd::testing::ask_store;

namespace {

using json = nlohmann::json;

constexpr std::array price{1.5, -2.0, 1e300};
constexpr std::array<std::int64_t, 3> stock{3, 0, -9'007'199'254'740'993};
constexpr std::array in_sale{true, false, true};
constexpr std::array<std::string_view, 3> color{"red", "\"", ""};

/// What the server has been asked, and what it says; nothing for an hour where there is no `answer`.
struct model_scene {
  std::vector<json> bodies;
  std::vector<std::string> paths;
  std::vector<std::string> tokens;
  std::function<void(http_exchange&, const json&)> answer;
  braid::http_router routes;
  std::deque<model_server> servers;  // which outlive the loop
  std::optional<http_scene> scene;
  braid::arena memory;

  explicit model_scene(std::function<void(http_exchange&, const json&)> how) : answer(std::move(how)) {
    routes.add(braid::http_method::post, "/v2/{rest...}",
               [this](http_exchange& exchange) -> braid::task<void> { return take(*this, exchange); });
    scene.emplace(routes);
  }

  static auto take(model_scene& by, http_exchange& exchange) -> braid::task<void> {
    by.paths.emplace_back(exchange.request().target);
    const auto token = exchange.request().fields.find("authorization");
    by.tokens.emplace_back(token ? *token : "");
    auto reading = exchange.read_all();
    const auto body = co_await std::move(reading);
    by.bodies.push_back(json::parse(body.value()));
    if (by.answer == nullptr) co_await braid::sleep_for(1h);
    if (by.answer != nullptr) by.answer(exchange, by.bodies.back());
  }

  [[nodiscard]] auto options() const -> model_server_options {
    return {.endpoint_id = "ep_0002", .origin = "http://127.0.0.1:" + std::to_string(scene->address().port())};
  }

  auto add(model_server_options how) -> model_server& { return servers.emplace_back(std::move(how)); }

  /// What comes back for a call, or its code.
  auto ask(model_server& at, const model_call& what, braid::duration step = {}) -> std::string {
    auto asking = ask_store(at, what, memory);
    const auto got = scene->here.run_through(std::move(asking), step).take();
    if (!got) {
      last = at.explain(got.error()).message;
      return at.explain(got.error()).code;
    }
    std::string out;
    for (std::size_t row = 0; row < got->rows(); ++row)
      for (std::size_t at_score = 0; at_score < got->scores; ++at_score) {
        const double value = got->at(row, at_score);
        out += (out.empty() ? "" : " ") + (std::isnan(value) ? "-" : json(value).dump());
      }
    return out;
  }

  std::string last;  ///< message of a failure
};

auto answer_with(std::string text, http_status status = http_status::ok)
    -> std::function<void(http_exchange&, const json&)> {
  return [text = std::move(text), status](http_exchange& exchange, const json& /*asked*/) {
    exchange.reply(status, "application/json", text);
  };
}

/// The sum of what each row has in its tensors.
void sums(http_exchange& exchange, const json& asked) {
  const std::size_t rows = asked["inputs"][0]["shape"][0];
  json data = json::array();
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (const json& tensor : asked["inputs"]) {
      const std::size_t width = tensor["shape"][1];
      for (std::size_t at = 0; at < width; ++at) sum += tensor["data"][row * width + at].get<double>();
    }
    data.push_back(sum);
  }
  const json out{{"model_name", "ctr"},
                 {"outputs", {{{"name", "y"}, {"shape", {rows, 1}}, {"datatype", "FP64"}, {"data", data}}}}};
  exchange.reply(http_status::ok, "application/json", out.dump());
}

const std::array numbers{model_input{.name = "price", .values = std::span<const double>(price).first(2)},
                         model_input{.name = "stock", .values = std::span<const std::int64_t>(stock).first(2)}};

auto call_of(std::size_t rows = 2) -> model_call { return {.model = "ctr", .inputs = numbers, .rows = rows}; }

auto tensor_of(std::string_view shape, std::string_view data, std::string_view name = "y") -> std::string {
  return R"({"name":")" + std::string(name) + R"(","datatype":"FP32","shape":)" + std::string(shape) + R"(,"data":)" +
         std::string(data) + "}";
}

auto outputs_of(const std::string& tensors) -> std::string { return R"({"outputs":[)" + tensors + "]}"; }

}  // namespace

TEST_CASE("each input is a tensor of the type of its column") {
  const std::array all{model_input{.name = "price", .values = std::span<const double>(price)},
                       model_input{.name = "stock", .values = std::span<const std::int64_t>(stock)},
                       model_input{.name = "in_sale", .values = std::span<const bool>(in_sale)},
                       model_input{.name = "color", .values = model_input::texts(color)}};
  const std::array<std::string_view, 1> wanted{"y"};
  const model_call what{.model = "ctr", .inputs = all, .outputs = wanted, .rows = 3};
  CHECK(rankd::detail::inference_body(what, {0, 3}) ==
        R"({"inputs":[{"name":"price","shape":[3,1],"datatype":"FP64","data":[1.5,-2,1e+300]},)"
        R"({"name":"stock","shape":[3,1],"datatype":"INT64","data":[3,0,-9007199254740993]},)"
        R"({"name":"in_sale","shape":[3,1],"datatype":"BOOL","data":[true,false,true]},)"
        R"({"name":"color","shape":[3,1],"datatype":"BYTES","data":["red","\"",""]}],"outputs":[{"name":"y"}]})");
}

TEST_CASE("all inputs may be one tensor of floats, of the width that the server takes") {
  constexpr std::array shares{0.5, 0.25, -9007199254740992.0};
  const std::array all{model_input{.name = "price", .values = std::span<const double>(price)},
                       model_input{.name = "share", .values = std::span<const double>(shares)}};
  model_call what{.model = "ctr", .version = "3", .inputs = all, .tensor = "x", .rows = 3};
  CHECK(rankd::detail::inference_body(what, {1, 3}) ==
        R"({"inputs":[{"name":"x","shape":[2,2],"datatype":"FP64","data":[-2,0.25,1e+300,-9007199254740992]}]})");
  what.floats = float_width::bits_32;
  CHECK(rankd::detail::inference_body(what, {2, 3}) ==
        R"({"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":[3.4028235e+38,-9.007199e+15]}]})");
  CHECK(rankd::detail::inference_path("ctr", "3") == "/v2/models/ctr/versions/3/infer");
  CHECK(rankd::detail::inference_path("ctr", "") == "/v2/models/ctr/infer");
}

TEST_CASE("rows are scored, in several calls where they are many") {
  model_scene at(&sums);
  model_server& server = at.add(at.options());
  CHECK(at.ask(server, call_of()) == "4.5 -2.0");
  CHECK(at.paths.back() == "/v2/models/ctr/infer");
  CHECK(at.tokens.back().empty());
  model_call each = call_of();
  each.rows_per_call = 1;
  CHECK(at.ask(server, each) == "4.5 -2.0");
  CHECK(at.bodies.size() == 3);
  CHECK(at.ask(server, call_of(0)).empty());
  CHECK(at.bodies.size() == 3);
}

TEST_CASE("scores come by the names of tensors, nested or not, and null is none") {
  const std::array<std::string_view, 2> wanted{"b", "a"};
  model_call two = call_of();
  two.outputs = wanted;
  two.scores = 2;
  model_scene at(
      answer_with(outputs_of(tensor_of("[2]", "[1,null]", "a") + "," + tensor_of("[2,1]", "[[3],[4]]", "b"))));
  model_server& server = at.add(at.options());
  CHECK(at.ask(server, two) == "3.0 1.0 4.0 -");
  at.answer = answer_with(outputs_of(tensor_of("[2,2]", "[1,2,true,false]")));
  two.outputs = {};
  CHECK(at.ask(server, two) == "1.0 2.0 1.0 0.0");
}

TEST_CASE("an answer that is none says what is wrong with it") {
  model_scene at(answer_with(""));
  model_server_options options = at.options();
  options.breaker.failures = 0;
  model_server& server = at.add(options);
  const std::array<std::pair<std::string, std::string_view>, 12> cases{{
      {outputs_of(tensor_of("[2]", "[1,-Infinity]")),
       "the tensor `y` has a value that is not a finite number, for row 1"},
      {"[]", "the answer has no array `outputs`"},
      {"{}", "the answer has no array `outputs`"},
      {R"({"outputs":[1]})", "an item of `outputs` is not an object"},
      {outputs_of(""),
       "the answer has 0 tensors, but the node does not say which to use; name one of these in `outputs`: "},
      {outputs_of(tensor_of("[2]", "[1,2]") + "," + tensor_of("[2]", "[1,2]")),
       "the answer has 2 tensors, but the node does not say which to use; name one of these in `outputs`: `y`, `y`"},
      {outputs_of(tensor_of("[3]", "[1,2,3]")), "the tensor `y` has no shape of 2 rows"},
      {outputs_of(tensor_of("[]", "[1,2]")), "the tensor `y` has no shape of 2 rows"},
      {outputs_of(tensor_of("[2,18446744073709551615,2]", "[1,2]")), "the tensor `y` has no shape of 2 rows"},
      {outputs_of(tensor_of("[2,2]", "[1,2,3,4]")),
       "the tensor `y` has 2 values for each row, but the plan needs 1; name one column in `outputs`, such as `y[1]`"},
      {outputs_of(tensor_of("[2]", "[1]")), "the tensor `y` has 1 value in place of 2"},
      {outputs_of(tensor_of("[2]", R"([1,"2"])")), "the tensor `y` has a value that is not a finite number, for row 1"},
  }};
  for (const auto& [text, why] : cases) {
    CAPTURE(text);
    at.answer = answer_with(text);
    CHECK(at.ask(server, call_of()) == "model_bad_answer");
    CHECK(at.last.ends_with(why));
  }
  at.answer = answer_with(R"({"outputs":[{"data":[nan]}]})");
  CHECK(at.ask(server, call_of()) == "model_bad_answer");
  CHECK(at.last.contains("the answer is not valid JSON"));
  const std::array<std::string_view, 1> wanted{"z"};
  model_call named = call_of();
  named.outputs = wanted;
  at.answer = answer_with(outputs_of(tensor_of("[2]", "[1,2]")));
  CHECK(at.ask(server, named) == "model_bad_answer");
  CHECK(at.last.ends_with("the answer has no tensor `z`; it has `y`"));
}

TEST_CASE("one column of a tensor is chosen by its number, and NaN is none") {
  // As MLServer and Triton answer for a classifier of scikit-learn.
  const std::string classes = R"({"name":"label","shape":[2],"datatype":"INT64","data":[0,1]},)"
                              R"({"name":"probabilities","shape":[2,2],"datatype":"FP32","data":[0.75,0.25,NaN,NaN]})";
  std::vector<json> asked;
  model_scene at([&](http_exchange& exchange, const json& body) {
    asked.push_back(body);
    answer_with(outputs_of(classes))(exchange, body);
  });
  model_server& server = at.add(at.options());
  const auto ask = [&](std::vector<std::string_view> names) {
    model_call what = call_of();
    what.outputs = names;
    what.scores = names.size();
    return at.ask(server, what);
  };
  CHECK(ask({"probabilities[1]"}) == "0.25 -");
  CHECK(asked.back().at("outputs") == json::parse(R"([{"name":"probabilities"}])"));
  CHECK(ask({"probabilities[1]", "probabilities[0]", "label[0]"}) == "0.25 0.75 0.0 - - 1.0");
  CHECK(asked.back().at("outputs") == json::parse(R"([{"name":"probabilities"},{"name":"label"}])"));
  CHECK(ask({"probabilities[2]"}) == "model_bad_answer");
  CHECK(at.last.ends_with("the tensor `probabilities` has 2 values for each row, numbered from 0, but no column 2"));
  CHECK(ask({"probabilities"}) == "model_bad_answer");
  CHECK(at.last.ends_with("name one column in `outputs`, such as `probabilities[1]`"));
  CHECK(ask({"probabilities[]"}) == "model_bad_answer");
  CHECK(at.last.ends_with("has no tensor `probabilities[]`; it has `label`, `probabilities`"));
}

TEST_CASE("labels are refused as scores, with a hint") {
  std::string type = "INT64";
  model_scene at([&](http_exchange& exchange, const json& body) {
    answer_with(outputs_of(R"({"name":"predict","shape":[2],"datatype":")" + type + R"(","data":[0,1]})"))(exchange,
                                                                                                           body);
  });
  model_server_options options = at.options();
  options.breaker.failures = 0;
  model_server& server = at.add(options);
  const std::array<std::string_view, 1> wanted{"predict"};
  model_call named = call_of();
  named.outputs = wanted;
  for (const std::string labels : {"INT64", "INT32", "UINT8", "BYTES"}) {
    type = labels;
    CHECK(at.ask(server, call_of()) == "model_bad_answer");
    CHECK(at.last.contains("the tensor `predict` has the datatype " + labels +
                           ", which contains labels instead of scores"));
    CHECK(at.last.contains("such as `predict_proba[1]`"));
    CHECK(at.ask(server, named) == "model_bad_answer");
  }
  for (const std::string scores : {"FP64", "FP32", "FP16", "BOOL"}) {
    type = scores;
    CHECK(at.ask(server, call_of()) == "0.0 1.0");
    CHECK(at.ask(server, named) == "0.0 1.0");
  }
}

TEST_CASE("an answer that is longer than its rows need is cut, whatever is in it") {
  model_scene at(answer_with(""));
  model_server_options options = at.options();
  options.breaker.failures = 0;
  options.request_timeout = 1min;
  model_server& server = at.add(options);
  const std::size_t most = rankd::detail::max_answer_bytes(call_of(), {0, 2});
  const std::string good = outputs_of(tensor_of("[2]", "[1,2]"));
  at.answer = answer_with(good + std::string(most - good.size(), ' '));
  CHECK(at.ask(server, call_of()) == "1.0 2.0");
  for (const std::string& text : {good + std::string(most + 1 - good.size(), ' '), std::string(62U << 20U, '[')}) {
    at.answer = answer_with(text);
    CHECK(at.ask(server, call_of()) == "model_bad_answer");
    CHECK(at.last.ends_with("the answer has more than " + std::to_string(most) +
                            " bytes, but the scores of 2 rows need fewer"));
  }
  at.answer = answer_with(std::string(most, 'x'), http_status::not_found);
  CHECK(at.ask(server, call_of()) == "model_refused");
}

TEST_CASE("a long answer is parsed by a thread beside the loop") {
  constexpr std::size_t rows = 10'000;
  const std::vector<double> values(rows, 0.5);
  const std::array inputs{model_input{.name = "price", .values = std::span<const double>(values)}};
  model_scene at(&sums);
  model_server_options options = at.options();
  options.request_timeout = 1min;
  model_server& server = at.add(options);
  const model_call what{.model = "ctr", .inputs = inputs, .rows = rows, .rows_per_call = rows};
  at.answer = [](http_exchange& exchange, const json& asked) {
    const std::size_t sent = asked["inputs"][0]["shape"][0];
    std::string data = "[0.123456789";
    for (std::size_t at_row = 1; at_row < sent; ++at_row) data += ",0.123456789";
    exchange.reply(http_status::ok, "application/json",
                   outputs_of(tensor_of("[" + std::to_string(sent) + "]", data + "]")));
  };
  CHECK(at.ask(server, what).starts_with("0.123456789 0.123456789 "));
  CHECK(braid::testing::threads_of_process("model-answers").size() == 1);
}

TEST_CASE("a refusal has a code by its status, and the server's words only where they may be shown") {
  model_scene at(answer_with(R"({"error":"no model secret_model"})", http_status::not_found));
  model_server_options options = at.options();
  options.breaker.failures = 0;
  options.token = "t0k";
  model_server& hidden = at.add(options);
  CHECK(at.ask(hidden, call_of()) == "model_refused");
  CHECK(at.last == "endpoint `ep_0002` at " + options.origin + ": the server answers with status 404");
  CHECK(at.tokens.back() == "Bearer t0k");
  options.words = server_messages::shown;
  model_server& shown = at.add(options);
  CHECK(at.ask(shown, call_of()) == "model_refused");
  CHECK(at.last.ends_with("status 404; the server says: no model secret_model"));
  const std::array<std::pair<http_status, std::string_view>, 5> cases{{
      {http_status::too_many_requests, "model_overloaded"},
      {http_status::service_unavailable, "model_overloaded"},
      {http_status::gateway_timeout, "model_timeout"},
      {http_status::bad_gateway, "model_unreachable"},
      {http_status::internal_server_error, "model_refused"},
  }};
  for (const auto& [status, code] : cases) {
    at.answer = answer_with("not JSON", status);
    CHECK(at.ask(shown, call_of()) == code);
  }
}

TEST_CASE("a server that does not answer costs the time of a call, and one that is not there none") {
  model_scene at(nullptr);
  model_server& server = at.add(at.options());
  CHECK(at.ask(server, call_of(), 100ms) == "model_timeout");
  model_server_options nobody = at.options();
  nobody.origin = "http://127.0.0.1:1";
  model_server& absent = at.add(nobody);
  CHECK(at.ask(absent, call_of()) == "model_unreachable");
}

TEST_CASE("a question with more calls than the bound allows sends the rest later, in its order") {
  constexpr std::array<double, 5> values{1, 2, 3, 4, 5};
  const std::array inputs{model_input{.name = "price", .values = std::span<const double>(values)}};
  const model_call each{.model = "ctr", .inputs = inputs, .rows = 5, .rows_per_call = 1};
  model_scene at(&sums);
  model_server_options options = at.options();
  options.connections = 4;
  options.max_in_flight = 2;
  options.breaker.failures = 0;
  model_server& server = at.add(options);
  CHECK(at.ask(server, each) == "1.0 2.0 3.0 4.0 5.0");
  CHECK(at.bodies.size() == 5);
  at.bodies.clear();
  at.answer = [](http_exchange& exchange, const json& asked) {
    if (asked["inputs"][0]["data"][0] == 1.0) return exchange.reply(http_status::not_found, "text/plain", "");
    sums(exchange, asked);
  };
  CHECK(at.ask(server, each) == "model_refused");
  CHECK(at.bodies.size() <= 3);  // after a failure no further call begins
  at.bodies.clear();
  at.answer = [](http_exchange& exchange, const json& asked) {
    if (asked["inputs"][0]["data"][0] == 4.0) return exchange.reply(http_status::bad_gateway, "text/plain", "");
    sums(exchange, asked);
  };
  CHECK(at.ask(server, each) == "model_unreachable");
}

TEST_CASE("calls of other questions that use up the bound fail a question at once") {
  model_scene at(nullptr);
  model_server_options options = at.options();
  options.max_in_flight = 1;
  model_server& server = at.add(options);
  auto ask = [](model_server& of, const model_call& what, braid::arena& memory) -> braid::task<void> {
    auto asking = ask_store(of, what, memory);
    static_cast<void>(co_await std::move(asking));
  };
  const model_call other = call_of();
  at.scene->here.io().spawn(ask(server, other, at.memory));
  REQUIRE(at.scene->here.run_until([&] { return !at.bodies.empty(); }));
  model_call each = call_of();
  each.rows_per_call = 1;
  CHECK(at.ask(server, each) == "model_overloaded");
  CHECK(
      at.last.ends_with("calls in progress on this event loop: 1, as many as `max_inflight` in the policy of the "
                        "endpoint allows"));
  CHECK(at.bodies.size() == 1);
}

TEST_CASE("a question that gets only some of the calls sends all its parts by them") {
  constexpr std::array<double, 3> values{1, 2, 3};
  const std::array inputs{model_input{.name = "price", .values = std::span<const double>(values)}};
  const model_call each{.model = "ctr", .inputs = inputs, .rows = 3, .rows_per_call = 1};
  model_scene at(nullptr);
  model_server_options options = at.options();
  options.connections = 2;
  options.max_in_flight = 2;
  options.request_timeout = 1h;
  model_server& server = at.add(options);
  auto ask = [](model_server& of, const model_call& what, braid::arena& memory) -> braid::task<void> {
    auto asking = ask_store(of, what, memory);
    static_cast<void>(co_await std::move(asking));
  };
  const model_call other = call_of();
  at.scene->here.io().spawn(ask(server, other, at.memory));  // stays unanswered
  REQUIRE(at.scene->here.run_until([&] { return !at.bodies.empty(); }));
  at.answer = &sums;
  CHECK(at.ask(server, each) == "1.0 2.0 3.0");
  CHECK(at.bodies.size() == 4);
}

TEST_CASE("a server that may speak gRPC only is named as such") {
  model_scene at(&sums);
  const std::string_view advice =
      R"(; if the server expects gRPC, write `protocol = "grpc"` into the resolver of the endpoint)";
  const std::string_view settings("\0\0\6\4\0\0\0\0\0\0\3\0\0\0\x64", 15);  // the first frame of a server of HTTP/2
  for (const std::string_view sent : {settings, std::string_view()}) {
    CAPTURE(sent.size());
    braid::testing::scripted_server peer(braid::testing::scripted_server::place::port);
    model_server_options options = at.options();
    options.origin = "http://127.0.0.1:" + std::to_string(peer.port());
    model_server& server = at.add(options);
    std::optional<std::string> why;
    auto ask = [](model_server& of, braid::arena& memory, std::optional<std::string>& into) -> braid::task<void> {
      auto asking = ask_store(of, call_of(), memory);
      const auto got = co_await std::move(asking);
      into = got ? "scores" : of.explain(got.error()).message;
    };
    at.scene->here.io().spawn(ask(server, at.memory, why));
    REQUIRE(at.scene->here.run_until([&] { return peer.accept(); }));
    REQUIRE(at.scene->here.run_until([&] { return !peer.received().empty(); }));
    peer.send(sent);
    peer.hang_up();
    REQUIRE(at.scene->here.run_until([&] { return why.has_value(); }));
    CHECK(why->ends_with(advice));
  }
  model_server& server = at.add(at.options());
  at.answer = answer_with("", http_status::unsupported_media_type);
  CHECK(at.ask(server, call_of()) == "model_refused");
  CHECK(at.last.ends_with(advice));
  for (const http_status other : {http_status::not_found, http_status::unauthorized, http_status::bad_gateway}) {
    at.answer = answer_with("", other);
    static_cast<void>(at.ask(server, call_of()));
    CHECK_FALSE(at.last.contains("protocol"));
  }
}

TEST_CASE("a name of an output has a column from 0 to 63 or none") {
  for (const std::string_view fine : {"y", "y[0]", "y[63]", "y[x]", "[0", "0]", "a[1][2]", "StatefulPartitionedCall:0"})
    CHECK_MESSAGE(rankd::detail::is_output_name(fine), fine);
  for (const std::string_view wrong :
       {"", "[0]", "y[-1]", "y[]", "y[ ]", "y[64]", "y[+1]", "y[1.5]", "y[ 1]", "y[99999999999999999999]", "a[1][-2]"})
    CHECK_MESSAGE(!rankd::detail::is_output_name(wrong), wrong);
}

TEST_CASE("a server that fails again and again is left alone for a moment, and asked once then") {
  model_scene at(answer_with("", http_status::internal_server_error));
  model_server_options options = at.options();
  options.breaker = {.failures = 2, .rest = 1s};
  model_server& server = at.add(options);
  CHECK(at.ask(server, call_of()) == "model_refused");
  CHECK(at.ask(server, call_of()) == "model_refused");
  CHECK(at.ask(server, call_of()) == "model_unreachable");
  CHECK(at.last.ends_with("the last calls to this server have failed, so rankd sends no calls for a moment"));
  CHECK(at.bodies.size() == 2);
  at.scene->here.advance(1s);
  CHECK(at.ask(server, call_of()) == "model_refused");
  CHECK(at.ask(server, call_of()) == "model_unreachable");
  at.scene->here.advance(1s);
  at.answer = &sums;
  CHECK(at.ask(server, call_of()) == "4.5 -2.0");
  at.answer = answer_with("", http_status::not_found);  // the call is wrong, and the server well
  for (int n = 0; n < 4; ++n) CHECK(at.ask(server, call_of()) == "model_refused");
  CHECK(at.bodies.size() == 8);
}

TEST_CASE("one call tries whether a server is well again, and another one does where it was given up") {
  using pass = circuit_breaker::pass;
  circuit_breaker of({.failures = 2, .rest = 1s});
  const braid::time_point now{10s};
  CHECK((of.ask(now) == pass::usual));
  of.failed(pass::usual, now);
  of.succeeded();
  of.failed(pass::usual, now);
  CHECK((of.ask(now) == pass::usual));
  of.failed(pass::usual, now);
  CHECK((of.ask(now + 999ms) == pass::none));
  of.failed(pass::usual, now + 999ms);  // of a call that was made before
  CHECK((of.ask(now + 1s) == pass::trial));
  of.gave_up(pass::usual);
  CHECK((of.ask(now + 1s) == pass::none));
  of.gave_up(pass::trial);
  CHECK((of.ask(now + 1s) == pass::trial));
  of.failed(pass::trial, now + 1s);
  CHECK((of.ask(now + 1s) == pass::none));
  CHECK((of.ask(now + 2s) == pass::trial));
  of.succeeded();
  CHECK((of.ask(now) == pass::usual));
  circuit_breaker never({.failures = 0});
  for (int n = 0; n < 9; ++n) never.failed(pass::usual, now);
  CHECK((never.ask(now) == pass::usual));
}

TEST_CASE("a loop may stop while calls are under way") {
  model_scene at(nullptr);
  model_server& server = at.add(at.options());
  model_call each = call_of();
  each.rows_per_call = 1;
  auto ask = [](model_server& of, const model_call& what, braid::arena& memory) -> braid::task<void> {
    auto asking = ask_store(of, what, memory);
    static_cast<void>(co_await std::move(asking));
  };
  for (int n = 0; n < 3; ++n) at.scene->here.io().spawn(ask(server, each, at.memory));
  REQUIRE(at.scene->here.run_until([&] { return !at.bodies.empty(); }));
  at.scene->here.stop();
  CHECK(at.bodies.size() == 1);  // there is one connection
}

TEST_CASE("a server of models holds no keys") {
  model_scene at(&sums);
  model_server& server = at.add(at.options());
  constexpr std::array<std::int64_t, 1> one{1};
  const auto country = at.scene->here.run(ask_store(server, field_read{{"user:", one}, "country"}, at.memory)).take();
  REQUIRE_FALSE(country.has_value());
  CHECK(server.explain(country.error()).code == "store_wrong_type");
}
