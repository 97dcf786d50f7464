// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/instance.cpp: makes the lists of a ladder run, calls the rungs, and checks their order.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "climb/generated.hpp"
#include "climb/generated_lists.hpp"
#include "problems/lists/segmented_sort/reference.hpp"
#include "problems/lists/segmented_sort/rung.hpp"
#include "upsweep/segmented_sort.hpp"

namespace upsweep::impl::segmented_sort {
namespace {

/// The output of a sort.
enum class Of : std::uint8_t { elements, positions };

template <class T>
class SortInstance final : public Instance {
 public:
  SortInstance(std::vector<std::int64_t> offsets, Elements<T> content, std::int64_t n, Of of, const std::string& input)
      : lists_(std::ssize(offsets) - 1),
        offsets_(std::move(offsets)),
        content_(std::move(content)),
        of_(of),
        out_(of == Of::elements ? n : 0),
        positions_(of == Of::positions ? n : 0) {
    const char* const what = of == Of::elements ? "segmented-sort of " : "segmented-sort, positions, of ";
    group.title = what + grouped(n) + " " + std::string(name(type_of<T>())) + " in " + grouped(lists_) + " lists";
    group.input = input;
    group.type = type_of<T>();
    group.n = n;
    const double out_size = of == Of::elements ? sizeof(T) : sizeof(std::int64_t);
    group.bytes = static_cast<double>(n) * (sizeof(T) + out_size) + static_cast<double>(lists_) * 8;
    group.facts = {{"lists", lists_}};
    for (std::size_t i = 1; i < offsets_.size(); ++i) longest_ = std::max(longest_, offsets_[i] - offsets_[i - 1]);
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    const bool positions = of_ == Of::positions;
    return {{offsets_.data(), (lists_ + 1) * 8, false},
            {content_.data(), group.n * std::int64_t{sizeof(T)}, false},
            {positions ? static_cast<void*>(positions_.data()) : out_.data(),
             group.n * (positions ? std::int64_t{sizeof(std::int64_t)} : std::int64_t{sizeof(T)}), true},
            {&status_, sizeof status_, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    const Lists lists = lists_within(at, n);
    const T* const content = static_cast<const T*>(at[1]);
    status_ = {kNoIndex, Code::ok};  // an error would have thrown
    if (of_ == Of::elements) return upsweep::segmented_sort(policy, lists, content, n, static_cast<T*>(at[2]), n).rung;
    return segmented_argsort(policy, lists, content, n, static_cast<std::int64_t*>(at[2]), n).rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    const Lists lists = lists_within(at, n);
    const bool positions = of_ == Of::positions;
    auto call = detail::segmented_sort_call(lists, static_cast<const T*>(at[1]), n,
                                            positions ? nullptr : static_cast<T*>(at[2]),
                                            positions ? static_cast<std::int64_t*>(at[2]) : nullptr, n, {});
    call.status = static_cast<gpu::ListsStatus*>(at[3]);
    call.waits = policy.rung == kWaiting;
    return detail::run_segmented_sort(policy, call);
  }
  /// Returns false: all rungs leave their outcome on the device.
  [[nodiscard]] bool waits(const RungInfo&) const override { return false; }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    if (of_ == Of::elements) return gpu::segmented_sort_workspace<T>(policy, lists_, group.n);
    return gpu::segmented_argsort_workspace<T>(policy, lists_, group.n);
  }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (status_.code != Code::ok) return "finds list " + std::to_string(status_.first_bad) + " bad";
    if (expected_.empty()) expect();
    for (std::int64_t i = 0; i < lists_; ++i) {
      const std::int64_t start = offsets_[static_cast<std::size_t>(i)];
      const std::int64_t end = offsets_[static_cast<std::size_t>(i) + 1];
      for (std::int64_t j = start; j < end; ++j) {
        if (is_right(start, j)) continue;
        return "wrong in list " + std::to_string(i) + " from its element " + std::to_string(j - start);
      }
    }
    return "";
  }
  /// Estimates the time of rungs that sort a long list with one thread, warp or block.
  std::optional<double> estimate(const RungInfo& rung) override {
    const auto m = static_cast<double>(longest_);
    if (rung.id == "cuda.thread_per_list" && m > 1000) return m * m * 1e-8;
    if (rung.id == "cuda.warp_per_list" && m > 10000) return m * m * 1e-10;
    if (rung.id == "cuda.block_per_list" && m > 1e6) return m * std::log2(m / 4096) * 5e-9;
    if (rung.id == "cuda.cub" && m > 1e6) return m * 1e-8;
    return std::nullopt;
  }

