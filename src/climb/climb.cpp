// SPDX-License-Identifier: Apache-2.0
// climb/climb.cpp: verifies every rung of a ladder on every instance, then times the rungs in turn, with every count of
// threads.
#include "upsweep/climb.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "climb/guest.hpp"
#include "climb/place.hpp"
#include "climb/problem.hpp"
#include "climb/problems.hpp"
#include "core/ladder.hpp"
#include "cpu/parallel.hpp"
#include "system/memory.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"

namespace upsweep {
namespace {

// A rung is first run on this number of elements, so that a rung that would take minutes is never started.
constexpr std::int64_t kProbe = 1 << 15;
constexpr int kProbes = 3;

/// An instance with one count of threads: its place and its results.
struct Ascent {
  int threads;  ///< as requested: 0 is every core
  std::unique_ptr<ClimbPlace> place;
  Group group = {};
};

/// The outputs of a rung with the smallest number of threads that it was run with.
struct Outputs {
  int threads = 0;  ///< 0: the rung has not been run
  std::vector<std::vector<std::byte>> arrays = {};
};

/// A guest's id does not name its backend.
Backend backend_of(const RungInfo& rung, const Guest* guest) {
  return guest != nullptr && is_guest(rung) ? guest->backend() : rung.backend();
}

using PlaceOf = std::function<std::unique_ptr<ClimbPlace>(Instance& instance, int threads)>;

class Climber {
 public:
  /// `threads`: the counts in ascending order.
  Climber(const ClimbRequest& request, const ClimbProgress& progress, const ProblemInfo& problem, Backend backend,
          std::vector<int> threads, PlaceOf place_of, const Guest* guest, std::map<Type, Error> refusals)
      : request_(request),
        progress_(progress),
        problem_(problem),
        backend_(backend),
        threads_(std::move(threads)),
        place_of_(std::move(place_of)),
        guest_(guest),
        refusals_(std::move(refusals)) {}

  std::vector<Group> climb(Instance& instance);

 private:
  [[nodiscard]] bool is_wanted(const RungInfo& rung) const {
    return backend_of(rung, guest_) == backend_ && (request_.rung.empty() || rung.id == request_.rung);
  }
  /// The number of threads that the rung uses if `asked` are requested.
  [[nodiscard]] int threads_of(const RungInfo& rung, int asked) const;
  [[nodiscard]] bool runs_with(const RungInfo& rung, int asked) const;
  [[nodiscard]] Ascent ascent(Instance& instance, int threads) const;
  /// " (2 of 7)": the number of the rung among those that are wanted.
  [[nodiscard]] std::string number_of(const RungInfo& rung) const {
    int number = 0;
    int all = 0;
    for (const RungInfo& one : problem_.rungs) {
      if (!is_wanted(one)) continue;
      ++all;
      if (one.id == rung.id) number = all;
    }
    return all > 1 ? " (" + std::to_string(number) + " of " + std::to_string(all) + ")" : "";
  }
  /// " with 4 threads", if there are several counts.
  [[nodiscard]] std::string with(int threads) const {
    return threads_.size() == 1 ? "" : " with " + threads_text(threads);
  }
  std::string estimated_beyond(const RungInfo& rung, Instance& instance, ClimbPlace& place) const;
  void require_memory(Instance& instance) const;
  void require_trials(const Instance& instance) const {
    const auto refusal = refusals_.find(instance.group.type);
    if (refusal != refusals_.end()) throw Error(refusal->second);
  }
  void verify(Row& row, Instance& instance, ClimbPlace& place, bool is_first) const;
  void verify(const RungInfo& rung, Instance& instance, std::vector<Ascent>& ascents, bool is_first) const;
  std::vector<Contender> contenders(Instance& instance, ClimbPlace& place, bool is_lowest) const;
  void verify_again(Row& row, Instance& instance, ClimbPlace& place) const;
  void time(Instance& instance, const Ascent& ascent) const;

