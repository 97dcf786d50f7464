// SPDX-License-Identifier: Apache-2.0
// bench/ladder_bench.cpp: inputs, verification and timing of the ladders on the CPU.
#include "ladder_bench.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "aggregate/reference.hpp"
#include "buffer.hpp"
#include "clock.hpp"
#include "core/visit.hpp"
#include "gpu_ladder.hpp"
#include "made.hpp"
#include "ragged/reference.hpp"
#include "scan/reference.hpp"
#include "subset_sum_ladder.hpp"
#include "table.hpp"
#include "upsweep/aggregate.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/ragged.hpp"
#include "upsweep/reduce.hpp"

namespace upsweep::bench {
namespace {

// Seconds for the rounds of one group; the rest of a climb is making and verifying.
constexpr double kBudget = 3;
// Below this a copy is what memcpy does in cache; from here on all threads copy past the caches, as the rungs do.
constexpr std::int64_t kCopyPastCaches = std::int64_t{8} << 20;

/// What differs between the problems at one type and size.
struct Course {
  double bytes = 0;                                                   ///< the least that must be read and written
  std::function<void(const Policy&)> run;                             ///< the public function
  std::function<std::string(const RungInfo&, const Policy&)> verify;  ///< runs it; "" or what is wrong
  std::function<void()> inlined;                                      ///< the serial loop, or empty
  bool checked = false;                                               ///< overflow can be checked
  bool reads_all = false;  ///< nothing is written: the read rate is that of as many bytes as the problem moves
};

std::string wrong_at(std::int64_t index) {
  return index == kNoIndex ? "" : "wrong from index " + std::to_string(index);
}

void poison(void* out, std::int64_t bytes) { std::memset(out, 0xA5, static_cast<std::size_t>(bytes)); }

void copy_or_memcpy(void* to, const void* from, std::int64_t bytes, int threads) {
  if (bytes < kCopyPastCaches) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    copy_bytes(to, from, bytes, threads);
  }
}

/// The serial loop as a caller's compiler sees it.
template <class T>
void loop_scan(const T* in, T* out, std::int64_t n) {
  T total{};
  for (std::int64_t i = 0; i < n; ++i) {
    total = add(total, in[i]);
    out[i] = total;
  }
}

template <class T>
T loop_reduce(const T* in, std::int64_t n) {
  T total{};
  for (std::int64_t i = 0; i < n; ++i) total = add(total, in[i]);
  return total;
}

// ------------------------------------------------------------------------------------------------- running a course

class Climber {
 public:
  Climber(const LadderRequest& request, const Progress& progress) : request_(request), progress_(progress) {}

  /// Verifies every rung on `exact_course`, if there is one, and on `course`; then times them on the latter.
  Group climb(Group group, const Course& course, const Course* exact_course);

 private:
  [[nodiscard]] bool too_slow(Row& row, std::int64_t n) const;
  void verify(Row& row, const Course& course, const Course* exact_course, std::int64_t n);

  const LadderRequest& request_;
  const Progress& progress_;
  struct Seen {
    std::int64_t n;
    double seconds;
  };
  std::map<std::string, Seen, std::less<>> seen_;  // the last time of every rung, to extrapolate from
};

bool Climber::too_slow(Row& row, std::int64_t n) const {
  const auto seen = seen_.find(row.rung.id);
  if (seen == seen_.end() || seen->second.n == 0) return false;
  const double estimate = seen->second.seconds * static_cast<double>(n) / static_cast<double>(seen->second.n);
  if (estimate <= request_.max_seconds) return false;
  row.reason = estimated(estimate);
  return true;
}

void Climber::verify(Row& row, const Course& course, const Course* exact_course, std::int64_t n) {
  if (too_slow(row, n)) return;
  const Policy policy = request_.policy.with_rung(row.rung.id);
  try {
    if (exact_course != nullptr) row.reason = exact_course->verify(row.rung, policy);
    if (row.reason.empty()) row.reason = course.verify(row.rung, policy);
    row.status = row.reason.empty() ? RowStatus::verified : RowStatus::failed;
    seen_[std::string(row.rung.id)] = {n, seconds_of([&] { course.run(policy); })};
  } catch (const Error& error) {
    row.reason = error.what();
    row.status = error.code() == Code::unsupported ? RowStatus::skipped : RowStatus::failed;
    const std::string prefix = std::string(row.rung.id) + ": ";
    if (row.reason.starts_with(prefix)) row.reason.erase(0, prefix.size());
  }
}

/// Whether a checked run ends well: on real columns sums may leave their type.
bool fits(const Course& course, const Policy& checked) {
  try {
    course.run(checked);
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::overflow || error.code() == Code::unsupported) return false;
    throw;
  }
}

