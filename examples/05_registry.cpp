// examples/05_registry.cpp: threads that can be found by what they are for,
// asked about, and disturbed by seed.
#include <braid/task/pool.hpp>
#include <braid/threads.hpp>

#include <chrono>
#include <concepts>
#include <cstdio>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
using braid::thread_entry;

// [program]
void read_input(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
}

int main() {
  const auto registry = braid::default_registry();
  const braid::registry_observer observer(
      registry, {.unregistered = [](const thread_entry& entry) {
        std::printf("%s has ended\n", entry.name.c_str());
      }});
  const braid::pool workers(
      {.workers = 1, .name = "rank", .registration = {{.tag = "compute"}}});
  auto reader = braid::registered_thread::create(
      {.label = {.tag = "io", .name = "reader"}}, read_input);
  if (!reader) return 1;

  for (const auto& [name, id] :
       registry.project<&thread_entry::name, &thread_entry::tid>().to_vector())
    std::printf("%s has an id: %s\n", name.c_str(), id > 0 ? "yes" : "no");
  if (const auto found = registry.find_by<&thread_entry::tag>("compute"))
    braid::visit_fields(*found, [](std::string_view field, const auto& value) {
      if constexpr (std::same_as<decltype(value), const std::string&>)
        std::printf("%.*s: %s\n", static_cast<int>(field.size()), field.data(),
                    value.c_str());
    });

  const auto compute = registry.where<&thread_entry::tag>("compute");
  for (const auto& [entry, answer] :
       compute.apply(braid::thread_profile::background()))
    std::printf("%s %s\n", entry.name.c_str(),
                answer ? "was asked to stay in the background" : "is gone");

  {
    const auto chaos = braid::chaos::start(
        threads_of(registry.where<&thread_entry::tag>("io")), {.seed = 7});
    std::puts(chaos ? "the reader is disturbed" : "no chaos");
  }
  std::puts("the reader has its CPUs again");
  reader->request_stop();
  braid::or_throw(reader->join());
}
// [/program]
