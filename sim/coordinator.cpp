// sim/coordinator.cpp: passes the token among the machines of a world, and delivers their packets.
#include <sim/coordinator.hpp>
#include <sim/host_names.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t max_grants = 10'000'000;  // the maximum number that is kept for the comparison of two runs

auto to_seconds(std::int64_t time) -> std::string {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f", static_cast<double>(time - start_time) / 1e9);
  return text.data();
}

void send_all(int socket, const std::vector<char>& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the process has ended, which the next read reports
    sent += static_cast<std::size_t>(count);
  }
}

/// Reads bytes, and the descriptors that were sent with the first of these bytes.
auto receive(int socket, void* memory, std::size_t size, std::vector<int>& files) -> ssize_t {
  iovec part{memory, size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  whole.msg_control = control.data();
  whole.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &whole, MSG_CMSG_CLOEXEC);
  if (got >= 0 && (whole.msg_flags & MSG_CTRUNC) != 0)
    throw std::runtime_error("a world whose disks change many files needs more descriptors; raise `ulimit -n`");
  for (cmsghdr* each = CMSG_FIRSTHDR(&whole); got >= 0 && each != nullptr; each = CMSG_NXTHDR(&whole, each)) {
    std::array<int, 3> numbers{};
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(numbers.data(), CMSG_DATA(each), count * sizeof(int));
    files.insert(files.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return got;
}

void append(std::vector<char>& bytes, const packet& added) {
  const auto* head = reinterpret_cast<const char*>(&added.head);
  bytes.insert(bytes.end(), head, head + sizeof(added.head));
  bytes.insert(bytes.end(), added.data.begin(), added.data.end());
}

namespace fs = std::filesystem;

auto to_packet(const disk_failure& failure) -> packet {
  const disk_change head{.fault = failure.fault, .delay_ns = failure.delay_ns};
  packet made{.head = {.what = word::disk_rule}, .data = {}};
  const auto* first = reinterpret_cast<const char*>(&head);
  made.data.assign(first, first + sizeof(head));
  made.data.insert(made.data.end(), failure.paths.begin(), failure.paths.end());
  made.head.size = static_cast<std::uint32_t>(made.data.size());
  return made;
}

auto describe_status(int status) -> std::string {
  if (status > 128 && ::sigdescr_np(status - 128) != nullptr)
    return std::string("ended by a signal: ") + ::sigdescr_np(status - 128);
  return "ended with status " + std::to_string(status);
}

}  // namespace

struct coordinator::machine {
  machine_plan plan;
  run_options options;
  wire_address address;
  std::unique_ptr<process> running;
  int socket = -1;
  int output = -1;
  std::size_t shown = 0;
  bool has_power = true;
  std::uint64_t runnable = 0;
  std::int64_t deadline = never;
  std::vector<packet> mail;
  std::string disk;  // its folder
  journal changes;   // of the disk
  std::vector<disk_failure> disk_failures;
  std::vector<int> received;  // descriptors of the message that is being read
  unsigned starts = 0;
  std::optional<int> status;
  std::int64_t ended_at = 0;
  bool has_reached_end = false;
};

coordinator::coordinator(const run_options& options, output destination)
    : options_(options),
      destination_(destination),
      links_(*this, options.wanted),
      orders_{options.wanted.seed},
      disk_fates_{options.wanted.seed ^ 0x6a09e667f3bcc909U},
      log_(!options.trace.empty()) {
  orders_.state = orders_.next();
}

coordinator::~coordinator() {
  for (const auto& each : machines_) {
    each->running.reset();
    if (each->socket >= 0) ::close(each->socket);
    if (each->output >= 0) ::close(each->output);
  }
  delete_disks();
}

auto coordinator::add(const machine_plan& plan) -> std::string {
  auto made = std::make_unique<machine>();
  made->plan = plan;
  made->options = options_;
  made->options.words = plan.words;
  if (has_started_) return "the machine `" + plan.name + "` is added too late; add machines before the world runs";
  if (std::string problem = check_host_name(plan.name, format_names()); !problem.empty()) return problem;
  if (plan.words.empty()) return "the machine `" + plan.name + "` has no program";
  if (std::string problem = find_program(made->options); !problem.empty()) return problem;
  if (made->plan.address.empty())
    made->plan.address =
        "10.0." + std::to_string((machines_.size() + 1) / 256) + "." + std::to_string((machines_.size() + 1) % 256);
  if (plan.clock_drift_ppm < -max_drift_ppm || plan.clock_drift_ppm > max_drift_ppm)
    return "the clock of the machine `" + plan.name + "` must drift by -100000 to 100000 ppm, got " +
           std::to_string(plan.clock_drift_ppm);
  if (!parse_host_address(made->plan.address, made->address))
    return "the address of the machine `" + plan.name + "` must be an IP address such as 10.0.0.5, got `" +
           made->plan.address + "`";
  std::error_code unknown;
  if (!plan.folder.empty() && !fs::is_directory(plan.folder, unknown))
    return "the folder `" + plan.folder + "` of the machine `" + plan.name +
           "` does not exist; create it, or name another folder";
  if (const auto other = find_machine(made->address))
    return "the machines `" + machines_[*other]->plan.name + "` and `" + plan.name + "` have the same address " +
           made->plan.address;
  if (format_names().size() + plan.name.size() + made->plan.address.size() + 2 >= settings().names.size())
    return "the machine `" + plan.name + "` is one machine too many: names and addresses must have less than " +
           std::to_string(settings().names.size()) + " bytes, and " + std::to_string(machines_.size()) +
           " machines fit";
  made->output = ::memfd_create("braid-sim-output", MFD_CLOEXEC);
  if (made->output < 0) throw std::system_error(errno, std::generic_category(), "the output of `" + plan.name + "`");
  machines_.push_back(std::move(made));
  return {};
}

/// Returns the host names of the world, with a line NAME=ADDRESS for each name.
auto coordinator::format_names() const -> std::string {
  std::string names = options_.wanted.names.data();
  for (const auto& each : machines_) names += each->plan.name + "=" + each->plan.address + "\n";
  return names;
}

auto coordinator::find(const std::string& name) const -> std::optional<machine_number> {
  const auto found = std::ranges::find(machines_, name, [](const auto& each) { return each->plan.name; });
  if (found == machines_.end()) return std::nullopt;
  return static_cast<machine_number>(found - machines_.begin());
}

// --- functions that the links call ---

void coordinator::schedule(std::int64_t time_ns, std::function<void()> run) {
  actions_.push_back({time_ns, next_action_++, std::move(run)});
  std::ranges::push_heap(actions_, std::greater<>());
}

auto coordinator::find_machine(const wire_address& address) const -> std::optional<machine_number> {
  const auto found = std::ranges::find(machines_, address.ip, [](const auto& each) { return each->address.ip; });
  if (found == machines_.end()) return std::nullopt;
  return static_cast<machine_number>(found - machines_.begin());
}

auto coordinator::is_running(machine_number machine) const -> bool { return machines_[machine]->running != nullptr; }

auto coordinator::has_power(machine_number machine) const -> bool { return machines_[machine]->has_power; }

void coordinator::deliver(machine_number to, packet delivered) {
  log_.note_packet(time_ns(), to, delivered, direction::received);
  machines_[to]->mail.push_back(std::move(delivered));
}

// --- disks ---

void coordinator::make_disks() {
  for (machine_number at = 0; at < machines_.size(); ++at) {
    machine& owner = *machines_[at];
    if (!owner.plan.has_disk) continue;
    if (!disks_) disks_.emplace();
    owner.disk = disks_->path() + "/" + std::to_string(at);
    if (owner.disk.size() >= settings().disk.size())
      throw std::runtime_error("the path " + disks_->path() + " is too long");
    if (owner.plan.folder.empty())
      fs::create_directory(owner.disk);
    else
      fs::copy(owner.plan.folder, owner.disk, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
}

void coordinator::delete_disks() {
  disks_.reset();
  for (const auto& each : machines_) each->disk.clear();
}

auto coordinator::fail_disk(machine_number number, const disk_failure& failure) -> std::string {
  machine& owner = *machines_[number];
  if (!owner.plan.has_disk)
    return "the machine `" + owner.plan.name + "` has no disk that can fail; give it a disk of its own";
  if (failure.delay_ns < 0 || (failure.fault == disk_fault::slow && failure.delay_ns == 0))
    return "a slow sync must take more than 0 ns, got " + std::to_string(failure.delay_ns);
  if (failure.fault == disk_fault::none)
    owner.disk_failures.clear();
  else
    owner.disk_failures.push_back(failure);
  constexpr std::array names = {"the disk is healed", "the disk is full", "the disk fails", "the disk is slow"};
  log_.note(time_ns(), number, names[static_cast<std::size_t>(failure.fault)]);
  if (is_running(number)) deliver(number, to_packet(failure));
  return {};
}

// --- starts and ends of machines ---

void coordinator::start(machine_number number) {
  machine& started = *machines_[number];
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category());
  settings& wanted = started.options.wanted;
  wanted.is_machine = 1;
  wanted.ip = started.address.ip;
  wanted.budgets = {};  // the links inject the faults
  wanted.clock_offset_ns = started.plan.clock_offset_ns;
  wanted.clock_drift_ppm = started.plan.clock_drift_ppm;
  wanted.start_ns = time_;
  std::ranges::copy(started.plan.name, wanted.machine_name.begin());
  const std::string names = format_names();
  wanted.disk = {};
  std::ranges::copy(started.disk, wanted.disk.begin());
  wanted.names = {};
  std::ranges::copy(names, wanted.names.begin());
  chances seed{options_.wanted.seed + (number << 32U) + started.starts};
  started.socket = ends[0];
  started.has_power = true;
  started.status.reset();
  started.mail.clear();
  for (const disk_failure& each : started.disk_failures) started.mail.push_back(to_packet(each));
  started.changes.begin_process();
  ++started.starts;
  const machine_seat seat{.socket = ends[1],
                          .output = started.output,
                          .folder = started.disk.empty() ? started.plan.folder : started.disk,
                          .first_connection = (number << 48U) + (std::uint64_t{started.starts} << 32U)};
  started.running = std::make_unique<process>(started.options, seed.next(), output::kept, &seat);
  ::close(ends[1]);
  started.running->begin_watch();
  listen(number);
}

/// Kills the process of a machine, because the process has not ended by itself.
void coordinator::stop(machine_number number) {
  machine& stopped = *machines_[number];
  if (stopped.running != nullptr) note_end(number);
}

void coordinator::note_end(machine_number number) {
  machine& ended = *machines_[number];
  const shared_page& page = ended.running->page();
  log_.add(*ended.running, number);
  switches_ += page.switches.load();
  hash_.add(page.hash);
  hash_.add(read_file(ended.output, 0));
  ended.running.reset();
  ::close(ended.socket);
  ended.socket = -1;
  ended.runnable = 0;
  ended.deadline = never;
  ended.mail.clear();
  ended.ended_at = time_;
  show_output(ended, true);
}

/// Handles a process that has ended by itself.
void coordinator::finish(machine_number number) {
  machine& ended = *machines_[number];
  while (!ended.running->has_ended(100)) {}
  const process& last = *ended.running;
  time_ = std::max(time_, to_world(start_time + last.page().time, ended.plan.clock_drift_ppm));
  ended.status = last.was_simulated() ? last.status() : not_simulated_status;
  hash_.add(static_cast<std::uint64_t>(*ended.status));
  if (*ended.status != 0 && !failed_) {
    failed_ = number;
    report_ = describe_report(last);
  }
  log_.note(time_ns(), number, describe_status(*ended.status));
  note_end(number);
  links_.end_process(number);
}

void coordinator::crash(machine_number machine) {
  stop(machine);
  machines_[machine]->has_power = false;
  machines_[machine]->changes.lose_power(disk_fates_);
  links_.lose_machine(machine);
  log_.note(time_ns(), machine, "crash");
}

void coordinator::kill(machine_number machine) {
  stop(machine);
  links_.reset_process(machine);
  log_.note(time_ns(), machine, "kill");
}

void coordinator::restart(machine_number machine) {
  if (is_running(machine) || !has_started_) return;
  log_.note(time_ns(), machine, "restart");
  start(machine);
  links_.return_machine(machine);
}

// --- the token ---

auto coordinator::read_all(machine& from, void* memory, std::size_t size) -> bool {
  auto* place = static_cast<char*>(memory);
  while (size > 0) {
    pollfd waits{from.socket, POLLIN, 0};
    if (::poll(&waits, 1, 100) <= 0) {
      from.running->watch();
      continue;
    }
    const ssize_t got = receive(from.socket, place, size, from.received);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    place += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

auto coordinator::read_packet(machine& from, packet& got) -> bool {
  if (!read_all(from, &got.head, sizeof(got.head))) return false;
  got.data.resize(got.head.size);
  return read_all(from, got.data.data(), got.data.size());
}

/// Reads what a machine sends until it returns the token or ends.
void coordinator::listen(machine_number number) {
  machine& speaker = *machines_[number];
  for (bool has_token = true; has_token;) {
    packet got;
    if (!read_packet(speaker, got)) return finish(number);
    has_token = got.head.what != word::pause;
    handle(number, std::move(got));
  }
  hash_.add(number);
  hash_.add(static_cast<std::uint64_t>(time_));
  hash_.add(speaker.running->page().hash);
  if (grants_.size() < max_grants) grants_.push_back({.time = time_, .hash = hash_.value(), .machine = number});
  show_output(speaker, false);
}

void coordinator::handle(machine_number number, packet got) {
  machine& from = *machines_[number];
  time_ = std::max(time_, got.head.time);
  if (got.head.what != word::pause) {
    hash_.add(static_cast<std::uint64_t>(got.head.what));
    hash_.add(got.head.size);
    log_.note_packet(time_ns(), number, got, direction::sent);
    if (got.head.what >= word::disk_write) return from.changes.add(got, std::exchange(from.received, {}));
    hash_.add(std::string_view(got.data.data(), got.data.size()));
    return links_.route(number, std::move(got));
  }
  from.runnable = got.head.count;
  from.deadline = got.head.limit;
}

auto coordinator::weight(const machine& candidate) const -> std::uint64_t {
  if (candidate.running == nullptr) return 0;
  const bool has_work = !candidate.mail.empty() || candidate.deadline <= time_;
  return std::max<std::uint64_t>(candidate.runnable, has_work ? 1 : 0);
}

/// Chooses the machine that gets the token. The probability of a machine is proportional to the number of its threads
/// that can run.
auto coordinator::choose() -> std::optional<machine_number> {
  std::uint64_t total = 0;
  for (const auto& each : machines_) total += weight(*each);
  if (total == 0) return std::nullopt;
  std::uint64_t left = total == 1 ? 0 : orders_.below(total);
  for (machine_number at = 0; at < machines_.size(); ++at) {
    const std::uint64_t own = weight(*machines_[at]);
    if (left < own) return at;
    left -= own;
  }
  return std::nullopt;
}

/// Returns the time of the next event outside of the machines, or `never`.
auto coordinator::next_time(const machine* except) const -> std::int64_t {
  std::int64_t next = actions_.empty() ? never : actions_.front().at;
  for (const auto& each : machines_)
    if (each.get() != except && each->running != nullptr && each->deadline > time_)
      next = std::min(next, each->deadline);
  return next;
}

/// Grants the token to a machine, and waits until the machine returns the token.
void coordinator::visit(machine_number number) {
  machine& visited = *machines_[number];
  std::uint64_t others = 0;
  for (const auto& each : machines_)
    if (each.get() != &visited) others += weight(*each);
  std::uint64_t turns = others == 0 ? unlimited : 1;
  const std::uint64_t own = weight(visited);
  while (others != 0 && orders_.below(own + others) < own) ++turns;
  packet granted;
  granted.head = {.what = word::go,
                  .time = time_,
                  .limit = std::min(next_time(&visited), end_),
                  .count = visited.mail.size(),
                  .turns = turns};
  std::vector<char> bytes;
  append(bytes, granted);
  for (const packet& each : visited.mail) append(bytes, each);
  visited.mail.clear();
  visited.running->begin_watch();
  send_all(visited.socket, bytes);
  listen(number);
}

void coordinator::run_due() {
  while (!failed_ && !actions_.empty() && actions_.front().at <= time_) {
    std::ranges::pop_heap(actions_, std::greater<>());
    const action due = std::move(actions_.back());
    actions_.pop_back();
    due.run();
  }
}

void coordinator::at(std::int64_t time_ns, std::function<void()> run) {
  schedule(std::max(start_time + time_ns, time_), std::move(run));
}

void coordinator::run_until(std::int64_t time_ns) {
  end_ = start_time + time_ns;
  if (!std::exchange(has_started_, true)) {
    make_disks();
    for (machine_number each = 0; each < machines_.size() && !failed_; ++each) {
      const std::int64_t at_ns = machines_[each]->plan.starts_at_ns;
      if (at_ns <= 0)
        start(each);
      else
        at(at_ns, [this, each] { restart(each); });
    }
  }
  while (!failed_ && time_ < end_) {
    run_due();
    if (failed_) return;
    if (const auto chosen = choose()) {
      visit(*chosen);
    } else {
      time_ = std::min(next_time(nullptr), end_);
    }
  }
}

void coordinator::end() {
  for (machine_number number = 0; number < machines_.size(); ++number) {
    machine& last = *machines_[number];
    if (last.running == nullptr) continue;
    if (last.plan.must_end && !failed_) {
      failed_ = number;
      last.running->ask_for_report(question::end_of_world);
      while (!last.running->has_ended(100)) {}
      report_ = describe_report(*last.running);
    }
    note_end(number);
    last.has_reached_end = true;
  }
  delete_disks();
}

void coordinator::cut(machine_number from, machine_number to) {
  log_.note(time_ns(), {}, "cut from " + machines_[from]->plan.name + " to " + machines_[to]->plan.name);
  links_.cut(from, to);
}

void coordinator::heal(machine_number from, machine_number to) {
  log_.note(time_ns(), {}, "heal from " + machines_[from]->plan.name + " to " + machines_[to]->plan.name);
  links_.heal(from, to);
}

void coordinator::note_fault(fault kind) {
  log_.note(time_ns(), {}, std::string("fault: ") + fault_names[static_cast<std::size_t>(kind)]);
}

// --- output ---

auto coordinator::exit_status() const -> int {
  if (!failed_) return 0;
  const std::optional<int>& status = machines_[*failed_]->status;
  return status == ended_status ? ended_status : status == not_simulated_status ? 2 : 1;
}

auto coordinator::status(machine_number machine) const -> std::optional<int> { return machines_[machine]->status; }

auto coordinator::address_of(machine_number machine) const -> const std::string& {
  return machines_[machine]->plan.address;
}

auto coordinator::find_disk(machine_number machine) const -> const std::string& { return machines_[machine]->disk; }

auto coordinator::output_of(machine_number machine) const -> std::string {
  return read_file(machines_[machine]->output, 0);
}

/// Prints the lines that a machine has written since the last call of this function. Each line begins with the name of
/// the machine.
void coordinator::show_output(machine& source, bool is_last) {
  if (destination_ == output::kept) return;
  const std::string text = read_file(source.output, source.shown);
  std::size_t at = 0;
  for (std::size_t end = 0; at < text.size(); at = end) {
    end = text.find('\n', at);
    if (end == std::string::npos && !is_last) break;
    end = end == std::string::npos ? text.size() : end + 1;
    const std::string line = text.substr(at, end - at);
    std::printf("%s | %s%s", source.plan.name.c_str(), line.c_str(), line.back() == '\n' ? "" : "\n");
  }
  source.shown += at;
  if (at > 0) std::fflush(stdout);
}

auto coordinator::summary() const -> std::string {
  std::string text;
  if (failed_ && !report_.empty()) text += "braid-sim: machine " + machines_[*failed_]->plan.name + ": " + report_;
  for (const auto& each : machines_) {
    text += "braid-sim: " + each->plan.name + ": ";
    if (each->status == not_simulated_status) {
      text += "the library was not loaded into the program";
    } else if (each->status) {
      text += describe_status(*each->status) + " at " + to_seconds(each->ended_at) + " s";
    } else if (each->starts == 0) {
      text += "was not started";
    } else if (!each->has_reached_end) {
      text += "was stopped at " + to_seconds(each->ended_at) + " s";
    } else {
      text += each->plan.must_end ? "was still running when the world ended, but `must_end` requires it to end earlier"
                                  : "ran until the end";
    }
    text += each->starts > 1 ? ", started " + std::to_string(each->starts) + " times\n" : "\n";
  }
  std::array<char, 64> hash{};
  std::snprintf(hash.data(), hash.size(), "hash %016llx\n", static_cast<unsigned long long>(hash_.value()));
  text += "braid-sim: seed " + std::to_string(options_.wanted.seed) + ": status " + std::to_string(exit_status()) +
          ", " + std::to_string(switches_) + " switches of " + std::to_string(machines_.size()) + " machines, " +
          std::to_string(links_.packets()) + " packets";
  for (std::size_t at = 0; at < fault_count; ++at)
    if (links_.faults()[at] != 0) text += ", " + std::to_string(links_.faults()[at]) + " " + fault_names[at];
  return text + ", " + to_seconds(time_) + " s of virtual time, " + hash.data();
}

}  // namespace sim
