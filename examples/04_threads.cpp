// examples/04_threads.cpp: threads that have their settings from the start,
// found by name and controlled from outside.
#include <braid/task/pool.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/thread/thread.hpp>

#include <chrono>
#include <cstdio>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;

// [program]
void index_rows(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
}

int main() {
  const auto indexer = braid::thread::create(
      {.name = "indexer", .scheduling = braid::scheduling::batch{19}},
      index_rows);
  if (!indexer) return 1;  // it could not be as wanted, so it never ran

  const auto found = braid::thread_info::find("indexer");
  if (!found) return 1;
  if (const auto policy = found->scheduling())
    std::printf("indexer: %s\n", policy->to_string().c_str());

  // Would need another policy, and never changes it.
  const auto ranked = found->set_priority(10);
  std::printf("priority: %s\n",
              ranked ? "set" : ranked.error().message().c_str());

  const braid::thread_profile patient{
      .name = "patient", .scheduling = braid::scheduling::other{19}};
  std::printf("profile: %s\n",
              braid::apply(patient, *found).to_string().c_str());

  const braid::pool workers({.workers = 2,
                             .name = "rank",
                             .placement = braid::worker_placement::spread});
  for (const auto& each : workers.settings_reports())
    std::printf("worker: %s\n", each.to_string().c_str());
  if (const auto first = braid::thread_info::find("rank-0"))
    if (const auto cpus = first->affinity())
      std::printf("rank-0: %zu CPU\n", cpus->size());
}
// [/program]
