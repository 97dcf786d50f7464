// SPDX-License-Identifier: Apache-2.0
// tests/partition_rungs_test.cpp: every rung of the partition ladder is compared with its reference. Cases: sizes,
// shares, masks, element sizes, misalignment, threads, instruction sets, and what calls refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "failure.hpp"
#include "problems/dense/partition/reference.hpp"
#include "rungs.hpp"
#include "selections.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::GivenMask;
using tests::GuardedColumn;
using tests::isas;
using tests::make_mask;
using tests::Wide;

constexpr unsigned kShares[] = {0, 1, 50, 90, 100};
// Sizes around a group of a register (4 to 16), a word of marks (64), a block of marks (2^16), and several of these.
constexpr std::int64_t kSizes[] = {0,   1,   2,   7,    8,    9,     15,    16,    17,    63,     64,    65,
                                   127, 128, 129, 1000, 4097, 65535, 65536, 65537, 65600, 131072, 200001};
constexpr std::int64_t kFewSizes[] = {0, 1, 8, 63, 64, 65, 1000, 65537};

std::span<const std::int64_t> sizes() {
  if (tests::kSanitized) return kFewSizes;
  return kSizes;
}

/// Runs the rung that the policy names, on columns of two types at once.
template <class E, class Other>
void check_rung(const Policy& policy, const std::vector<bool>& booleans, std::int64_t first_bit,
                std::int64_t misaligned) {
  SCOPED_TRACE(testing::Message() << policy.rung << " threads " << policy.threads << " isa " << name(policy.isa)
                                  << " n " << booleans.size() << " first bit " << first_bit << " misaligned "
                                  << misaligned);
  const auto n = std::ssize(booleans);
  const std::vector<std::int64_t> order = impl::partition::expected_partition(booleans);
  GivenMask mask(booleans, first_bit);
  GuardedColumn<E> column(n, n, misaligned);
  GuardedColumn<Other> other(n, n + 3, misaligned);
  const SelectColumn columns[] = {column.view(), other.view()};
  detail::PartitionCall call{.mask = mask.view(), .columns = columns};
  const std::string_view ran = detail::run_partition(policy, call);
  if (!policy.rung.empty()) {
    EXPECT_EQ(ran, policy.rung);
  }
  EXPECT_EQ(call.kept, std::count(booleans.begin(), booleans.end(), true));
  EXPECT_EQ(column.complaint(order), "");
  EXPECT_EQ(other.complaint(order), "");
  EXPECT_EQ(partition(policy, mask.view()), call.kept) << "without columns";
}

TEST(PartitionRungs, EverySizeAndShareMatchesTheReference) {
  std::int64_t turn = 0;
  for (const std::int64_t n : sizes()) {
    for (const unsigned share : kShares) {
      ++turn;
      const std::vector<bool> booleans = make_mask(n, share, 3);
      const std::int64_t first_bit = turn % 2 == 0 ? turn % 71 : -1;
      for (const RungInfo& rung : tests::cpu_rungs("partition")) {
        const Policy policy = par.with_rung(rung.id).with_threads(3);
        check_rung<double, std::uint8_t>(policy, booleans, first_bit, turn % 3);
        check_rung<Wide, std::uint16_t>(policy, booleans, first_bit, 0);
      }
      check_rung<float, std::uint8_t>(par, booleans, first_bit, turn % 3);
    }
  }
}

TEST(PartitionRungs, EveryInstructionSetThreadCountAndBitMatchesTheReference) {
  for (const std::int64_t n : {5, 100, 70'003, 270'001}) {
    if (tests::kSanitized && n > 100'000) continue;
    const std::vector<bool> booleans = make_mask(n, 40);
    for (const Isa isa : isas()) {
      for (const int threads : {1, 2, 3, 4}) {
        const Policy policy = par.with_isa(isa).with_threads(threads).with_rung("cpu.compress");
        check_rung<std::uint8_t, std::uint16_t>(policy, booleans, -1, threads - 1);
        check_rung<std::uint32_t, std::uint64_t>(policy, booleans, threads, threads - 1);
        check_rung<Wide, std::uint8_t>(policy, booleans, 64 + threads, threads - 1);
      }
    }
  }
}

TEST(PartitionRungs, EveryElementAloneIsFirst) {
  // No lane, word or block border is lost, and every bit of a bitmap belongs to the right element.
  for (std::int64_t kept = 0; kept < 300; ++kept) {
    for (const bool others : {false, true}) {
      std::vector<bool> booleans(300, others);
      booleans[static_cast<std::size_t>(kept)] = !others;
      for (const Isa isa : isas()) {
        const Policy policy = seq.with_isa(isa).with_rung("cpu.compress");
        check_rung<std::uint64_t, std::uint8_t>(policy, booleans, kept % 2 == 0 ? kept % 19 : -1, 0);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(PartitionApi, RunsTheTopRungOrTheOneThatIsNamed) {
  const std::vector<std::uint8_t> mask{1, 0, 1};
  const std::vector<int> content{1, 2, 3};
  std::vector<int> out(3);
  const SelectColumn column(content, out);
  detail::PartitionCall call{.mask = mask, .columns = std::span(&column, 1)};
  EXPECT_EQ(detail::run_partition(par, call), "cpu.compress");
  EXPECT_EQ(out, (std::vector<int>{1, 3, 2}));
  EXPECT_EQ(detail::run_partition(par.with_rung("cpu.serial"), call), "cpu.serial");
  EXPECT_EQ(partition(par, mask, content, out), 2);
  EXPECT_EQ(code_of([&] { partition(par.with_rung("cpu.quick"), mask, content, out); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { partition(par.with_rung("cuda.ranks"), mask, content, out); }), tests::code_of_gpu_rung());
}

TEST(PartitionApi, SaysWhatIsWrong) {
  const std::vector<std::uint8_t> mask{1, 0, 1};
  const std::vector<int> content{1, 2, 3};
  std::vector<int> out(3);
  const SelectColumn of_three(content.data(), 3, out.data(), 3, 3);
  EXPECT_EQ(code_of([&] { partition(par, mask, content, std::span(out.data(), 2)); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { partition(par, std::vector<std::uint8_t>(4), content, out); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { partition(par, mask, of_three); }), Code::unsupported_type);
  EXPECT_EQ(code_of([&] { partition(par, Mask{}); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { partition(par, Mask::bytes(nullptr, 3), content, out); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { partition(par, mask, out, out); }), Code::invalid_argument) << "in place";
  EXPECT_EQ(code_of([&] { partition(par.with_threads(-1), mask, content, out); }), Code::invalid_argument);
  EXPECT_EQ(partition(par, std::vector<std::uint8_t>{}), 0);
}

}  // namespace
}  // namespace upsweep
