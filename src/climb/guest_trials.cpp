// SPDX-License-Identifier: Apache-2.0
// climb/guest_trials.cpp: tries a guest on small instances that rungs get wrong, and on those that will be timed. On
// the CPU each array is between pages that must not be touched. The guest runs in a child process, where a crash or a
// hang is reported like any other mistake.
#include "climb/guest_trials.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "climb/device_trials.hpp"
#include "climb/generated_lists.hpp"
#include "cpu/parallel.hpp"
#include "system/child.hpp"
#include "system/float_mode.hpp"
#include "system/memory.hpp"

namespace upsweep {
namespace {

// For one call. On a GPU the first call of the process also starts the driver.
constexpr int kMostSeconds = 20;
constexpr int kMostSecondsOnGpu = 60;
constexpr int kThreads[] = {1, 2, 7};
constexpr int kLargeRuns = 3;  // a race may be correct at times

// ---------------------------------------------------------------------------------------------------------- instances

constexpr std::int64_t kSizes[] = {0,    1,    2,    3,    7,    8,      9,      15,     16,     17,
                                   31,   32,   33,   63,   64,   65,     127,    128,    129,    1023,
                                   1024, 1025, 4095, 4096, 4097, 65'535, 65'536, 65'537, 300'007};
constexpr std::int64_t kItemCounts[] = {1, 2, 3, 7, 16, 33};

using Settings = std::map<std::string_view, Setting>;

std::vector<Settings> settings_of(std::string_view problem) {
  std::vector<Settings> all;
  if (problem == "segmented-reduce") {
    for (const ListPattern pattern : {ListPattern::poisson, ListPattern::fixed32, ListPattern::zero_to_4,
                                      ListPattern::empty, ListPattern::one, ListPattern::giants, ListPattern::pareto}) {
      all.push_back({{kListSetting.name, {static_cast<std::int64_t>(pattern)}}});
    }
  } else if (problem == "filtered-sum") {
    for (const std::int64_t limit : {30, 0, 5000, 10001}) all.push_back({{"z", {limit}}});
  } else if (problem == "subset-sum") {
    for (const std::int64_t target : {1, 62, 63, 64, 65, 127, 128, 1000, 4095, 4096, 100'003}) {
      for (const std::int64_t largest : {1, 10, 128, 5000}) {
        all.push_back({{"target", {target}}, {"largest", {largest}}});
      }
    }
  } else {
    all.emplace_back();
  }
  return all;
}

// --------------------------------------------------------------------------------------------------------- its arrays

/// A copy of an array that ends where a page ends, between two pages that must not be touched.
class FencedArray {
 public:
  FencedArray(const HostArray& array, std::string_view name) : original_(array), name_(name) {
    const auto bytes = static_cast<std::size_t>(array.bytes);
    inner_ = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = mmap(nullptr, inner_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(memory) + kPage;
    if (inner_ > 0 && mprotect(begin_, inner_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = begin_ + inner_ - bytes;
    std::memset(begin_, kPoison, inner_);
    if (bytes > 0 && !array.is_output) std::memcpy(data_, array.data, bytes);
  }
  ~FencedArray() { munmap(begin_ - kPage, inner_ + 2 * kPage); }
  FencedArray(const FencedArray&) = delete;
  FencedArray& operator=(const FencedArray&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const void* end() const { return begin_ + inner_; }
  [[nodiscard]] const void* begin() const { return begin_; }

  /// Returns "", or what the guest should not have written. Copies outputs back.
  [[nodiscard]] std::string take_back() const {
    const auto bytes = static_cast<std::size_t>(original_.bytes);
    if (std::any_of(begin_, data_, [](std::byte one) { return one != std::byte{kPoison}; })) {
      return "writes before the beginning of `" + std::string(name_) + "`";
    }
    if (bytes == 0) return "";
    if (original_.is_output) {
      std::memcpy(original_.data, data_, bytes);
    } else if (std::memcmp(original_.data, data_, bytes) != 0) {
      return "writes into its input `" + std::string(name_) + "`";
    }
    return "";
  }

  static constexpr std::size_t kPage = 1 << 16;  // the page size of every machine, or a multiple of it

 private:
  HostArray original_;
  std::string_view name_;
  std::size_t inner_;
  std::byte* begin_;
  std::byte* data_;
};

using Fenced = std::vector<std::unique_ptr<FencedArray>>;

// ---------------------------------------------------------------------------------------------------- in the child

// The state of the signal handler, which may interrupt a thread of the guest.
int report_to = -1;
const Fenced* fenced = nullptr;

void report(std::string_view text) { (void)!write(report_to, text.data(), text.size()); }

/// Writes a separate line: the text of a guest's exception may have several.
void report_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  report(text + "\n");
}

void on_fault(int signal, siginfo_t* info, void*) {
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  static const Fenced kNone;  // a thread that the guest has left running
  for (const auto& array : fenced == nullptr ? kNone : *fenced) {
    const auto* const begin = static_cast<const std::byte*>(array->begin());
    const auto* const end = static_cast<const std::byte*>(array->end());
    const bool past = at >= end && at < end + FencedArray::kPage;
    if (!past && (at >= begin || at < begin - FencedArray::kPage)) continue;
    report(past ? "failed reads or writes past the end of `" : "failed reads or writes before the beginning of `");
    report(array->name());
    report("`\n");
    _exit(0);
  }
  report(signal == SIGBUS ? "failed crashes (bus error)\n" : "failed crashes (segmentation fault)\n");
  _exit(0);
}

void listen_for_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  (void)sigaction(SIGSEGV, &action, nullptr);
  (void)sigaction(SIGBUS, &action, nullptr);
}

/// Makes one call on the CPU on separate arrays. Returns "", or what is wrong.
std::string wrong_in_call(const Guest& guest, Instance& instance, int threads) {
  Fenced arrays;
  const std::vector<HostArray> own = instance.arrays();
  std::vector<void*> at;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (i < guest.problem().arrays.size()) {
      arrays.push_back(std::make_unique<FencedArray>(own[i], guest.problem().arrays[i].name));
    }
    at.push_back(i < arrays.size() ? arrays[i]->data() : own[i].data);
  }
  fenced = &arrays;
  {
    const KeptFloatMode kept;
    instance.run_guest(threads, at.data(), instance.group.n);
  }
  fenced = nullptr;
  for (const auto& array : arrays) {
    if (std::string reason = array->take_back(); !reason.empty()) return reason;
  }
  return instance.wrong(guest.info());
}

std::string described(const Instance& instance, const std::string& how) {
  std::string text = instance.group.title;
  if (!instance.group.input.empty()) text += ", " + instance.group.input;
  if (const auto& facts = instance.group.facts; !facts.empty() && facts[0].first == "target") {
    text += ", target " + std::to_string(std::get<std::int64_t>(facts[0].second));
  }
  return text + ", " + how;
}

/// Makes the calls, and reports each and the first mistake.
void try_calls(const Instance& instance, const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    report_line("at " + described(instance, trial.how));
    const std::string reason = trial.wrong();
    if (reason.empty()) continue;
    report_line("failed " + reason);
    _exit(0);
  }
}

/// The estimated seconds of a call on the whole instance, measured by a call on some of it.
double estimate(const Guest& guest, Instance& instance, int threads) {
  if (const auto seconds = instance.estimate(guest.info())) return *seconds;
  if (instance.group.n <= kTimedTrial) return 0;
  std::vector<void*> at;
  for (const HostArray& array : instance.arrays()) at.push_back(array.data);
  const auto begin = std::chrono::steady_clock::now();
  instance.run_guest(threads, at.data(), kTimedTrial);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() * static_cast<double>(instance.group.n) / static_cast<double>(kTimedTrial);
}

/// Calls of a guest on the CPU, with different numbers of threads.
class HostTrials final : public TrialPlace {
 public:
  HostTrials(const Guest& guest, const ClimbRequest& request) : guest_(guest), request_(request) {}

  std::vector<Trial> small_trials(Instance& instance) override {
    std::vector<Trial> trials;
    for (const int threads : kThreads) {
      for (int i = 0; i < (instance.group.n > kLargeTrial ? kLargeRuns : 1); ++i) {
        trials.push_back(
            trial(threads, [this, &instance, threads] { return wrong_in_call(guest_, instance, threads); }));
      }
    }
    return trials;
  }
  std::vector<Trial> timed_trials(Instance& instance) override {
    double bytes = 0;
    for (const HostArray& array : instance.arrays()) bytes += static_cast<double>(array.bytes);
    if (2 * bytes > static_cast<double>(available_memory()) / 2) return {};
    std::vector<Trial> trials;
    for (const int asked : request_.threads) {
      const int threads = cpu::worker_count(asked);
      trials.push_back(trial(threads, [this, &instance, threads] {
        if (estimate(guest_, instance, threads) > request_.max_seconds) return std::string();
        return wrong_in_call(guest_, instance, threads);
      }));
    }
    return trials;
  }

 private:
  static Trial trial(int threads, std::function<std::string()> wrong) {
    return {"with " + threads_text(threads), std::move(wrong)};
  }

  const Guest& guest_;
  const ClimbRequest& request_;
};

/// Reports the current instance, and the first mistake there.
void try_instance(const Guest& guest, Instance& instance, TrialPlace& place) {
  instance.guest = &guest;
  for (int which = 0; which < instance.fills(); ++which) {
    instance.fill(which);
    try_calls(instance, place.small_trials(instance));
  }
}

/// Runs each instance that will be timed once, if there is memory and time for that. Something that ends the process
/// here would end the command later.
void try_asked(const Guest& guest, Instance& instance, TrialPlace& place) {
  instance.guest = &guest;
  const std::vector<Trial> trials = place.timed_trials(instance);
  if (trials.empty()) return;
  instance.fill(instance.fills() - 1);
  try_calls(instance, trials);
}

void try_all(const Guest& guest, const ClimbRequest& request, const ClimbRequest& asked, const Problem& problem,
             int out) {
  report_to = out;
  listen_for_faults();
  try {
    const auto place = guest.backend() == Backend::cuda ? gpu::device_trials(guest, asked)
                                                        : std::make_unique<HostTrials>(guest, asked);
    ClimbRequest small = request;
    const bool is_of_items = request.problem == "subset-sum";
    for (const std::int64_t n : is_of_items ? std::span<const std::int64_t>(kItemCounts) : kSizes) {
      small.sizes = {n};
      for (const Settings& settings : settings_of(request.problem)) {
        small.settings = settings;
        problem.visit_instances(small, guest.backend(),
                                [&](Instance& instance) { try_instance(guest, instance, *place); });
      }
    }
    problem.visit_instances(asked, guest.backend(), [&](Instance& instance) { try_asked(guest, instance, *place); });
    report_line("done");
  } catch (const Error& error) {
    const bool has_no_place = error.code() == Code::no_device;
    const bool skips = error.code() == Code::unsupported;
    report_line((has_no_place ? "no device " : skips ? "skips " : "failed ") + std::string(error.what()));
  } catch (const std::bad_alloc&) {
    report_line("failed not enough memory");
  }
}

// ---------------------------------------------------------------------------------------------------- in the parent

/// The text after `word` in the last line that begins with it; nothing if there is no such line.
std::optional<std::string> last_said(const std::string& all, const std::string& word) {
  const std::string lines = "\n" + all;
  const auto found = lines.rfind("\n" + word);
  if (found == std::string::npos) return std::nullopt;
  const auto first = found + 1 + word.size();
  return lines.substr(first, lines.find('\n', first) - first);
}

/// The verdict on all instances of one type. Throws no_device.
std::optional<Error> try_type(const Guest& guest, const ClimbRequest& request, const ClimbRequest& asked,
                              const Problem& problem) {
  const int most_seconds = guest.backend() == Backend::cuda ? kMostSecondsOnGpu : kMostSeconds;
  const auto [said, how] = run_in_child([&](int out) { try_all(guest, request, asked, problem, out); }, most_seconds);
  if (last_said(said, "done")) return std::nullopt;
  if (const auto reason = last_said(said, "no device ")) throw Error(Code::no_device, *reason);
  if (const auto reason = last_said(said, "skips ")) return Error(Code::unsupported, *reason);
  const std::string reason = last_said(said, "failed ").value_or(how);
  return Error(Code::invalid_argument, last_said(said, "at ").value_or("before its first call") + ": " + reason);
}

}  // namespace

std::map<Type, Error> try_guest(const Guest& guest, const ClimbRequest& request, const Problem& problem,
                                const ClimbProgress& progress) {
  const ProblemInfo info = problem.info();
  std::vector<Type> types = {Type::int64};  // as groups without types say
  if (!info.types.empty()) {
    types = request.input.empty() ? types_of(request, info) : std::vector{request.input.back().type};
  }
  std::map<Type, Error> refusals;
  for (const Type type : types) {
    progress("trying " + std::string(guest.info().id) + " on " + std::string(name(type)));
    ClimbRequest small{.problem = request.problem};
    ClimbRequest asked = request;
    if (!info.types.empty()) small.types = {type};
    if (!info.types.empty() && request.input.empty()) asked.types = {type};
    if (auto refusal = try_type(guest, small, asked, problem)) refusals.emplace(type, std::move(*refusal));
  }
  return refusals;
}

}  // namespace upsweep
