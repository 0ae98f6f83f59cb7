// tests/rankd/server/studio_world.hpp: a server with the page, recorded traffic, and a compiler of plans that a test
// writes.
#pragma once

#include <rankd/registry/file.hpp>
#include <rankd/server/studio/draft_plans.hpp>
#include <rankd/server/traffic/traffic_images.hpp>
#include <rankd/server/traffic/traffic_writer.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

namespace rankd::testing {

inline constexpr std::string_view editor = "Authorization: Bearer 0123456789abcdef\r\n";
inline constexpr std::string_view other_client = "Authorization: Bearer fedcba9876543210\r\n";

/// `reels_plan_a` whose cutoff is that one.
inline auto reels_artifact(double cutoff) -> std::string {
  auto plan = nlohmann::json::parse(value_of(read_text_file("plans/compiled/reels_plan_a.json")));
  plan["pred_table"]["p_cutoff"]["b"]["value"] = cutoff;
  return plan.dump();
}

/// Answers a line for a line, as `dslc serve` does: for plan `none` that there is no source, for `stale` that it has
/// changed, for `bad` another error, for `nonsense` no JSON; with `dead` it ends, and with `slow` it answers once the
/// file `go` is there. A draft has the artifact in the file `artifact`.
inline constexpr std::string_view fake_compiler = R"sh(#!/bin/sh
while read -r line; do
  number="\"number\":${line##*\"number\":}"; number=${number%\}}
  case "$line" in
    *'"plan":"none"'*) printf '{%s,"error":{"code":"no_source","message":"there is none"}}\n' "$number" ;;
    *'"plan":"stale"'*) printf '{%s,"error":{"code":"source_changed","message":"it has changed"}}\n' "$number" ;;
    *'"plan":"bad"'*) printf '{%s,"error":{"code":"bad_project","message":"it is bad"}}\n' "$number" ;;
    *'"plan":"nonsense"'*) echo 'nonsense' ;;
    *'"plan":"dead"'*) exit 1 ;;
    *'"plan":"slow"'*) while [ ! -e "$3/go" ]; do sleep 0.01; done; printf '{%s}\n' "$number" ;;
    *'"do":"draft"'*'wrong'*)
      printf '{%s,%s%s\n' "$number" '"file":"p","artifact":null,"diagnostics":[{"code":"type_error","message":"m",' \
        '"hint":"","place":null,"pointer":""}]}' ;;
    *'"do":"draft"'*)
      printf '{%s,"file":"p","diagnostics":[],"options":[{"node":"n"}],"artifact":%s}\n' "$number" "$(cat "$3/artifact")" ;;
    *'"do":"project"'*'"script":true'*)
      printf '{%s,"file":"p","root":"/","standard":"/","files":{"/a":"b"},"script":"let a;"}\n' "$number" ;;
    *) printf '{%s,"asked":%s}\n' "$number" "${line%,\"number\":*}}" ;;
  esac
done
)sh";

/// A file that is read until `end` says that nothing more comes: a named pipe.
class endless_record {
 public:
  explicit endless_record(std::filesystem::path file) : file_(std::move(file)) {
    if (::mkfifo(file_.c_str(), 0600) != 0) throw std::runtime_error("no pipe can be made");
  }
  [[nodiscard]] auto file() const -> const std::filesystem::path& { return file_; }
  /// Returns once something reads it.
  void wait_for_reader() { out_.open(file_); }
  void end() { out_.close(); }

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

/// Requests to `reels_plan_a`, recorded once by a server.
class recorded_visits {
 public:
  static auto get() -> const recorded_visits& {
    static const recorded_visits once;
    return once;
  }
  [[nodiscard]] auto folder() const -> const std::filesystem::path& { return folder_.path(); }

 private:
  recorded_visits() {
    const auto& project = reference_project::get();
    const auto image = [&](const bound_plan& plan) { return make_image(plan, project.where, project.declared); };
    const auto writer = value_of(traffic_writer::open(folder_.path() / "day.rec",
                                                      value_of(make_image(project.where, project.declared, "1.2")),
                                                      {.make_image = image}));
    serve_world world({}, nullptr, {}, project.stores, nullptr, {}, writer.get());
    for (int user = 1; user < 7; ++user)
      world.rank(R"({"plan":"reels_plan_a","request_id":"visit","user_id":)" + std::to_string(user) + "}");
  }

