// SPDX-License-Identifier: Apache-2.0
// core/climb.cpp: the one climber: verifies every rung of a ladder on every instance, then times them in turn.
#include "upsweep/climb.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/place.hpp"
#include "core/problem.hpp"
#include "core/problems.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace {

// A rung is tried on so many elements first, so that one that would take minutes is not started at all.
constexpr std::int64_t kProbe = 1 << 15;

class Climber {
 public:
  Climber(const ClimbRequest& request, const ClimbProgress& progress, const ProblemInfo& problem)
      : request_(request), progress_(progress), problem_(problem) {}

  Group climb(Instance& instance, Place& place);

 private:
  [[nodiscard]] bool is_wanted(const RungInfo& rung, Backend backend) const {
    return rung.backend() == backend && (request_.rung.empty() || rung.id == request_.rung);
  }
  std::string estimated_beyond(const RungInfo& rung, Instance& instance, Place& place) const;
  void verify(Row& row, Instance& instance, Place& place, bool is_first) const;
  std::vector<Contender> contenders(Instance& instance, Place& place) const;
  void time(Instance& instance, Place& place) const;

  const ClimbRequest& request_;
  const ClimbProgress& progress_;
  const ProblemInfo& problem_;
};

/// "estimated 71 s" where a run would take longer than it may, else "".
std::string Climber::estimated_beyond(const RungInfo& rung, Instance& instance, Place& place) const {
  std::optional<double> seconds = instance.estimate(rung);
  const std::int64_t n = instance.group.n;
  if (!seconds && n > kProbe) {
    const auto probe = [&] { place.run(rung.id, kProbe); };
    probe();  // the first run wakes threads and loads kernels
    const double factor = static_cast<double>(n) / static_cast<double>(kProbe);
    seconds = place.clock().seconds_of(probe) * factor;
    if (*seconds <= place.clock().launch_seconds() * factor) return "";
  }
  return seconds && *seconds > request_.max_seconds ? estimated(*seconds) : "";
}

/// What a rung's failure comes to, without its own name in front.
void fail(Row& row, const Error& error) {
  const bool is_limit =
      error.code() == Code::unsupported || error.code() == Code::out_of_memory || error.code() == Code::device_memory;
  row.status = is_limit ? RowStatus::skipped : RowStatus::failed;
  row.reason = error.what();
  if (row.reason.starts_with(row.rung.id)) row.reason.erase(0, row.rung.id.size());
  row.reason.erase(0, row.reason.find_first_not_of(": "));
}

void Climber::verify(Row& row, Instance& instance, Place& place, bool is_first) const {
  progress_("verifying " + std::string(row.rung.id) + " on " + std::to_string(instance.group.n));
  try {
    if (is_first && instance.measure(row, request_)) return;
    if (is_first) row.reason = estimated_beyond(row.rung, instance, place);
    if (!row.reason.empty()) return;
    place.poison();
    place.run(row.rung.id, instance.group.n);
    if (!instance.waits(row.rung)) place.fetch();
    row.reason = instance.wrong(row.rung);
    row.status = row.reason.empty() ? RowStatus::verified : RowStatus::failed;
  } catch (const Error& error) {
    fail(row, error);
  }
}

/// Whether a checked run ends well: on real columns sums may leave their type.
bool succeeds(const std::function<void()>& run) {
  try {
    run();
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::overflow || error.code() == Code::unsupported) return false;
    throw;
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

std::string checked(std::string_view rung) { return std::string(rung) + " checked"; }

/// The limits, the API and every rung that was verified.
std::vector<Contender> Climber::contenders(Instance& instance, Place& place) const {
  Group& group = instance.group;
  const bool on_cpu = place.backend() == Backend::cpu;
  std::vector<Contender> all = place.limits();
  if (on_cpu && instance.run_inlined()) {
    all.push_back({.name = "inlined", .run = [&] { (void)instance.run_inlined(); }});
  }
  // The API takes no pinned memory unless the rung that does is named.
  if (request_.rung.empty() && group.bytes > 0 && !group.is_pinned) {
    group.api_rung = place.run("", group.n);
    all.push_back({.name = "api", .run = place.runner("", Overflow::wrap)});
  }
  for (const Row& row : group.rows) {
    if (row.status != RowStatus::verified) continue;
    all.push_back({.name = std::string(row.rung.id), .run = place.runner(row.rung.id, Overflow::wrap)});
    if (!on_cpu || !instance.is_checkable() || row.rung.kind == Kind::library) continue;
    auto run = place.runner(row.rung.id, Overflow::checked);
    if (succeeds(run)) all.push_back({.name = checked(row.rung.id), .run = std::move(run)});
  }
  return all;
}

/// What the contenders' times say of the machine and of every rung.
void take_figures(Instance& instance, Place& place, const std::vector<Contender>& timed) {
  Group& group = instance.group;
  const double copy = median_of(timed, "copy");
  const double read = median_of(timed, "read");
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
    if (const Contender* with_checks = find(timed, checked(row.rung.id))) row.checked_s = with_checks->median();
    place.add_details(row, own->run);
  }
}