  const ClimbRequest& request_;
  const ClimbProgress& progress_;
  const ProblemInfo& problem_;
  Backend backend_;
  std::vector<int> threads_;
  PlaceOf place_of_;
  const Guest* guest_;
  std::map<Type, Error> refusals_;  // of the guest
};

int Climber::threads_of(const RungInfo& rung, int asked) const {
  if (backend_ == Backend::cuda) return 0;
  if (rung.threads == Threads::one) return 1;
  return cpu::worker_count(rung.threads == Threads::every ? 0 : asked);
}

/// A rung that ignores the count runs once, next to the copy with the rung's number of threads. If that number is not
/// requested, the next larger one is used, or the largest.
bool Climber::runs_with(const RungInfo& rung, int asked) const {
  if (rung.threads == Threads::asked || threads_.size() == 1) return true;
  const auto enough = std::lower_bound(threads_.begin(), threads_.end(), threads_of(rung, asked));
  return asked == (enough == threads_.end() ? threads_.back() : *enough);
}

/// "estimated 71 s" if a run would take longer than it may, otherwise "".
std::string Climber::estimated_beyond(const RungInfo& rung, Instance& instance, ClimbPlace& place) const {
  std::optional<double> seconds = instance.estimate(rung);
  const std::int64_t n = instance.group.n;
  if (!seconds && n > kProbe) {
    const auto probe = [&] { place.run(rung.id, kProbe); };
    probe();  // the first run wakes threads and loads kernels
    const double factor = static_cast<double>(n) / static_cast<double>(kProbe);
    // The minimum of several runs: a thread that loses its core for a moment would seem to take seconds.
    for (int i = 0; i < kProbes && (!seconds || *seconds > request_.max_seconds); ++i) {
      seconds = std::min(seconds.value_or(HUGE_VAL), place.clock().seconds_of(probe) * factor);
    }
    if (*seconds <= place.clock().launch_seconds() * factor) return "";
  }
  return seconds && *seconds > request_.max_seconds ? estimated(*seconds) : "";
}

/// Records a rung's failure, without the rung's name in front of the message.
void fail(Row& row, const Error& error) {
  const bool is_limit =
      error.code() == Code::unsupported || error.code() == Code::out_of_memory || error.code() == Code::device_memory;
  row.status = is_limit ? RowStatus::skipped : RowStatus::failed;
  row.reason = error.what();
  if (row.reason.starts_with(row.rung.id)) row.reason.erase(0, row.rung.id.size());
  row.reason.erase(0, row.reason.find_first_not_of(": "));
}

/// Throws if the guest that has failed left the GPU in a state in which every later call fails.
void require_usable(ClimbPlace& place, const Row& guest) {
  try {
    place.require_usable();
  } catch (const Error& error) {
    throw Error(error.code(), std::string(guest.rung.id) + ": " + guest.reason +
                                  ": this process cannot use the GPU again; omit --with to time the other rungs");
  }
}

void Climber::verify(Row& row, Instance& instance, ClimbPlace& place, bool is_first) const {
  progress_("verifying " + std::string(row.rung.id) + number_of(row.rung) + " on " + std::to_string(instance.group.n) +
            with(row.threads));
  try {
    if (is_first && instance.measure(row, request_)) return;
    if (is_guest(row.rung)) require_trials(instance);
    if (is_first) row.reason = estimated_beyond(row.rung, instance, place);
    if (!row.reason.empty()) return;
    place.poison();
    place.run(row.rung.id, instance.group.n);
    if (!instance.waits(row.rung)) place.fetch();
    row.reason = instance.wrong(row.rung);
    row.status = row.reason.empty() ? RowStatus::verified : RowStatus::failed;
  } catch (const Error& error) {
    fail(row, error);
    if (is_guest(row.rung)) require_usable(place, row);
  }
}

/// Returns "", or how the outputs differ from the previous ones. Keeps the first outputs.
std::string other_bits(Instance& instance, int threads, Outputs& before) {
  const auto arrays = instance.arrays();
  if (before.threads == 0) before.arrays.resize(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].is_output) continue;
    const auto* const data = static_cast<const std::byte*>(arrays[i].data);
    auto& known = before.arrays[i];
    if (before.threads == 0) {
      known.assign(data, data + arrays[i].bytes);
      continue;
    }
    if (std::memcmp(known.data(), data, known.size()) == 0) continue;
    const auto differs = std::mismatch(known.begin(), known.end(), data).first;
    return "other bits than with " + threads_text(before.threads) + ", from index " +
           std::to_string((differs - known.begin()) / size_of(instance.group.type));
  }
  if (before.threads == 0) before.threads = threads;
  return "";
}

