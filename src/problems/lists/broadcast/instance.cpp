// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/instance.cpp: makes the lists of a ladder run, calls the rungs, and checks what they write
// for each element.
#include <string>
#include <utility>

#include "climb/list_instance.hpp"
#include "problems/lists/broadcast/reference.hpp"
#include "problems/lists/broadcast/rung.hpp"
#include "upsweep/broadcast.hpp"

namespace upsweep::impl::broadcast {
namespace {

constexpr std::string_view kWritten[] = {"local-index", "parents", "values"};  // in the order of Kind

class BroadcastInstance final : public Instance {
 public:
  BroadcastInstance(const std::vector<std::int64_t>& offsets, Kind kind, const std::string& input)
      : kind_(kind),
        lists_(std::ssize(offsets) - 1),
        elements_(offsets.back()),
        offsets_(as_bounds<std::int64_t>(offsets)),
        values_(kind == Kind::broadcast ? lists_ : 0),
        out_(elements_) {
    if (kind == Kind::broadcast) fill_whole(values_.data(), lists_);
    const std::int64_t values = kind == Kind::broadcast ? lists_ : 0;
    group.title = "broadcast (" + std::string(kWritten[static_cast<int>(kind)]) + ") of " + grouped(elements_) +
                  " elements in " + grouped(lists_) + " lists";
    group.input = input;
    group.type = Type::int64;
    group.n = elements_ == 0 ? lists_ : elements_;
    group.bytes = static_cast<double>(lists_ + 1 + values + elements_) * 8;
    group.facts = {{"lists", lists_}};
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{offsets_.data(), (lists_ + 1) * 8, false},
            {values_.data(), kind_ == Kind::broadcast ? lists_ * 8 : 0, false},
            {out_.data(), elements_ * 8, true},
            {&status_, sizeof status_, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    const auto ran = detail::run_broadcast(policy, call_of(at, n));
    status_ = {.first_bad = kNoIndex, .total = ran.total, .code = Code::ok};  // an error would have thrown
    return ran.rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    return detail::run_broadcast_async(policy, call_of(at, n), static_cast<gpu::PackStatus*>(at[3]));
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::broadcast_workspace(policy, lists_, elements_);
  }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (status_.code != Code::ok) return "finds list " + std::to_string(status_.first_bad) + " bad";
    if (status_.total != elements_) return "finds " + grouped(status_.total) + " elements";
    return wrong_at(
        visit_expected([&](auto expected) { return first_wrong(offsets_.data(), lists_, out_.data(), expected); }));
  }
  bool run_inlined() override {
    visit_expected([&](auto expected) {
      const std::int64_t* const offsets = offsets_.data();
      std::int64_t* out = out_.data();
      for (std::int64_t i = 0; i < lists_; ++i) {
        for (std::int64_t j = 0; j < offsets[i + 1] - offsets[i]; ++j) *out++ = expected(i, j);
      }
      return kNoIndex;
    });
    return true;
  }

 private:
  template <class F>
  std::int64_t visit_expected(F f) {
    switch (kind_) {
      case Kind::local_index:
        return f(LocalIndex{});
      case Kind::parents:
        return f(Parent{});
      case Kind::broadcast:
        return f(ValueOf<std::int64_t>{values_.data()});
    }
    detail::no_such_value();
  }
  [[nodiscard]] Call call_of(Arrays at, std::int64_t n) const {
    const Lists within =
        Lists::by_offsets(static_cast<const std::int64_t*>(at[0]), count_within(offsets_.data(), lists_, n));
    Call call = detail::broadcast_call(within, at[1], 8, at[2], elements_);
    call.kind = kind_;
    return call;
  }

  Kind kind_;
  std::int64_t lists_;
  std::int64_t elements_;
  Elements<std::int64_t> offsets_;
  Elements<std::int64_t> values_;
  cpu::Pages<std::int64_t> out_;
  gpu::PackStatus status_{};
};

constexpr InputInfo kInputs[] = {{.name = "OFFSETS", .type = Type::int64, .whole = true}};
constexpr SettingInfo kSettings[] = {
    kListSetting,
    {.name = "write",
     .help = "what to write for each element: its position, its list, or the list's value (default: local-index)",
     .choices = kWritten}};

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  const auto kind = static_cast<Kind>(setting(request, "write").value_or(Setting{}).value);
  if (!request.input.empty()) {
    BroadcastInstance instance(offsets_of_column(request.input[0]), kind, request.input[0].name);
    return visit(instance);
  }
  const ListPattern pattern = list_pattern(request);
  for (const std::int64_t n : sizes_of(request, problem(request.problem))) {
    BroadcastInstance instance(generated_offsets(pattern, n), kind, pattern_name(pattern));
    visit(instance);
  }
}

}  // namespace

extern constexpr Problem kProblem{
    .info = []() -> ProblemInfo {
      return {
          .name = "broadcast", .rungs = rungs(), .inputs = kInputs, .usual_sizes = kUsualSizes, .settings = kSettings};
    },
    .visit_instances = visit_instances,
    .studies = kListStudies};

}  // namespace upsweep::impl::broadcast
