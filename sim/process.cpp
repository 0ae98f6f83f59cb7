// sim/process.cpp: starts a program with the simulator's library preloaded, and watches its progress.
#include <sim/process.hpp>
#include <sim/wire.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sim {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds patience(60);  // the time for the report of a stuck program on a busy machine

auto find_library() -> std::string {
  Dl_info own{};  // the program braid-sim, or libbraid-world.so
  ::dladdr(reinterpret_cast<const void*>(&find_program), &own);
  std::error_code unknown;
  const fs::path library = own.dli_fname == nullptr ? "" : own.dli_fname;
  const fs::path folder =
      (library.filename() == "libbraid-world.so" ? fs::canonical(library, unknown) : fs::read_symlink("/proc/self/exe"))
          .parent_path();
  for (const fs::path& where : {folder / "../lib", folder / ".." / BRAID_LIBRARY_DIR / "braid", folder}) {
    std::error_code ignored;
    const fs::path file = fs::canonical(where / "libbraid-sim.so", ignored);
    if (!file.empty()) return file.string();
  }
  return {};
}

auto on_path(const std::string& name) -> std::string {
  if (name.find('/') != std::string::npos) return name;
  const char* folders = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): there is one thread
  std::istringstream each(folders == nullptr ? "/usr/bin:/bin" : folders);
  for (std::string folder; std::getline(each, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// Returns why the dynamic loader could not load the simulator's library into the program, or an empty text.
auto describe_problem(const std::string& file) -> std::string {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "is not an ELF program; if it is a script, name its interpreter first";
  Elf64_Ehdr own{};
  std::ifstream("/proc/self/exe", std::ios::binary).read(reinterpret_cast<char*>(&own), sizeof(own));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != own.e_machine)
    return "is built for a different processor than braid-sim";
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int at = 0; at < header.e_phnum; ++at) {
    Elf64_Phdr part{};
    if (in.read(reinterpret_cast<char*>(&part), sizeof(part)) && part.p_type == PT_INTERP) return {};
  }
  return "is linked statically, so the simulator's library cannot be loaded into it; link the program dynamically";
}

/// Disables io_uring for the program, because the kernel would read and write without the simulator's knowledge.
void refuse_io_uring() {
  const std::array<sock_filter, 4> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(code.size()), const_cast<sock_filter*>(code.data())};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/// Returns the CPU time of a process in seconds.
auto cpu_seconds(pid_t id) -> double {
  std::ifstream in("/proc/" + std::to_string(id) + "/stat");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream fields(text.substr(end + 2));
  std::string skipped;
  for (int at = 0; at < 11; ++at) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

auto without_frames(std::string_view report) -> std::string {
  std::string text;
  int depth = 0;
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t end = std::min(report.find('\n', at), report.size());
    const std::string_view line = report.substr(at, end - at);
    at = end + 1;
    const std::size_t offset = line.find('\2');
    if (line.empty() || line.front() != '\1' || offset == std::string_view::npos) {
      text.append(line).append("\n");
      depth = 0;
      continue;
    }
    const std::string file(line.substr(1, offset - 1));
    const std::string digits(line.substr(offset + 1));
    std::string function = find_function(file, std::strtoull(digits.c_str(), nullptr, 16));
    text += "      #" + std::to_string(depth++) + " " + (function.empty() ? "?" : function) + "  (" +
            fs::path(file).filename().string() + "+0x" + digits + ")\n";
  }
  return text;
}

/// Connects the child process to the coordinator of its world.
void sit_down(const machine_seat& seat) {
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::close(nothing);
  if (::dup2(seat.socket, world_descriptor) < 0) {
    std::fprintf(stderr, "braid-sim: a machine needs the descriptor %d; raise the limit of open files (ulimit -n)\n",
                 world_descriptor);
    ::_exit(126);
  }
  if (!seat.folder.empty() && ::chdir(seat.folder.c_str()) != 0) {
    std::fprintf(stderr, "braid-sim: the folder `%s` cannot be entered: %s\n", seat.folder.c_str(),
                 std::strerror(errno));
    ::_exit(126);
  }
}