/// Verifies the rung with every count of threads. If the rung promises it, floats must have the same bits with each
/// count. Integers have already been compared with the only correct values.
void Climber::verify(const RungInfo& rung, Instance& instance, std::vector<Ascent>& ascents, bool is_first) const {
  const bool keeps_bits = ascents.size() > 1 && is_float(instance.group.type) && rung.threads == Threads::asked &&
                          rung.determinism == Determinism::always;
  Outputs before;
  for (Ascent& ascent : ascents) {
    auto& rows = ascent.group.rows;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.rung.id == rung.id; });
    if (row == rows.end() || (!is_first && row->status != RowStatus::verified)) continue;
    verify(*row, instance, *ascent.place, is_first);
    if (!keeps_bits || row->status != RowStatus::verified) continue;
    row->reason = other_bits(instance, row->threads, before);
    if (!row->reason.empty()) row->status = RowStatus::failed;
  }
}

/// Whether a checked run succeeds: on real columns, sums may exceed their type.
bool succeeds(const std::function<void()>& run) {
  try {
    run();
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::overflow || error.code() == Code::unsupported) return false;
    throw;
  }
}

/// Uploads the arrays. If a rung has broken the device, every later call fails: the error names the rungs that failed.
void upload(const Ascent& ascent) {
  try {
    ascent.place->upload();
  } catch (const Error& error) {
    std::string message = error.what();
    for (const Row& row : ascent.group.rows) {
      if (row.status == RowStatus::failed) message += "; before it " + std::string(row.rung.id) + ": " + row.reason;
    }
    throw Error(error.code(), message);
  }
}