void Climber::time(Instance& instance, Place& place) const {
  std::vector<Contender> all = contenders(instance, place);
  const bool has_peers = place.backend() == Backend::cpu && request_.rung.empty();
  std::vector<Peer> peers = has_peers ? instance.peers() : std::vector<Peer>();
  for (const Peer& peer : peers) all.push_back({.name = std::string(peer.row.rung.id), .run = peer.run});
  progress_("timing " + std::to_string(all.size()) + " contenders on " + std::to_string(instance.group.n));
  time_in_turn(all, place.clock(), kBudget);
  take_figures(instance, place, all);
  for (Peer& peer : peers) {
    peer.row.median_s = median_of(all, peer.row.rung.id) / peer.share;
    instance.group.rows.push_back(std::move(peer.row));
  }
  if (has_peers) instance.finish(request_);
}

Group Climber::climb(Instance& instance, Place& place) {
  Group& group = instance.group;
  group.device = place.device();
  for (const RungInfo& rung : problem_.rungs) {
    if (!is_wanted(rung, place.backend()) || !instance.takes(rung)) continue;
    group.rows.push_back({.rung = rung, .bytes = instance.bytes(rung)});
  }
  if (group.rows.empty()) return std::move(group);
  for (int which = 0; which < instance.fills(); ++which) {
    instance.fill(which);
    place.upload();
    for (Row& row : group.rows) {
      if (which == 0 || row.status == RowStatus::verified) verify(row, instance, place, which == 0);
    }
  }
  const auto measured_itself = [](const Row& row) { return row.median_s > 0; };
  if (std::none_of(group.rows.begin(), group.rows.end(), measured_itself)) time(instance, place);
  return std::move(group);
}

const RungInfo* wanted_rung(const ClimbRequest& request, const ProblemInfo& problem) {
  if (request.rung.empty()) return nullptr;
  std::string ids;
  for (const RungInfo& rung : problem.rungs) {
    if (rung.id == request.rung) return &rung;
    ids.append(ids.empty() ? "" : ", ").append(rung.id);
  }
  throw Error(Code::unknown_rung,
              "the " + std::string(problem.name) + " ladder has no rung '" + request.rung + "'; it has: " + ids);
}

}  // namespace

std::string_view word(RowStatus status) {
  constexpr std::string_view kWords[] = {"verified", "failed", "skipped"};
  return kWords[static_cast<int>(status)];
}

std::string estimated(double seconds) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), seconds < 99.5 ? "estimated %.2g s" : "estimated %.0f s", seconds);
  return text.data();
}

std::vector<Group> climb(const ClimbRequest& request, const ClimbProgress& progress) {
  const ProblemInfo& info = problem(request.problem);
  const RungInfo* const wanted = wanted_rung(request, info);
  std::vector<Group> groups;
  const auto climb_on = [&](Backend backend, const auto& place_of) {
    const auto runs_here = [&](const RungInfo& rung) {
      return rung.backend() == backend && (wanted == nullptr || wanted->id == rung.id);
    };
    if (std::none_of(info.rungs.begin(), info.rungs.end(), runs_here)) return;
    Climber climber(request, progress, info);
    declaration(info.name).visit_instances(request, backend, [&](Instance& instance) {
      if (instance.group.limit_bytes == 0) instance.group.limit_bytes = instance.group.bytes;
      groups.push_back(climber.climb(instance, *place_of(instance)));
      if (groups.back().rows.empty()) groups.pop_back();
    });
  };
  if (request.on_cpu) climb_on(Backend::cpu, [&](Instance& instance) { return host_place(instance, request.threads); });
  if (request.on_gpu) {
    if (!gpu::is_built()) throw Error(Code::not_built, "this build of upsweep has no CUDA");
    climb_on(Backend::cuda, [](Instance& instance) { return device_place(instance); });
  }
  return groups;
}

}  // namespace upsweep
