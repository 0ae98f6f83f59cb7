// sim/search.cpp: runs a program once with a seed, twice with the same seed, or with many seeds.
#include <sim/search.hpp>
#include <sim/trace_file.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

namespace sim {
namespace {

constexpr std::uint64_t kept_records = 64'000'000;

auto number(std::uint64_t value) -> std::string { return std::to_string(value); }

void print_switch(const char* label, std::span<const record> records, std::size_t index) {
  if (index >= records.size()) {
    std::fprintf(stderr, "  %s run: ended\n", label);
    return;
  }
  const record& shown = records[index];
  std::fprintf(stderr, "  %s run: thread %u: %s%s at %.6f s\n", label, shown.thread, name(shown.kind),
               shown.is_wait != 0 ? ", waits" : "", static_cast<double>(shown.time) / 1e9);
}

/// Describes how two runs with the same seed differ. Returns an empty text if they do not differ.
auto difference(const process& first, const process& second) -> std::string {
  if (first.page().hash != second.page().hash || first.page().switches.load() != second.page().switches.load())
    return "the switches";
  if (first.status() != second.status())
    return "the exit status: " + std::to_string(first.status()) + " and " + std::to_string(second.status());
  return {};
}

void print_difference(const process& first, const process& second, const std::string& subject) {
  std::fprintf(stderr, "braid-sim: seed %s: two runs differ in %s\n", number(first.seed()).c_str(), subject.c_str());
  const auto one = first.records();
  const auto other = second.records();
  const auto place = std::ranges::mismatch(one, other);
  const auto at = static_cast<std::size_t>(place.in1 - one.begin());
  if (at >= one.size() && at >= other.size()) return;
  std::fprintf(stderr, "the first difference is switch %s:\n", number(at).c_str());
  print_switch("first", one, at);
  print_switch("second", other, at);
}

void wait_for(process& running) {
  while (!running.has_ended(100)) {}
}

/// Writes a trace of a run that has ended, if the options name a file.
void trace(const process& ended, const run_options& options) {
  if (options.trace.empty()) return;
  run_log log(true);
  log.add(ended, 0);
  write_trace(options.trace, {{.name = options.words.front()}}, log);
}

/// The runs of one seed of a search: `first`, and `second` if each seed runs twice.
struct attempt {
  std::unique_ptr<process> first;
  std::unique_ptr<process> second;
};

class searcher {
 public:
  searcher(run_options& options, const search_options& wanted)
      : options_(&options), wanted_(&wanted), next_(wanted.seeds.first) {}

  auto run() -> int {
    while (start_more()) check_all();
    return end();
  }

 private:
  auto make(std::uint64_t seed) -> std::unique_ptr<process> {
    return std::make_unique<process>(*options_, seed, output::kept);
  }

  /// Starts runs until as many are in progress as the option --jobs allows. Returns false if no run is in progress and
  /// no seed is left.
  auto start_more() -> bool {
    while (running_.size() < wanted_->jobs && !has_started_last_ && !failed_.first) {
      running_[next_].first = make(next_);
      has_started_last_ = next_++ == wanted_->seeds.last;
    }
    return !running_.empty();
  }

  void check_all() {
    for (auto each = running_.begin(); each != running_.end();) {
      auto& [seed, tried] = *each;
      process& current = tried.second ? *tried.second : *tried.first;
      if (!current.has_ended(running_.size() == 1 ? 100 : 5)) {
        ++each;
      } else if (wanted_->is_twice && !tried.second && !current.has_failed()) {
        tried.second = make(seed);
        ++each;
      } else {
        finish(tried);
        each = running_.erase(each);
      }
    }
  }

  void finish(attempt& tried) {
    ++count_;
    const bool is_failed =
        tried.first->has_failed() || (tried.second && !difference(*tried.first, *tried.second).empty());
    switches_ += tried.first->page().switches.load();
    // Several seeds run concurrently. The lowest failing seed is shown, so that the result does not depend on the speed
    // of the runs.
    if (is_failed && (!failed_.first || tried.first->seed() < failed_.first->seed())) failed_ = std::move(tried);
  }