Group Climber::climb(Group group, const Course& course, const Course* exact_course) {
  for (const auto& rung : ladder(group.problem)) {
    if (rung.backend() != Backend::cpu || (!request_.rung.empty() && rung.id != request_.rung)) continue;
    Row row{.rung = rung, .bytes = course.bytes};
    progress_("verifying " + std::string(rung.id) + " on " + std::to_string(group.n));
    verify(row, course, exact_course, group.n);
    group.rows.push_back(std::move(row));
  }

  std::vector<Contender> contenders;
  const auto half = static_cast<std::int64_t>(course.bytes / 2);
  Buffer<std::byte> from(half);
  Buffer<std::byte> to(half);
  poison(from.data(), half);
  poison(to.data(), half);
  const int threads = request_.policy.threads;
  const auto copy = [&] { copy_or_memcpy(to.data(), from.data(), half, threads); };
  contenders.push_back({.name = "copy", .run = copy, .samples = {}});
  const std::int64_t read = course.reads_all ? static_cast<std::int64_t>(course.bytes) : half;
  Buffer<std::byte> all(course.reads_all ? read : 0);
  if (course.reads_all) poison(all.data(), read);
  const std::byte* const readable = course.reads_all ? all.data() : from.data();
  contenders.push_back({.name = "read", .run = [&] { (void)read_bytes(readable, read, threads); }, .samples = {}});
  if (course.inlined) contenders.push_back({.name = "inlined", .run = course.inlined, .samples = {}});
  const Policy any = request_.policy;
  const bool all_rungs = request_.rung.empty();
  if (all_rungs) contenders.push_back({.name = "api", .run = [&course, any] { course.run(any); }, .samples = {}});
  for (const Row& row : group.rows) {
    if (row.status != RowStatus::verified) continue;
    const Policy policy = request_.policy.with_rung(row.rung.id);
    contenders.push_back(
        {.name = std::string(row.rung.id), .run = [&course, policy] { course.run(policy); }, .samples = {}});
    const Policy checked = policy.with_overflow(Overflow::checked);
    if (!course.checked || row.rung.kind == Kind::library || !fits(course, checked)) continue;
    contenders.push_back({.name = std::string(row.rung.id) + " checked",
                          .run = [&course, checked] { course.run(checked); },
                          .samples = {}});
  }
  progress_("timing " + std::to_string(contenders.size()) + " contenders on " + std::to_string(group.n));
  time_in_turn(contenders, kBudget);

  std::map<std::string, double, std::less<>> medians;
  for (const auto& contender : contenders) medians[contender.name] = median(contender.samples);
  group.copy_bytes_per_s = 2.0 * static_cast<double>(half) / medians["copy"];
  group.read_bytes_per_s = static_cast<double>(read) / medians["read"];
  group.inlined_s = medians["inlined"];
  group.api_s = medians["api"];
  for (Row& row : group.rows) {
    row.median_s = medians[std::string(row.rung.id)];
    const auto checked = medians.find(std::string(row.rung.id) + " checked");
    if (checked != medians.end()) row.checked_s = checked->second;
  }
  return group;
}

// ------------------------------------------------------------------------------------------------------ the problems

/// Where a course takes its input from: made numbers in a buffer, or a column as it is.
template <class T>
struct Source {
  explicit Source(std::int64_t n) : made(n), data(made.data()) {}
  explicit Source(const Column& column) : made(0), data(static_cast<const T*>(column.data.get())) {}
  Buffer<T> made;
  const T* data;
};

template <class T>
Group climb_scan(Climber& climber, Group group, Source<T>& source, const Policy& base) {
  const std::int64_t n = group.n;
  const bool made = source.data == source.made.data();
  Buffer<T> out(n);
  poison(out.data(), n * std::int64_t{sizeof(T)});
  Course course;
  course.bytes = 2.0 * static_cast<double>(n) * sizeof(T);
  course.run = [&](const Policy& policy) { inclusive_scan(policy, source.data, n, out.data()); };
  course.verify = [&](const RungInfo& rung, const Policy& policy) {
    if (made && std::is_floating_point_v<T>) fill_fractions(source.made.data(), n);
    poison(out.data(), n * std::int64_t{sizeof(T)});
    course.run(policy);
    if constexpr (std::is_floating_point_v<T>) {
      return wrong_at(scan::first_beyond(scan::SumReference(), source.data, out.data(), n, false, rung.float_bound));
    } else {
      return wrong_at(scan::first_wrong(scan::ExactReference<T, Add>(add), source.data, out.data(), n, false));
    }
  };
  Course exact = course;
  exact.verify = [&](const RungInfo&, const Policy& policy) {
    fill_whole(source.made.data(), n);
    poison(out.data(), n * std::int64_t{sizeof(T)});
    course.run(policy);
    return wrong_at(scan::first_wrong(scan::ExactReference<T, Add>(add), source.data, out.data(), n, false));
  };
  course.inlined = [&] { loop_scan(source.data, out.data(), n); };
  course.checked = std::is_integral_v<T> && (!made || sizeof(T) >= 4);
  if (made) fill_whole(source.made.data(), n);
  if (n > 0) group.api_rung = inclusive_scan(base, source.data, n, out.data()).rung;
  return climber.climb(std::move(group), course, made && std::is_floating_point_v<T> ? &exact : nullptr);
}