  braid::testing::scratch_folder folder_;
};

/// Its plans are those of `test_plans` and `stricter`, which is `reels_plan_a` with another cutoff.
class studio_world {
 public:
  enum class clients : std::uint8_t { any, with_tokens };

  explicit studio_world(serve_options options = {}, clients who = clients::any,
                        std::vector<std::filesystem::path> traffic = {recorded_visits::get().folder()})
      : compiler_(folder_.write("dslc", fake_compiler)),
        drafts_({.compiler = {.program = compiler_.string(), .project = folder_.path()},
                 .bind = [](const std::string& artifact, const std::string& name) { return bind(artifact, name); }}) {
    std::filesystem::permissions(compiler_, std::filesystem::perms::owner_all);
    will_compile(reels_artifact(1));
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(1);
    options.shows_page = true;
    if (who == clients::with_tokens)
      options.tokens = value_of(token_list::parse("e [edit, shadow] 0123456789abcdef\no fedcba9876543210\n", "tokens"));
    server_ = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                           .stores = reference_project::get().stores,
                                           .plans = &plans_,
                                           .traffic_places = std::move(traffic),
                                           .drafts = &drafts_},
                                          std::move(options)));
  }
  ~studio_world() { let_go(); }
  studio_world(const studio_world&) = delete;
  auto operator=(const studio_world&) -> studio_world& = delete;

  /// The artifact of each draft from now on.
  void will_compile(const std::string& artifact) { folder_.write("artifact", nlohmann::json(artifact).dump()); }
  /// As after a change of registries.
  void forget_drafts() { drafts_.forget(); }
  /// Slow answers of the compiler come.
  void let_go() { folder_.write("go", ""); }

  [[nodiscard]] auto caller() const -> braid::testing::http_caller {
    return braid::testing::http_caller(server_->address());
  }
  auto ask(std::string_view method, std::string_view path, std::string_view body = {},
           std::string_view fields = {}) const -> braid::testing::heard_answer {
    auto one = caller();
    std::string text(method);
    ((text += ' ') += path) += " HTTP/1.1\r\nHost: localhost\r\n";
    text += fields;
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    text += body;
    one.say(text);
    return one.hear().value();
  }
  auto ask_json(std::string_view method, std::string_view path, std::string_view body = {}) const -> nlohmann::json {
    return nlohmann::json::parse(ask(method, path, body).body);
  }
  /// The lines of an answer that has no length.
  [[nodiscard]] auto ask_lines(const std::string& path) const -> std::vector<nlohmann::json> {
    const braid::descriptor socket(::socket(server_->address().family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.number(), server_->address().data(), server_->address().size()) != 0)
      throw std::runtime_error("cannot connect");
    const std::string text = "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
    if (::send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("cannot send");
    std::string all;
    char room[4096];
    for (::ssize_t got = 0; (got = ::recv(socket.number(), room, sizeof(room), 0)) > 0;)
      all.append(room, static_cast<std::size_t>(got));
    std::vector<nlohmann::json> out;
    for (std::size_t at = all.find("\r\n\r\n") + 4; at < all.size(); at = all.find('\n', at) + 1)
      out.push_back(nlohmann::json::parse(all.substr(at, all.find('\n', at) - at)));
    return out;
  }

 private:
  static auto bind(const std::string& artifact, const std::string& name) -> braid::checked<bound_plan> {
    const registries& declared = reference_project::get().declared;
    auto plan = parse_plan(artifact, name + ".json", {all_op_shapes(), declared});
    if (!plan) return std::unexpected(std::move(plan.error()));
    return bind_plan(std::move(*plan), declared);
  }
  static auto plans() -> std::vector<known_plan> {
    std::vector<known_plan> all = test_plans();
    all.push_back({.name = "stricter", .bound = bound_from(reels_artifact(1), "stricter"), .problems = {}});
    return all;
  }

  braid::testing::scratch_folder folder_;
  std::filesystem::path compiler_;
  draft_plans drafts_;
  fixed_plans plans_{plans()};
  std::unique_ptr<rank_server> server_;
};

}  // namespace rankd::testing