  auto end() -> int {
    if (!failed_.first) {
      std::fprintf(stderr, "braid-sim: no failure in %s seeds (%s to %s), %s switches\n", number(count_).c_str(),
                   number(wanted_->seeds.first).c_str(), number(wanted_->seeds.last).c_str(),
                   number(switches_).c_str());
      return 0;
    }
    const process& shown = *failed_.first;
    std::fputs(shown.written().c_str(), stderr);
    if (failed_.second) {
      print_difference(shown, *failed_.second, difference(shown, *failed_.second));
    } else {
      print_end(shown);
    }
    if (!options_->trace.empty()) {
      run_options again = *options_;
      prepare_trace(again);
      process traced(again, shown.seed(), output::kept);
      wait_for(traced);
      trace(traced, again);
    }
    print_failure(*options_, shown.seed(), failed_.second != nullptr, "-- " + quoted(options_->words));
    return 1;
  }

  run_options* options_;
  const search_options* wanted_;
  std::uint64_t next_;
  bool has_started_last_ = false;
  std::map<std::uint64_t, attempt> running_;
  attempt failed_;
  std::uint64_t count_ = 0;
  std::uint64_t switches_ = 0;
};

}  // namespace

auto option_words(const run_options& options, std::uint64_t seed) -> std::vector<std::string> {
  const settings defaults;
  const settings& wanted = options.wanted;
  std::vector<std::string> words;
  const auto add = [&words](const char* option, const std::string& value) {
    words.insert(words.end(), {std::string("--") + option, value});
  };
  const auto add_if_changed = [&](const char* option, std::uint64_t value, std::uint64_t usual) {
    if (value != usual) add(option, number(value));
  };
  add("seed", number(seed));
  if (wanted.kind == order::pct) add("order", "pct");
  add_if_changed("changes", wanted.changes, defaults.changes);
  add_if_changed("reach", wanted.reach, defaults.reach);
  add_if_changed("every", wanted.every, defaults.every);
  add_if_changed("cpus", wanted.cpus, defaults.cpus);
  if (wanted.min_latency_ns != defaults.min_latency_ns || wanted.max_latency_ns != defaults.max_latency_ns)
    add("latency", number(wanted.min_latency_ns / 1000) + ".." + number(wanted.max_latency_ns / 1000));
  add_if_changed("bandwidth", wanted.bandwidth / 1000, 0);
  for (std::size_t at = 0; at < fault_count; ++at) add_if_changed(fault_names[at], wanted.budgets[at], 0);
  add_if_changed("fault-rate", wanted.fault_rate, defaults.fault_rate);
  add_if_changed("calm-from", wanted.calm_from_ns / 1'000'000'000, 0);
  std::istringstream names(wanted.names.data());
  for (std::string name; std::getline(names, name);) add("name", name);
  add_if_changed("max-switches", wanted.max_switches, 0);
  return words;
}

void print_failure(const run_options& options, std::uint64_t seed, bool is_twice, const std::string& subject) {
  std::vector<std::string> words = option_words(options, seed);
  if (is_twice) words.insert(words.begin() + 2, "--twice");
  std::fprintf(stderr, "braid-sim: seed %s fails; to repeat it, run\n  braid-sim run %s %s\n", number(seed).c_str(),
               quoted(words).c_str(), subject.c_str());
}

auto run_once(run_options options) -> int {
  prepare_trace(options);
  process running(options, options.wanted.seed, output::shown);
  wait_for(running);
  print_end(running);
  trace(running, options);
  return running.was_simulated() ? running.status() : 2;
}

auto run_twice(run_options options) -> int {
  options.wanted.records = kept_records;
  process first(options, options.wanted.seed, output::shown);
  wait_for(first);
  print_end(first);
  trace(first, options);
  process second(options, options.wanted.seed, output::kept);
  wait_for(second);
  if (const std::string what = difference(first, second); !what.empty()) {
    print_difference(first, second, what);
    return 1;
  }
  std::fputs("braid-sim: the second run was the same\n", stderr);
  return first.was_simulated() ? first.status() : 2;
}

auto search(run_options options, const search_options& wanted) -> int {
  if (wanted.is_twice) options.wanted.records = kept_records;
  return searcher(options, wanted).run();
}

}  // namespace sim