const Contender* find(const std::vector<Contender>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Contender& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

double median_of(const std::vector<Contender>& all, std::string_view name) {
  const Contender* const found = find(all, name);
  return found == nullptr ? 0 : found->median();
}

std::vector<double> samples_of(const std::vector<Contender>& all, std::string_view name) {
  const Contender* const found = find(all, name);
  return found == nullptr ? std::vector<double>() : found->samples;
}

std::string checked(std::string_view rung) { return std::string(rung) + " checked"; }

/// The limits, the API and every rung that was verified.
std::vector<Contender> Climber::contenders(Instance& instance, ClimbPlace& place, bool is_lowest) const {
  Group& group = instance.group;
  const bool on_cpu = backend_ == Backend::cpu;
  std::vector<Contender> all = place.limits();
  if (on_cpu && is_lowest && instance.run_inlined()) {
    all.push_back({.name = "inlined", .run = [&] { (void)instance.run_inlined(); }});
  }
  // The API does not accept pinned memory unless the rung for it is named.
  if (request_.rung.empty() && group.bytes > 0 && !group.is_pinned) {
    group.api_rung = place.run("", group.n);
    all.push_back({.name = "api", .run = place.runner("", Overflow::wrap)});
  }
  for (const Row& row : group.rows) {
    if (row.status != RowStatus::verified) continue;
    all.push_back({.name = std::string(row.rung.id), .run = place.runner(row.rung.id, Overflow::wrap)});
    if (!on_cpu || !instance.is_checkable() || row.rung.kind == Kind::library || is_guest(row.rung)) continue;
    auto run = place.runner(row.rung.id, Overflow::checked);
    if (succeeds(run)) all.push_back({.name = checked(row.rung.id), .run = std::move(run)});
  }
  return all;
}

/// Computes the figures of the machine and of every rung from the contenders' times.
void take_figures(Instance& instance, ClimbPlace& place, const std::vector<Contender>& timed) {
  Group& group = instance.group;
  const double copy = median_of(timed, "copy");
  const double read = median_of(timed, "read");
  group.copy_samples_s = samples_of(timed, "copy");
  group.read_samples_s = samples_of(timed, "read");
  const double first_input = static_cast<double>(instance.arrays()[0].bytes);
  const double read_bytes = group.is_pinned ? first_input : group.limit_bytes / (group.reads_only ? 1 : 2);
  if (copy > 0) group.copy_bytes_per_s = group.limit_bytes / copy;
  if (read > 0) group.read_bytes_per_s = read_bytes / read;
  group.inlined_s = median_of(timed, "inlined");
  group.api_s = median_of(timed, "api");
  for (Row& row : group.rows) {
    const Contender* const own = find(timed, row.rung.id);
    if (own == nullptr) continue;
    row.median_s = own->median();
    row.samples_s = own->samples;
    if (const Contender* with_checks = find(timed, checked(row.rung.id))) row.checked_s = with_checks->median();
    place.add_details(row, own->run);
  }
}

/// A guest may compute once and store the result. Its outputs after timing are therefore also verified.
void Climber::verify_again(Row& row, Instance& instance, ClimbPlace& place) const {
  verify(row, instance, place, false);
  if (row.status == RowStatus::failed) row.reason = "after it was timed: " + row.reason;
}

void Climber::time(Instance& instance, const Ascent& ascent) const {
  ClimbPlace& place = *ascent.place;
  std::vector<Contender> all = contenders(instance, place, ascent.threads == threads_.front());
  const bool has_peers = backend_ == Backend::cpu && request_.rung.empty();
  std::vector<Peer> peers = has_peers ? instance.peers() : std::vector<Peer>();
  std::erase_if(peers, [&](const Peer& peer) { return !runs_with(peer.row.rung, ascent.threads); });
  for (const Peer& peer : peers) all.push_back({.name = std::string(peer.row.rung.id), .run = peer.run});
  progress_("timing " + std::to_string(all.size()) + " contenders on " + std::to_string(instance.group.n) +
            with(ascent.threads));
  time_in_turn(all, place.clock(), request_.round_seconds);
  for (Row& row : instance.group.rows) {
    if (is_guest(row.rung) && row.status == RowStatus::verified) verify_again(row, instance, place);
  }
  take_figures(instance, place, all);
  for (Peer& peer : peers) {
    peer.row.median_s = median_of(all, peer.row.rung.id) / peer.share;
    peer.row.samples_s = samples_of(all, peer.row.rung.id);
    for (double& sample : peer.row.samples_s) sample /= peer.share;
    peer.row.threads = threads_of(peer.row.rung, ascent.threads);
    instance.group.rows.push_back(std::move(peer.row));
  }
  if (has_peers) instance.finish(ascent.threads);
}

Ascent Climber::ascent(Instance& instance, int threads) const {
  Ascent made{.threads = threads, .place = place_of_(instance, threads), .group = instance.group};
  made.group.device = made.place->device();
  made.group.threads = backend_ == Backend::cuda ? 0 : cpu::worker_count(threads);
  for (const RungInfo& rung : problem_.rungs) {
    if (!is_wanted(rung) || !runs_with(rung, threads) || !instance.takes(rung)) continue;
    made.group.rows.push_back({.rung = rung, .threads = threads_of(rung, threads), .bytes = instance.bytes(rung)});
  }
  return made;
}

/// Generated arrays take no memory until they are filled. This reports arrays that do not fit before the system ends
/// the command.
void Climber::require_memory(Instance& instance) const {
  double needed = backend_ == Backend::cpu ? instance.group.limit_bytes : 0;  // both ends of the copy
  for (const HostArray& array : instance.arrays()) {
    const bool is_there = !array.is_output && !request_.input.empty();  // a column that was read before
    if (!is_there) needed += static_cast<double>(array.bytes);
  }
  const auto there = static_cast<double>(available_memory());
  if (needed <= there) return;
  throw Error(Code::out_of_memory, instance.group.title + ": needs " + bytes_text(needed) + " of memory, " +
                                       bytes_text(there) + " are free");
}

bool is_timed(const Row& row) { return row.status == RowStatus::verified && row.median_s > 0; }

std::vector<Group> Climber::climb(Instance& instance) {
  require_memory(instance);
  std::vector<Ascent> ascents;
  ascents.reserve(threads_.size());
  for (const int threads : threads_) ascents.push_back(ascent(instance, threads));
  std::erase_if(ascents, [](const Ascent& ascent) { return ascent.group.rows.empty(); });
  for (int which = 0; which < instance.fills(); ++which) {
    instance.fill(which);
    for (const Ascent& ascent : ascents) upload(ascent);
    for (const RungInfo& rung : problem_.rungs) verify(rung, instance, ascents, which == 0);
  }
  std::vector<Group> groups;
  double first_s = 0;
  for (Ascent& ascent : ascents) {
    Group& group = instance.group;
    group = std::move(ascent.group);
    const auto& rows = group.rows;
    // A row that already has a time has measured itself.
    if (std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.median_s > 0; })) time(instance, ascent);
    const auto first = std::find_if(rows.begin(), rows.end(), is_timed);
    if (first_s == 0 && first != rows.end()) first_s = first->median_s;
    group.first_s = first_s;
    groups.push_back(std::move(group));
    ascent.place.reset();  // and both ends of its copy
  }
  return groups;
}