template <class T>
Group climb_reduce(Climber& climber, Group group, Source<T>& source, const Policy& base) {
  const std::int64_t n = group.n;
  const bool made = source.data == source.made.data();
  T value{};
  Course course;
  course.bytes = static_cast<double>(n) * sizeof(T);
  course.run = [&](const Policy& policy) { value = reduce(policy, source.data, n, T{}).value; };
  course.verify = [&](const RungInfo& rung, const Policy& policy) -> std::string {
    if (made && std::is_floating_point_v<T>) fill_fractions(source.made.data(), n);
    course.run(policy);
    if constexpr (std::is_floating_point_v<T>) {
      scan::SumReference sum;
      for (std::int64_t i = 0; i < n; ++i) sum.next(source.data[i]);
      return scan::is_close(sum, value, rung.float_bound.factor(n, n)) ? "" : "wrong value";
    } else {
      return value == loop_reduce(source.data, n) ? "" : "wrong value";
    }
  };
  Course exact = course;
  exact.verify = [&](const RungInfo&, const Policy& policy) -> std::string {
    fill_whole(source.made.data(), n);
    course.run(policy);
    return value == loop_reduce(source.data, n) ? "" : "wrong value";
  };
  course.inlined = [&] { value = loop_reduce(source.data, n); };
  course.checked = std::is_integral_v<T> && (!made || sizeof(T) >= 4);
  if (made) fill_whole(source.made.data(), n);
  group.api_rung = reduce(base, source.data, n, T{}).rung;
  return climber.climb(std::move(group), course, made && std::is_floating_point_v<T> ? &exact : nullptr);
}

template <class T>
Group climb_ragged(Climber& climber, Group group, const T* starts, const T* stops, const Policy& base) {
  const std::int64_t n = group.n;
  Buffer<std::int64_t> offsets(n + 1);
  poison(offsets.data(), (n + 1) * 8);
  Course course;
  // Bounds that starts and stops share are read once.
  course.bytes = static_cast<double>(n) * ((stops == starts + 1 ? 1.0 : 2.0) * sizeof(T) + 8.0);
  course.run = [&](const Policy& policy) { compact_offsets(policy, starts, stops, n, offsets.data()); };
  course.verify = [&](const RungInfo&, const Policy& policy) {
    poison(offsets.data(), (n + 1) * 8);
    course.run(policy);
    return wrong_at(ragged::first_wrong(starts, stops, n, offsets.data()));
  };
  course.inlined = [&] {
    offsets[0] = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (stops[i] < starts[i]) return;
      offsets[i + 1] = offsets[i] + (static_cast<std::int64_t>(stops[i]) - static_cast<std::int64_t>(starts[i]));
    }
  };
  group.api_rung = compact_offsets(base, starts, stops, n, offsets.data()).rung;
  return climber.climb(std::move(group), course, nullptr);
}

Group climb_aggregate(Climber& climber, Group group, const Table& table, const LadderRequest& request) {
  const std::int64_t n = group.n;
  const std::uint32_t limit = request.limit;
  constexpr std::int64_t kLine = 64;
  const std::int64_t expected = aggregate::expected_sum(table.key(), table.quantity(), table.price(), n, limit);
  group.filter = Filter{limit, aggregate::expected_rows(table.key(), n, limit), expected};
  std::int64_t sum = 0;
  Course course;
  course.bytes =
      static_cast<double>(aggregate::expected_bytes(table.key(), table.quantity(), table.price(), n, limit, kLine));
  course.reads_all = true;
  course.run = [&](const Policy& policy) {
    sum = select_sum(policy, table.key(), table.quantity(), table.price(), n, limit);
  };
  course.verify = [&](const RungInfo&, const Policy& policy) -> std::string {
    sum = ~expected;
    course.run(policy);
    return sum == expected ? "" : "wrong value";
  };
  course.inlined = [&] {
    std::uint64_t total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (table.key()[i] >= limit) continue;
      total += static_cast<std::uint64_t>(table.quantity()[i]) * static_cast<std::uint64_t>(table.price()[i]);
    }
    sum = static_cast<std::int64_t>(total);
  };
  group.api_rung = select_sum(request.policy, table.key(), table.quantity(), table.price(), n, limit).rung;
  return climber.climb(std::move(group), course, nullptr);
}