 private:
  /// The only rung that supports only calls that wait.
  static constexpr std::string_view kWaiting = "cuda.cub";

  void expect() {
    expected_.reserve(static_cast<std::size_t>(group.n));
    for (std::size_t i = 1; i < offsets_.size(); ++i) {
      const auto list =
          expected_positions(content_.data() + offsets_[i - 1], 0, offsets_[i] - offsets_[i - 1], false, false);
      expected_.insert(expected_.end(), list.begin(), list.end());
    }
  }
  [[nodiscard]] bool is_right(std::int64_t start, std::int64_t j) const {
    const std::int64_t right = expected_[static_cast<std::size_t>(j - offsets_[0])];
    if (of_ == Of::positions) return positions_.data()[j] == right;
    return same_bytes(out_.data() + j, content_.data() + start + right, sizeof(T));
  }
  /// Returns the lists of these arrays within the first n elements.
  [[nodiscard]] Lists lists_within(Arrays at, std::int64_t n) const {
    return Lists::by_offsets(static_cast<const std::int64_t*>(at[0]), count_within(offsets_.data(), lists_, n));
  }

  std::int64_t lists_;
  std::vector<std::int64_t> offsets_;
  Elements<T> content_;
  Of of_;
  cpu::Pages<T> out_;
  cpu::Pages<std::int64_t> positions_;
  gpu::ListsStatus status_{};
  std::int64_t longest_ = 0;
  std::vector<std::int64_t> expected_;  ///< sorted positions, computed on the first request
};

/// Fills an array with random elements of any value.
template <class T>
void fill_random(T* out, std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    fill_fractions(out, n);
  } else {
    std::mt19937_64 random(46);
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(random());
  }
}

constexpr InputInfo kInputs[] = {{.name = "OFFSETS", .type = Type::int64, .whole = true}, {.name = "CONTENT"}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr std::string_view kOutputs[] = {"elements", "positions"};
constexpr SettingInfo kSettings[] = {kListSetting,
                                     {.name = "sorted",
                                      .help = "output of the sort: elements, or their positions (default: elements)",
                                      .choices = kOutputs}};

void visit_given(const std::vector<Column>& input, Of of, const Problem::Visit& visit) {
  const auto* const offsets = static_cast<const std::int64_t*>(input[0].data.get());
  if (input[0].count == 0) throw Error(Code::empty, input[0].name + ": has no offsets to climb on");
  visit_type(input[1].type, [&]<class T>(std::type_identity<T>) {
    SortInstance<T> instance(std::vector<std::int64_t>(offsets, offsets + input[0].count), Elements<T>(input[1]),
                             input[1].count, of, input[0].name + " " + input[1].name);
    visit(instance);
  });
}

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  const auto of = static_cast<Of>(setting(request, "sorted").value_or(Setting{}).value);
  if (!request.input.empty()) return visit_given(request.input, of, visit);
  const ProblemInfo& info = problem(request.problem);
  const ListPattern pattern = list_pattern(request);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        const auto offsets = generated_offsets(pattern, n);
        Elements<T> content(n);
        fill_random(content.data(), n);
        SortInstance<T> instance(offsets, std::move(content), n, of, pattern_name(pattern));
        visit(instance);
      });
    }
  }
}

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "segmented-sort",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kUsualSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kListStudies};

}  // namespace upsweep::impl::segmented_sort