/// Sorts several counts in ascending order, without duplicates. Throws invalid_argument.
std::vector<int> counts_of(std::vector<int> threads) {
  if (threads.empty()) throw Error(Code::invalid_argument, "no count of threads to climb with");
  for (const int count : threads) require_policy(par.with_threads(count));
  if (threads.size() == 1) return threads;
  for (int& count : threads) count = cpu::worker_count(count);
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  return threads;
}

const RungInfo* wanted_rung(const ClimbRequest& request, const ProblemInfo& problem) {
  if (request.rung.empty()) return nullptr;
  detail::require_built(request.rung);
  std::string ids;
  for (const RungInfo& rung : problem.rungs) {
    if (rung.id == request.rung) return &rung;
    ids.append(ids.empty() ? "" : ", ").append(rung.id);
  }
  refuse_rung(request.rung, ids);
}

void require_guest_runs(const ClimbRequest& request, const RungInfo& guest) {
  if (request.rung.empty() || request.rung == guest.id) return;
  throw Error(Code::invalid_argument,
              "--rung " + request.rung + " excludes the rung of --with, which is " + std::string(guest.id));
}

}  // namespace

std::string_view word(RowStatus status) {
  constexpr std::string_view kWords[] = {"verified", "failed", "skipped"};
  return kWords[static_cast<int>(status)];
}

std::string threads_text(int threads) { return std::to_string(threads) + (threads == 1 ? " thread" : " threads"); }

std::string estimated(double seconds) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), seconds < 99.5 ? "estimated %.2g s" : "estimated %.0f s", seconds);
  return text.data();
}

std::vector<Group> climb(const ClimbRequest& request, const ClimbProgress& progress) {
  return climb(request, declaration(request.problem), progress);
}

std::vector<Group> climb(const ClimbRequest& request, const Problem& problem, const ClimbProgress& progress) {
  ProblemInfo info = problem.info();
  const Backend guest_on = request.on_cpu ? Backend::cpu : Backend::cuda;
  const Guest* const guest = request.guest.empty() ? nullptr : &Guest::load(request.guest, info.name, guest_on);
  if (guest != nullptr) {
    info.rungs.push_back(guest->info());
    require_guest_runs(request, guest->info());
  }
  const RungInfo* const wanted = wanted_rung(request, info);
  std::vector<Group> groups;
  const auto climb_on = [&](Backend backend, const std::vector<int>& threads, const PlaceOf& place_of) {
    const auto runs_here = [&](const RungInfo& rung) {
      return backend_of(rung, guest) == backend && (wanted == nullptr || wanted->id == rung.id);
    };
    if (std::none_of(info.rungs.begin(), info.rungs.end(), runs_here)) return;
    const bool tries = guest != nullptr && backend == guest->backend() && (wanted == nullptr || is_guest(*wanted));
    // Before anything is timed: a guest whose threads have started cannot be tried in a child process. Before this
    // process uses a GPU: a child process could not use it then.
    auto refusals = tries ? try_guest(*guest, request, problem, progress) : std::map<Type, Error>();
    Climber climber(request, progress, info, backend, threads, place_of, guest, std::move(refusals));
    problem.visit_instances(request, backend, [&](Instance& instance) {
      instance.guest = guest;
      if (instance.group.limit_bytes == 0) instance.group.limit_bytes = instance.group.bytes;
      std::ranges::move(climber.climb(instance), std::back_inserter(groups));
    });
  };
  if (request.on_cpu) climb_on(Backend::cpu, counts_of(request.threads), host_place);
  if (request.on_gpu) {
    if (!gpu::is_built()) throw Error(Code::not_built, detail::kNoCuda);
    climb_on(Backend::cuda, {0}, [](Instance& instance, int) { return device_place(instance); });
  }
  return groups;
}

}  // namespace upsweep