auto needs_quotes(const std::string& word) -> bool {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  return word.empty() || word.find_first_not_of(plain) != std::string::npos;
}

}  // namespace

auto quoted(const std::vector<std::string>& words) -> std::string {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!needs_quotes(word)) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char each : word) text += each == '\'' ? std::string("'\\''") : std::string(1, each);
    text += '\'';
  }
  return text;
}

auto find_program(run_options& options) -> std::string {
  const std::string& name = options.words.front();
  std::error_code error;
  options.path = on_path(name);
  if (options.path.empty()) return "the program `" + name + "` is not in any folder of PATH";
  if (!fs::exists(options.path, error)) return "the program `" + name + "` does not exist";
  if (::access(options.path.c_str(), X_OK) != 0 || fs::is_directory(options.path, error))
    return "`" + name + "` is not an executable file";
  if (std::string problem = describe_problem(options.path); !problem.empty())
    return "the program `" + name + "` " + problem;
  if (find_library().empty())
    return "libbraid-sim.so is missing: it is installed together with braid-sim, in " BRAID_LIBRARY_DIR "/braid";
  const char* own = std::getenv(file_variable);  // NOLINT(concurrency-mt-unsafe): there is one thread
  return own == nullptr ? std::string() : "braid-sim cannot run within a simulation";
}

process::process(const run_options& options, std::uint64_t seed, output output, const machine_seat* seat)
    : stuck_after_(options.stuck_after) {
  file_ = ::memfd_create("braid-sim", MFD_CLOEXEC);
  size_ = records_offset + options.wanted.records * sizeof(record);
  if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(size_)) != 0)
    throw std::system_error(errno, std::generic_category());
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category());
  page_ = new (memory) shared_page;
  page_->wanted = options.wanted;
  page_->wanted.seed = seed;
  if (seat != nullptr) page_->next_connection = seat->first_connection;
  last_switch_ = std::chrono::steady_clock::now();
  start(options, output, seat);
}

process::~process() {
  if (handle_ >= 0) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
    ::close(handle_);
  }
  ::munmap(page_, size_);
  ::close(file_);
  if (output_ >= 0) ::close(output_);
}

void process::start(const run_options& options, output destination, const machine_seat* seat) {
  if (destination == output::kept && seat == nullptr) output_ = ::memfd_create("braid-sim-output", MFD_CLOEXEC);
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ < 0) throw std::system_error(errno, std::generic_category(), "a child process cannot be created");
  if (id_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(125);
    become(options, seat);
  }
  handle_ = static_cast<int>(::syscall(SYS_pidfd_open, id_, 0));
}

