// SPDX-License-Identifier: Apache-2.0
// segmented_scan/instance.cpp: the segmented-scan problem as the climber sees it: its lists, their running sums, and whether
// these are right.
#include <cstring>
#include <utility>

#include "core/generated_lists.hpp"
#include "core/lists.hpp"
#include "segmented_scan/reference.hpp"
#include "segmented_scan/rung.hpp"
#include "upsweep/segmented_scan.hpp"

namespace upsweep::segmented_scan {
namespace {

/// Running sums of lists given by offsets.
template <class T, class Bound>
class RunningSumsInstance final : public Instance {
 public:
  RunningSumsInstance(Elements<Bound> offsets, std::int64_t lists, Elements<T> content, std::int64_t n,
                      const std::string& input)
      : offsets_(std::move(offsets)), content_(std::move(content)), lists_(lists), sums_(n) {
    group.title =
        "segmented-scan of " + grouped(n) + " " + std::string(name(type_of<T>())) + " in " + grouped(lists) + " lists";
    group.input = input;
    group.type = type_of<T>();
    group.n = n;
    group.bytes = static_cast<double>(2 * n * std::int64_t{sizeof(T)} + (lists + 1) * std::int64_t{sizeof(Bound)});
  }

  [[nodiscard]] int fills() const override { return content_.is_generated() && std::is_floating_point_v<T> ? 2 : 1; }
  void fill(int which) override {
    if (!content_.is_generated()) return;
    if (which < fills() - 1) {
      fill_fractions(content_.data(), group.n);
    } else {
      fill_whole(content_.data(), group.n);
    }
  }
  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{content_.data(), group.n * std::int64_t{sizeof(T)}, false},
            {offsets_.data(), (lists_ + 1) * std::int64_t{sizeof(Bound)}, false},
            {sums_.data(), group.n * std::int64_t{sizeof(T)}, true}};
  }
  /// On the first n elements: lists that end there or before.
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    return segmented_inclusive_scan(policy, Lists::by_offsets(static_cast<const Bound*>(at[1]), lists_within(n)),
                                    static_cast<const T*>(at[0]), n, static_cast<T*>(at[2]))
        .rung;
  }
  std::string_view run(const gpu::Policy&, Arrays, std::int64_t) override {
    throw Error(Code::unsupported, "no rung of the segmented-scan ladder runs on a GPU");
  }
  [[nodiscard]] bool is_checkable() const override { return std::is_integral_v<T> && sizeof(T) >= 4; }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    std::vector<T> right;
    for (std::int64_t i = 0; i < lists_; ++i) {
      const auto first = static_cast<std::int64_t>(offsets_.data()[i]);
      const auto last = static_cast<std::int64_t>(offsets_.data()[i + 1]);
      right.resize(static_cast<std::size_t>(last - first));
      expected_scan(content_.data() + first, 0, last - first, Add{}, T{0}, false, right.data());
      for (std::int64_t j = first; j < last; ++j) {
        const T& one = right[static_cast<std::size_t>(j - first)];
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are promised
        if (std::memcmp(&one, sums_.data() + j, sizeof(T)) != 0) return wrong_at(j);
      }
    }
    return "";
  }
  bool run_inlined() override {
    const Bound* const offsets = offsets_.data();
    const T* const content = content_.data();
    T* const sums = sums_.data();
    for (std::int64_t i = 0; i < lists_; ++i) {
      T sum{0};
      for (auto j = static_cast<std::int64_t>(offsets[i]); j < static_cast<std::int64_t>(offsets[i + 1]); ++j) {
        sum = add(sum, content[j]);
        sums[j] = sum;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] std::int64_t lists_within(std::int64_t n) const {
    if (n == group.n) return lists_;
    const Bound* const begin = offsets_.data();
    return std::upper_bound(begin, begin + lists_ + 1, static_cast<Bound>(n)) - begin - 1;
  }

  Elements<Bound> offsets_;
  Elements<T> content_;
  std::int64_t lists_;
  cpu::Pages<T> sums_;
};

constexpr InputInfo kInputs[] = {{.name = "OFFSETS"}, {.name = "CONTENT"}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr std::int64_t kSizes[] = {3'000, 3'000'000, 30'000'000};
constexpr SettingInfo kSettings[] = {kListSetting};

void visit_columns(const std::vector<Column>& input, const Problem::Visit& visit) {
  const Column& offsets = input[0];
  const Column& content = input[1];
  if (!is_list_bound(offsets.type)) {
    throw Error(Code::unsupported_type,
                offsets.name + " is " + std::string(name(offsets.type)) + ": offsets are int32, uint32 or int64");
  }
  const std::int64_t lists = detail::lists_of_offsets(offsets.count);
  visit_list_bound(offsets.type, [&]<class Bound>(std::type_identity<Bound>) {
    visit_type(content.type, [&]<class T>(std::type_identity<T>) {
      const auto* const bounds = static_cast<const Bound*>(offsets.data.get());
      for (std::int64_t i = 0; i < lists; ++i) {  // the inlined loop and the reference trust them
        const auto start = static_cast<std::int64_t>(bounds[i]);
        const auto stop = static_cast<std::int64_t>(bounds[i + 1]);
        const Code code = check_list(start, stop, content.count);
        if (code != Code::ok) throw_bad_list(code, i, start, stop, content.count);
      }
      RunningSumsInstance<T, Bound> instance(Elements<Bound>(offsets), lists, Elements<T>(content), content.count,
                                             offsets.name + " " + content.name);
      visit(instance);
    });
  });
}

void visit_instances(const ClimbRequest& request, Backend backend, const Problem::Visit& visit) {
  if (backend == Backend::cuda) return;
  if (!request.input.empty()) return visit_columns(request.input, visit);
  const ProblemInfo& info = problem(request.problem);
  const ListPattern pattern = list_pattern(request);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      const std::vector<std::int64_t> offsets = generated_offsets(pattern, n);
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        RunningSumsInstance<T, std::int64_t> instance(as_bounds<std::int64_t>(offsets), std::ssize(offsets) - 1,
                                                      Elements<T>(n), n, pattern_name(pattern));
        visit(instance);
      });
    }
  }
}

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "segmented-scan",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances};

}  // namespace upsweep::segmented_scan
