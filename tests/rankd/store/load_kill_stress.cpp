// tests/rankd/store/load_kill_stress.cpp: loads killed at random moments, one after another, never leave a mixture.
#include <rankd/store/batch_read.hpp>
#include <rankd/store/load_store.hpp>

#include <braid/base/random.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
namespace fs = std::filesystem;

constexpr std::int64_t keys = 2'000;

auto number_from(const char* variable, std::uint64_t otherwise) -> std::uint64_t {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Every list of a round holds nothing but the number of the round.
auto find_data(int round) -> std::string {
  std::string text;
  for (std::int64_t i = 0; i < keys; ++i)
    text += R"({"list":"list:)" + std::to_string(i) + R"(","values":[)" + std::to_string(round) + "]}\n";
  return text;
}

/// The round that a store shows; every list must show the same.
auto round_of(const fs::path& folder) -> std::int64_t {
  const auto store = embedded_store::open(folder);
  REQUIRE(store.has_value());
  std::vector<std::int64_t> ids(keys);
  std::iota(ids.begin(), ids.end(), 0);
  braid::arena arena;
  const auto lists = read_batch(*store->take_snapshot(), list_read{{"list:", ids}, 2}, arena);
  REQUIRE(lists.has_value());
  for (const auto& list : lists->lists) REQUIRE((list.size() == 1 && list[0] == lists->lists[0][0]));
  return lists->lists[0][0];
}

}  // namespace

TEST_CASE("a load that is killed again and again comes to its end, and nothing is lost") {
  const std::uint64_t seed = number_from("BRAID_SEED", 1);
  const auto rounds = static_cast<int>(number_from("BRAID_ROUNDS", 500)) / 25;
  std::printf("seed %llu, rounds %d\n", static_cast<unsigned long long>(seed), rounds);
  braid::random_source random(seed);
  int kills = 0;
  int resumed = 0;
  for (int round = 0; round < rounds; ++round) {
    const braid::testing::scratch_folder folder;
    const fs::path store = folder.path() / "store";
    const std::vector<fs::path> files = {folder.write("data", find_data(round))};
    long tries = 0;
    for (bool killed = true; killed; ++kills) {
      // It grows, so that a load comes to its end on a busy machine, too.
      const auto patience = static_cast<long>(random.below(60'000'000)) * std::min(1 + tries++ / 8, 16L);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        const auto loaded = load_store(store, files, {.save_bytes = 2'000});
        ::_exit(!loaded ? 1 : loaded->resumed_at > 0 ? 2 : 0);
      }
      const timespec moment = {0, patience};
      ::nanosleep(&moment, nullptr);
      ::kill(child, SIGKILL);
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      killed = WIFSIGNALED(status);
      if (!killed) CHECK(WEXITSTATUS(status) != 1);
      if (!killed) resumed += WEXITSTATUS(status) == 2 ? 1 : 0;
    }
    CHECK(round_of(store) == round);
  }
  std::printf("killed %d times, %d of %d loads went on with an earlier one\n", kills - rounds, resumed, rounds);
}

TEST_CASE("loads killed at random moments leave whole stores") {
  const std::uint64_t seed = number_from("BRAID_SEED", 1);
  const auto rounds = static_cast<int>(number_from("BRAID_ROUNDS", 500));
  std::printf("seed %llu, rounds %d\n", static_cast<unsigned long long>(seed), rounds);
  braid::random_source random(seed);
  const braid::testing::scratch_folder folder;
  const fs::path store = folder.path() / "store";
  REQUIRE(load_store(store, std::vector<fs::path>{folder.write("data", find_data(0))}, {}).has_value());

  std::int64_t shown = 0;
  int killed = 0;
  for (int round = 1; round <= rounds; ++round) {
    const std::vector<fs::path> files = {folder.write("data", find_data(round))};
    const auto patience = static_cast<long>(random.below(30'000'000));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(load_store(store, files, {}).has_value() ? 0 : 1);
    const timespec moment = {0, patience};
    ::nanosleep(&moment, nullptr);
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    const std::int64_t now = round_of(store);
    CHECK((now == shown || now == round));
    if (!WIFSIGNALED(status)) CHECK((WEXITSTATUS(status) == 0 && now == round));
    shown = now;
  }
  std::printf("killed %d of %d\n", killed, rounds);
}

namespace {

/// Changes every list to the number of the round, deletes a key, and says so in the history.
auto changes_of(int round) -> store_changes {
  store_changes out;
  record_builder builder;
  const std::int64_t value = round;
  for (std::int64_t i = 0; i < keys; ++i) {
    const auto bytes = builder.id_list(std::span(&value, 1), {});
    out.records.emplace("list:" + std::to_string(i), std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  out.deleted.emplace("extra:" + std::to_string(round), std::vector<std::string>());
  out.history = {std::to_string(round)};
  return out;
}

/// The round that the history names; 0 without one.
auto round_of_history(const fs::path& folder) -> std::int64_t {
  const auto store = embedded_store::open(folder);
  REQUIRE(store.has_value());
  const auto history = store->take_snapshot()->history().value();
  return history ? std::stoll(std::string(history->text_at(0))) : 0;
}

/// Whether a store has the key that a round deletes.
auto has_extra(const fs::path& folder, std::int64_t round) -> bool {
  const auto store = embedded_store::open(folder);
  REQUIRE(store.has_value());
  return store->take_snapshot()->find("extra:" + std::to_string(round)).value().has_value();
}

}  // namespace

TEST_CASE("changes killed at random moments leave one generation, with the history of its changes") {
  const std::uint64_t seed = number_from("BRAID_SEED", 1);
  const auto rounds = static_cast<int>(number_from("BRAID_ROUNDS", 500)) / 2;
  std::printf("seed %llu, rounds %d\n", static_cast<unsigned long long>(seed), rounds);
  braid::random_source random(seed);
  const braid::testing::scratch_folder folder;
  const fs::path store = folder.path() / "store";
  std::string data = find_data(0);
  for (int round = 1; round <= rounds; ++round)
    data += R"({"string":"extra:)" + std::to_string(round) + "\",\"value\":\"\"}\n";
  REQUIRE(load_store(store, std::vector<fs::path>{folder.write("data", data)}, {}).has_value());

  std::int64_t shown = 0;
  int killed = 0;
  for (int round = 1; round <= rounds; ++round) {
    const auto patience = static_cast<long>(random.below(30'000'000));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0)
      ::_exit(change_store(store, [round](const embedded_store&) { return changes_of(round); }).has_value() ? 0 : 1);
    const timespec moment = {0, patience};
    ::nanosleep(&moment, nullptr);
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    const std::int64_t now = round_of(store);
    CHECK((now == shown || now == round));
    CHECK(round_of_history(store) == now);
    CHECK(has_extra(store, round) == (now != round));
    if (!WIFSIGNALED(status)) CHECK((WEXITSTATUS(status) == 0 && now == round));
    shown = now;
  }
  std::printf("killed %d of %d\n", killed, rounds);
}