/// Executes the program in the child process.
void process::become(const run_options& options, const machine_seat* seat) {
  const int written = seat != nullptr ? seat->output : output_;
  if (written >= 0) {
    ::dup2(written, STDOUT_FILENO);
    ::dup2(written, STDERR_FILENO);
  }
  const std::string path = seat == nullptr || seat->folder.empty() ? options.path : fs::absolute(options.path).string();
  if (seat != nullptr) sit_down(*seat);
  if (::personality(ADDR_NO_RANDOMIZE) < 0)
    std::fputs(
        "braid-sim: the system does not allow fixed memory addresses; the order of pointers may differ between runs\n",
        stderr);
  refuse_io_uring();
  // The text has the same length for all values of the two numbers. Otherwise the addresses of the program's stack
  // would differ between runs, because the stack is below the environment in memory.
  std::array<char, 64> file{};
  const std::string number = std::to_string(::getppid());
  std::snprintf(file.data(), file.size(), "/proc/%s%s%d", number.c_str(),
                (std::string(10 - std::min<std::size_t>(number.size(), 9), '/') + "fd/" +
                 (file_ < 10    ? "///"
                  : file_ < 100 ? "//"
                                : "/"))
                    .c_str(),
                file_);
  ::setenv(file_variable, file.data(), 1);  // NOLINT(concurrency-mt-unsafe): there is one thread
  std::string preloaded = find_library();
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0')
    preloaded.append(":").append(others);
  ::setenv("LD_PRELOAD", preloaded.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): there is one thread
  std::vector<char*> words;
  for (const std::string& word : options.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  std::fprintf(stderr, "braid-sim: the program `%s` cannot be run: %s\n", path.c_str(), std::strerror(errno));
  ::_exit(127);
}

auto process::has_ended(int wait_ms) -> bool {
  pollfd ended{handle_, POLLIN, 0};
  if (handle_ >= 0 && ::poll(&ended, 1, wait_ms) <= 0) {
    watch();
    return false;
  }
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {}
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ::close(handle_);
  handle_ = -1;
  return true;
}

void process::begin_watch() {
  last_switch_ = std::chrono::steady_clock::now();
  cpu_at_switch_ = -1;
}

void process::ask_for_report(question reason) {
  page_->asked.store(reason);
  ::syscall(SYS_tgkill, id_, page_->runner.load(), stack_signal);
}

/// A process that only waits for a processor is not stuck.
void process::watch() {
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t switches = page_->switches.load();
  if (switches != last_switches_ || !was_simulated() || page_->idle.load() != 0) {
    last_switches_ = switches;
    last_switch_ = now;
    cpu_at_switch_ = -1;
    return;
  }
  if (cpu_at_switch_ < 0) cpu_at_switch_ = cpu_seconds(id_);
  const auto silent = now - last_switch_;
  if (silent < stuck_after_) return;
  const double limit = static_cast<double>(stuck_after_.count());
  if (cpu_seconds(id_) - cpu_at_switch_ < 0.8 * limit && silent < 12 * stuck_after_) return;
  if (was_asked_ && silent > stuck_after_ + patience) ::kill(id_, SIGKILL);
  if (!was_asked_) ask_for_report(question::stuck);
  was_asked_ = true;
}

auto process::records() const -> std::span<const record> {
  const auto* first = reinterpret_cast<const record*>(reinterpret_cast<const char*>(page_) + records_offset);
  return {first, std::min<std::size_t>(page_->switches.load(), page_->wanted.records)};
}

auto process::last_records() const -> std::vector<record> {
  const std::span<const record> kept = records();
  std::vector<record> copy(kept.begin(), kept.end());
  if (page_->switches.load() > copy.size() && !copy.empty() && page_->wanted.keeps_last != 0)
    std::ranges::rotate(copy, copy.begin() + static_cast<std::ptrdiff_t>(page_->switches.load() % copy.size()));
  return copy;
}

auto process::written() const -> std::string { return read_file(output_, 0); }

auto read_file(int file, std::size_t offset) -> std::string {
  std::string text;
  std::array<char, 16'384> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is called for each switch
  for (;;) {
    const auto at = static_cast<off_t>(offset + text.size());
    const ssize_t got = file < 0 ? 0 : ::pread(file, part.data(), part.size(), at);
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

auto describe_report(const process& ended) -> std::string {
  return without_frames({ended.page().report.data(), ended.page().report_size});
}

void print_end(const process& ended) {
  const shared_page& page = ended.page();
  if (!ended.was_simulated()) {
    std::fprintf(stderr,
                 "braid-sim: the library was not loaded into the program; a program with other privileges or its own "
                 "loader cannot be simulated\n");
    return;
  }
  if (page.report_size > 0) std::fprintf(stderr, "braid-sim: %s", describe_report(ended).c_str());
  std::string faults;
  for (std::size_t at = 0; at < fault_count; ++at)
    if (page.faults[at] != 0) faults += ", " + std::to_string(page.faults[at]) + " " + fault_names[at];
  std::fprintf(stderr,
               "braid-sim: seed %llu: status %d, %llu switches of %u threads%s, %.6f s of virtual time, hash %016llx\n",
               static_cast<unsigned long long>(ended.seed()), ended.status(),
               static_cast<unsigned long long>(page.switches.load()), page.threads, faults.c_str(),
               static_cast<double>(page.time) / 1e9, static_cast<unsigned long long>(page.hash));
}

}  // namespace sim