/// Lists anywhere, then lists that lie one behind the other.
template <class T>
std::vector<Group> climb_made_lists(const LadderRequest& request, Climber& climber, Group group) {
  std::vector<Group> groups;
  Buffer<T> starts(group.n);
  Buffer<T> stops(group.n);
  fill_lists(starts.data(), stops.data(), group.n);
  groups.push_back(climb_ragged(climber, group, starts.data(), stops.data(), request.policy));
  fill_adjacent(starts.data(), group.n);  // a buffer has room for one more
  group.input = "adjacent lists";
  groups.push_back(climb_ragged<T>(climber, group, starts.data(), starts.data() + 1, request.policy));
  return groups;
}

Type list_type(const std::vector<Column>& input) {
  const Type type = input[0].type;
  if (input[1].type != type || !is_list_bound(type)) {
    throw Error(Code::unsupported_type, input[0].name + " is " + std::string(name(type)) + ", " + input[1].name + " " +
                                            std::string(name(input[1].type)) + ": both must be int32, uint32 or int64");
  }
  return type;
}

std::string ids_of(const std::vector<RungInfo>& rungs) {
  std::string ids;
  for (const auto& rung : rungs) ids.append(ids.empty() ? "" : ", ").append(rung.id);
  return ids;
}

std::vector<Group> climb_columns(const LadderRequest& request, const Progress& progress) {
  Climber climber(request, progress);
  const Column& column = request.input[0];
  if (column.count == 0) throw Error(Code::empty, column.name + ": has no elements to climb on");
  Group group{.problem = request.problem, .input = column.name, .type = column.type, .n = column.count};
  std::vector<Group> groups;
  if (request.problem == Problem::aggregate) {
    const Table table(request.input);
    group.n = table.rows();
    group.type = Type::int64;
    group.input = table.name();
    groups.push_back(climb_aggregate(climber, group, table, request));
    return groups;
  }
  if (request.problem == Problem::ragged) {
    group.input += " " + request.input[1].name;
    group.n = detail::list_count(column.count, request.input[1].count, 0, 0, -1);
    visit_list_bound(list_type(request.input), [&]<class T>(std::type_identity<T>) {
      groups.push_back(climb_ragged(climber, group, static_cast<const T*>(column.data.get()),
                                    static_cast<const T*>(request.input[1].data.get()), request.policy));
    });
    return groups;
  }
  visit_type(column.type, [&]<class T>(std::type_identity<T>) {
    Source<T> source(column);
    groups.push_back(request.problem == Problem::scan ? climb_scan(climber, group, source, request.policy)
                                                      : climb_reduce(climber, group, source, request.policy));
  });
  return groups;
}

std::vector<Group> climb_made(const LadderRequest& request, const Progress& progress) {
  std::vector<Group> groups;
  for (const Type type : request.types) {
    Climber climber(request, progress);  // one per type: times are extrapolated from size to size
    for (const std::int64_t n : request.sizes) {
      const Group group{.problem = request.problem, .input = "", .type = type, .n = n};
      if (request.problem == Problem::aggregate) {
        groups.push_back(climb_aggregate(climber, group, Table(n), request));
        continue;
      }
      if (request.problem == Problem::ragged) {
        visit_list_bound(type, [&]<class T>(std::type_identity<T>) {
          for (auto& climbed : climb_made_lists<T>(request, climber, group)) groups.push_back(std::move(climbed));
        });
        continue;
      }
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        Source<T> source(n);
        groups.push_back(request.problem == Problem::scan ? climb_scan(climber, group, source, request.policy)
                                                          : climb_reduce(climber, group, source, request.policy));
      });
    }
  }
  return groups;
}

}  // namespace

std::string_view word(RowStatus status) {
  constexpr std::string_view kWords[] = {"verified", "failed", "skipped"};
  return kWords[static_cast<int>(status)];
}

std::vector<Group> climb(const LadderRequest& request, const Progress& progress) {
  const auto rungs = ladder(request.problem);
  const auto is_wanted = [&](const RungInfo& rung) { return rung.id == request.rung; };
  if (!request.rung.empty() && std::none_of(rungs.begin(), rungs.end(), is_wanted)) {
    throw Error(Code::unknown_rung, "the " + std::string(name(request.problem)) + " ladder has no rung '" +
                                        request.rung + "'; it has: " + ids_of(rungs));
  }
  if (request.problem == Problem::subset_sum) return climb_subset_sum(request, progress);
  std::vector<Group> groups;
  const auto chosen = std::find_if(rungs.begin(), rungs.end(), is_wanted);
  const auto wants = [&](Backend backend) { return request.rung.empty() || chosen->backend() == backend; };
  if (request.on_cpu && wants(Backend::cpu)) {
    groups = request.input.empty() ? climb_made(request, progress) : climb_columns(request, progress);
  }
  if (request.on_gpu && wants(Backend::cuda)) {
    for (auto& group : climb_on_gpu(request, progress)) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace upsweep::bench
