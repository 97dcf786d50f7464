// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/instance.cpp: makes the lists of a ladder run, calls the rungs, and checks their offsets.
#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "climb/generated.hpp"
#include "climb/guest.hpp"
#include "problems/lists/offsets/reference.hpp"
#include "problems/lists/offsets/rung.hpp"
#include "upsweep/offsets.hpp"

namespace upsweep::impl::offsets {
namespace {

/// Makes lists of 0 to 8 elements, a third of them empty, at random places of an array.
template <class T>
void fill_lists(T* starts, T* stops, std::int64_t n) {
  std::mt19937_64 random(44);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = random();
    const auto length = bits % 3 == 0 ? 0 : (bits >> 8) % 9;
    starts[i] = static_cast<T>((bits >> 16) % 1000000);
    stops[i] = static_cast<T>(starts[i] + static_cast<T>(length));
  }
}

/// Makes n + 1 bounds of adjacent lists: lists have four elements, and none once the type's maximum is reached.
template <class T>
void fill_adjacent(T* bounds, std::int64_t n) {
  constexpr auto kMost = static_cast<std::int64_t>(std::numeric_limits<T>::max());
  for (std::int64_t i = 0; i <= n; ++i) bounds[i] = static_cast<T>(std::min(4 * i, kMost));
}

/// Adjacent lists have one array of bounds: stops are its elements from the second on.
enum class Placement : std::uint8_t { anywhere, adjacent };

template <class T>
class OffsetsInstance final : public Instance {
 public:
  OffsetsInstance(Elements<T> starts, Elements<T> stops, std::int64_t n, const std::string& input, Placement placement)
      : starts_(std::move(starts)), stops_(std::move(stops)), placement_(placement), offsets_(n + 1) {
    group.title = "offsets of " + grouped(n) + " lists, bounds " + std::string(name(type_of<T>()));
    group.input = placement == Placement::adjacent ? "adjacent lists" : input;
    group.type = type_of<T>();
    group.n = n;
    // Bounds that are both starts and stops are read once.
    group.bytes = static_cast<double>(n) * ((placement == Placement::adjacent ? 1.0 : 2.0) * sizeof(T) + 8.0);
    if (!starts_.is_generated()) return;
    if (placement == Placement::adjacent) {
      fill_adjacent(starts_.data(), n);
    } else {
      fill_lists(starts_.data(), stops_.data(), n);
    }
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    const std::int64_t one = sizeof(T);
    const bool adjacent = placement_ == Placement::adjacent;
    return {{starts_.data(), (group.n + (adjacent ? 1 : 0)) * one, false},
            {stops_.data(), adjacent ? 0 : group.n * one, false},
            {offsets_.data(), (group.n + 1) * std::int64_t{sizeof(std::int64_t)}, true},
            {&status_, sizeof status_, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    const auto ran = upsweep::offsets(policy, starts(at), stops(at), n, static_cast<std::int64_t*>(at[2]));
    status_ = {.first_bad = kNoIndex, .total = ran.total, .code = Code::ok};  // an error would have thrown
    return ran.rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    return offsets_async(policy, starts(at), stops(at), n, static_cast<std::int64_t*>(at[2]),
                         static_cast<gpu::OffsetsStatus*>(at[3]));
  }
  void run_guest(const GuestPlace& place, Arrays at, std::int64_t n) override {
    guest->call_at<decltype(upsweep_rung_offsets), decltype(upsweep_rung_cuda_offsets)>(
        place, kCType<T>, starts(at), stops(at), n, static_cast<std::int64_t*>(at[2]));
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::offsets_workspace<T>(policy, group.n);
  }
  [[nodiscard]] std::string wrong(const RungInfo& rung) override {
    if (!is_guest(rung) && status_.code != Code::ok) return "finds list " + std::to_string(status_.first_bad) + " bad";
    void* const at[] = {starts_.data(), stops_.data()};
    const std::int64_t wrong = first_wrong(starts(at), stops(at), group.n, offsets_.data());
    if (wrong == kNoIndex) return "";
    std::int64_t expected = 0;
    for (std::int64_t i = 0; i < wrong; ++i) {
      expected += static_cast<std::int64_t>(stops(at)[i]) - static_cast<std::int64_t>(starts(at)[i]);
    }
    return wrong_at(wrong, expected, offsets_[wrong]);
  }
  bool run_inlined() override {
    void* const at[] = {starts_.data(), stops_.data()};
    const T* const from = starts(at);
    const T* const to = stops(at);
    std::int64_t* const offsets = offsets_.data();
    offsets[0] = 0;
    for (std::int64_t i = 0; i < group.n; ++i) {
      if (to[i] < from[i]) return true;
      offsets[i + 1] = offsets[i] + (static_cast<std::int64_t>(to[i]) - static_cast<std::int64_t>(from[i]));
    }
    return true;
  }

 private:
  [[nodiscard]] static const T* starts(Arrays at) { return static_cast<const T*>(at[0]); }
  [[nodiscard]] const T* stops(Arrays at) const {
    return placement_ == Placement::adjacent ? starts(at) + 1 : static_cast<const T*>(at[1]);
  }

  Elements<T> starts_;
  Elements<T> stops_;
  Placement placement_;
  cpu::Pages<std::int64_t> offsets_;
  gpu::OffsetsStatus status_{};
};

constexpr InputInfo kInputs[] = {{.name = "STARTS"}, {.name = "STOPS"}};
constexpr Type kTypes[] = {Type::int32, Type::uint32, Type::int64};
constexpr Type kUsualTypes[] = {Type::int64};

void visit_lists(const std::vector<Column>& input, const Problem::Visit& visit) {
  const Column& starts = input[0];
  const Column& stops = input[1];
  if (starts.count == 0) throw Error(Code::empty, starts.name + ": has no elements to climb on");
  const std::int64_t n = detail::list_count(starts.count, stops.count, 0, 0, -1);
  if (stops.type != starts.type || !is_list_bound(starts.type)) {
    throw Error(Code::unsupported_type, starts.name + " is " + std::string(name(starts.type)) + ", " + stops.name +
                                            " " + std::string(name(stops.type)) +
                                            ": both must be int32, uint32 or int64");
  }
  visit_list_bound(starts.type, [&]<class T>(std::type_identity<T>) {
    OffsetsInstance<T> instance(Elements<T>(starts), Elements<T>(stops), n, starts.name + " " + stops.name,
                                Placement::anywhere);
    visit(instance);
  });
}

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  if (!request.input.empty()) return visit_lists(request.input, visit);
  const ProblemInfo& info = problem(request.problem);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      visit_list_bound(type, [&]<class T>(std::type_identity<T>) {
        OffsetsInstance<T> anywhere(Elements<T>{n}, Elements<T>{n}, n, "", Placement::anywhere);
        visit(anywhere);
      });
      visit_list_bound(type, [&]<class T>(std::type_identity<T>) {
        OffsetsInstance<T> adjacent(Elements<T>{n + 1}, Elements<T>{0}, n, "", Placement::adjacent);
        visit(adjacent);
      });
    }
  }
}

}  // namespace

/// Every 25th length of the figures in the report that ports compact_offsets to CUDA: 10 to 575,010.
constexpr auto kDas = [] {
  std::array<std::int64_t, 24> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = 10 + 25'000 * static_cast<std::int64_t>(i);
  return sizes;
}();
constexpr Type kInt64[] = {Type::int64};
constexpr Study kStudies[] = {{.name = "sizes", .sizes = kSweep},
                              {.name = "das2020", .sizes = kDas, .types = kInt64},
                              {.name = "threads", .sizes = kLarge, .types = kInt64, .scales = true}};

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "offsets",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kUsualSizes};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kStudies};

}  // namespace upsweep::impl::offsets
