// SPDX-License-Identifier: Apache-2.0
// tests/cuda_c_lists_test.cpp: the functions of upsweep.h on lists, masks, columns and keys on a GPU: their return
// values and outputs must equal those on the host.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "upsweep/upsweep.h"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::GpuTest;
using tests::require;

using Numbers = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

/// Arrays of int64 and bytes, in the memory of a place.
class Memory {
 public:
  explicit Memory(int device) : device_(device) { place.device = device; }

  upsweep_array array(const Numbers& numbers) {
    return {store(numbers.data(), numbers.size() * sizeof(std::int64_t)), std::ssize(numbers), UPSWEEP_INT64};
  }
  upsweep_array bytes(const Bytes& bytes) {
    return {store(bytes.data(), bytes.size()), std::ssize(bytes), UPSWEEP_UINT8};
  }
  upsweep_lists offsets(const Numbers& numbers) { return {UPSWEEP_BY_OFFSETS, array(numbers)}; }
  upsweep_lists bounds(const Numbers& starts, const Numbers& stops) {
    return {UPSWEEP_BY_BOUNDS, array(starts), array(stops)};
  }
  /// One byte per boolean.
  upsweep_mask mask(const Bytes& booleans) { return {store(booleans.data(), booleans.size()), std::ssize(booleans)}; }
  /// A column of int64, and its new output.
  upsweep_column column(const Numbers& content, std::int64_t capacity) {
    return {array(content).data, std::ssize(content), array(Numbers(static_cast<std::size_t>(capacity), -7)).data,
            capacity, 8};
  }

  /// Appends int64 elements, copied to the host, to those fetched before.
  void fetch(const void* data, std::int64_t count) {
    const std::size_t before = fetched.size();
    fetched.resize(before + static_cast<std::size_t>(count));
    const auto bytes = static_cast<std::size_t>(count) * sizeof(std::int64_t);
    if (device_ == UPSWEEP_HOST) {
      std::memcpy(fetched.data() + before, data, bytes);
    } else {
      require(cudaMemcpy(fetched.data() + before, data, bytes, cudaMemcpyDeviceToHost));
    }
  }
  void fetch(const upsweep_array& array) { fetch(array.data, array.length); }

  upsweep_place place = UPSWEEP_PLACE_DEFAULT;
  upsweep_result result = {};
  Numbers fetched = {};

 private:
  void* store(const void* from, std::size_t bytes) {
    if (device_ == UPSWEEP_HOST) {
      auto& kept = host_.emplace_back(bytes + 1);  // not null if there are no bytes
      if (bytes > 0) std::memcpy(kept.data(), from, bytes);
      return kept.data();
    }
    auto& kept = there_.emplace_back(static_cast<std::int64_t>(bytes));
    tests::copy_in(kept.data(), from, bytes);
    return kept.data();
  }

  int device_;
  std::deque<std::vector<std::byte>> host_ = {};
  std::deque<DeviceArray<std::byte>> there_ = {};
};

/// Makes a call, and returns how it ended. If it succeeded, the call fetches its outputs.
using Call = std::function<int(Memory&)>;

class CListsOnDevice : public GpuTest {
 protected:
  /// Checks that the device and the host produce the same results, if the call ends with `code`.
  static void expect_same(const std::string& code, const Call& call) {
    Memory host(UPSWEEP_HOST);
    Memory device(0);
    const int status = call(host);
    EXPECT_EQ(host.result.code, code) << host.result.message;
    EXPECT_EQ(call(device), status);
    EXPECT_STREQ(device.result.code, host.result.code) << device.result.message;
    EXPECT_EQ(device.result.index, host.result.index) << device.result.message;
    EXPECT_EQ(device.fetched, host.fetched);
    if (host.result.rung[0] != '\0') {
      EXPECT_EQ(std::string(device.result.rung).substr(0, 5), "cuda.");
    }
  }
};

Numbers content() { return {3, 1, 4, 1, 5, 9, 2, 6}; }
Numbers offsets_of_three() { return {0, 3, 3, 8}; }
Numbers falling_offsets() { return {0, 3, 2, 8}; }
Bytes kept_of_eight() { return {1, 0, 1, 1, 0, 0, 1, 0}; }

TEST_F(CListsOnDevice, AreReducedAndScanned) {
  for (const char* const op : {"add", "max", "count", "argmin"}) {
    expect_same("ok", [&](Memory& memory) {
      const upsweep_lists lists = memory.offsets(offsets_of_three());
      const upsweep_mask valid = memory.mask(kept_of_eight());
      const upsweep_array out = memory.array({7, 7, 7});
      const int status = upsweep_segmented_reduce(&memory.place, op, nullptr, &lists, memory.array(content()), &valid,
                                                  out, &memory.result);
      memory.fetch(out);
      return status;
    });
  }
  expect_same("ok", [&](Memory& memory) {
    const std::int64_t init = 10;
    const upsweep_lists lists = memory.offsets(offsets_of_three());
    const upsweep_array out = memory.array(content());
    const int status =
        upsweep_segmented_scan(&memory.place, "add", 1, &init, &lists, out, nullptr, out, &memory.result);
    memory.fetch(out);
    return status;
  });
  expect_same("stop_before_start", [&](Memory& memory) {
    const upsweep_lists lists = memory.offsets(falling_offsets());
    return upsweep_segmented_reduce(&memory.place, "add", nullptr, &lists, memory.array(content()), nullptr,
                                    memory.array({7, 7, 7}), &memory.result);
  });
  expect_same("overflow", [&](Memory& memory) {
    memory.place.checked = 1;
    const upsweep_lists lists = memory.offsets({0, 1, 3});
    return upsweep_segmented_reduce(&memory.place, "add", nullptr, &lists,
                                    memory.array({1, std::int64_t{1} << 62, std::int64_t{1} << 62}), nullptr,
                                    memory.array({7, 7}), &memory.result);
  });
}

TEST_F(CListsOnDevice, ChecksOfScansAreRefusedThere) {
  Memory memory(0);
  memory.place.checked = 1;
  const upsweep_lists lists = memory.offsets(offsets_of_three());
  const upsweep_array out = memory.array(content());
  EXPECT_EQ(upsweep_segmented_scan(&memory.place, "add", 0, nullptr, &lists, out, nullptr, out, &memory.result), 2);
  EXPECT_STREQ(memory.result.code, "unsupported");
}

TEST_F(CListsOnDevice, AreSorted) {
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists lists = memory.offsets(offsets_of_three());
    const upsweep_array out = memory.array(content());
    const upsweep_array positions = memory.array(content());
    const int sorted = upsweep_segmented_sort(&memory.place, &lists, memory.array(content()), 1, 0, out, nullptr);
    memory.fetch(out);
    const int status =
        upsweep_segmented_argsort(&memory.place, &lists, memory.array(content()), 0, 0, positions, &memory.result);
    memory.fetch(positions);
    return sorted + status;
  });
  expect_same("stop_before_start", [&](Memory& memory) {
    const upsweep_lists lists = memory.offsets(falling_offsets());
    return upsweep_segmented_sort(&memory.place, &lists, memory.array(content()), 1, 0, memory.array(content()),
                                  &memory.result);
  });
}

TEST_F(CListsOnDevice, AreSelectedAndPartitioned) {
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists lists = memory.offsets(offsets_of_three());
    const upsweep_mask mask = memory.mask(kept_of_eight());
    const upsweep_array offsets = memory.array({7, 7, 7, 7});
    const upsweep_column columns[] = {memory.column(content(), 4), memory.column(content(), 5)};
    std::int64_t kept = 0;
    const int status = upsweep_select(&memory.place, &lists, &mask, &offsets, columns, 2, &kept, &memory.result);
    memory.fetch(offsets);
    memory.fetch(columns[0].out, kept);
    memory.fetch(columns[1].out, kept);
    return status;
  });
  expect_same("ok", [&](Memory& memory) {
    const upsweep_mask mask = memory.mask(kept_of_eight());
    const upsweep_column column = memory.column(content(), 8);
    std::int64_t kept = 0;
    const int counted = upsweep_select(&memory.place, nullptr, &mask, nullptr, nullptr, 0, &kept, nullptr);
    memory.fetched.push_back(kept);
    const int status = upsweep_partition(&memory.place, &mask, &column, 1, &kept, &memory.result);
    memory.fetched.push_back(kept);
    memory.fetch(column.out, 8);
    return counted + status;
  });
  expect_same("unequal_lengths", [&](Memory& memory) {
    const upsweep_mask mask = memory.mask(kept_of_eight());
    const upsweep_column column = memory.column(content(), 3);
    return upsweep_select(&memory.place, nullptr, &mask, nullptr, &column, 1, nullptr, &memory.result);
  });
}

TEST_F(CListsOnDevice, AreTaken) {
  expect_same("ok", [&](Memory& memory) {
    const upsweep_column column = memory.column(content(), 3);
    const int status = upsweep_take(&memory.place, memory.array({-1, 0, 7}), &column, 1, &memory.result);
    memory.fetch(column.out, 3);
    return status;
  });
  expect_same("index_out_of_range", [&](Memory& memory) {
    const upsweep_column column = memory.column(content(), 3);
    return upsweep_take(&memory.place, memory.array({-1, 8, 9}), &column, 1, &memory.result);
  });
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists lists = memory.offsets(offsets_of_three());
    const upsweep_lists index_lists = memory.offsets({0, 2, 2, 3});
    const upsweep_array offsets = memory.array({7, 7, 7, 7});
    const upsweep_column column = memory.column(content(), 3);
    std::int64_t taken = 0;
    const int status = upsweep_take_lists(&memory.place, &lists, 8, &index_lists, memory.array({-1, 0, 4}), offsets,
                                          &column, 1, &taken, &memory.result);
    memory.fetch(offsets);
    memory.fetch(column.out, taken);
    return status;
  });
}

TEST_F(CListsOnDevice, ArePacked) {
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists lists = memory.bounds({4, 0, 3}, {8, 2, 3});
    const upsweep_array offsets = memory.array({7, 7, 7, 7});
    const upsweep_column column = memory.column(content(), 6);
    std::int64_t total = 0;
    const int status = upsweep_pack_offsets(&memory.place, &lists, 8, offsets, &total, nullptr);
    const int moved = upsweep_pack_content(&memory.place, &lists, offsets, &column, 1, &memory.result);
    memory.fetch(offsets);
    memory.fetch(column.out, total);
    return status + moved;
  });
  expect_same("stop_past_end", [&](Memory& memory) {
    const upsweep_lists lists = memory.bounds({4, 0, 3}, {8, 2, 9});
    return upsweep_pack_offsets(&memory.place, &lists, 8, memory.array({7, 7, 7, 7}), nullptr, &memory.result);
  });
}

TEST_F(CListsOnDevice, AreConverted) {
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists lists = memory.offsets(offsets_of_three());
    const upsweep_array offsets = memory.array({7, 7, 7, 7});
    const upsweep_array parents = memory.array(content());
    const upsweep_array index = memory.array(content());
    const upsweep_column values = {memory.array({10, 20, 30}).data, 3, memory.array(content()).data, 8, 8};
    std::int64_t total = 0;
    int status = upsweep_lengths_to_offsets(&memory.place, memory.array({3, 0, 5}), nullptr, offsets, &total, nullptr);
    memory.fetched.push_back(total);
    memory.fetch(offsets);
    status += upsweep_offsets_to_parents(&memory.place, &lists, parents, &total, nullptr);
    memory.fetch(parents);
    status += upsweep_parents_to_offsets(&memory.place, parents, offsets, nullptr);
    memory.fetch(offsets);
    status += upsweep_local_index(&memory.place, &lists, index, &total, nullptr);
    memory.fetch(index);
    status += upsweep_broadcast(&memory.place, &lists, values, &total, &memory.result);
    memory.fetch(values.out, total);
    return status;
  });
  expect_same("stop_before_start", [&](Memory& memory) {
    return upsweep_lengths_to_offsets(&memory.place, memory.array({3, 0, -5}), nullptr, memory.array({7, 7, 7, 7}),
                                      nullptr, &memory.result);
  });
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists outer = memory.offsets({0, 2, 3});
    const upsweep_lists inner = memory.offsets(offsets_of_three());
    const upsweep_array offsets = memory.array({7, 7, 7});
    const int status = upsweep_flatten(&memory.place, &outer, &inner, offsets, &memory.result);
    memory.fetch(offsets);
    return status;
  });
}

TEST_F(CListsOnDevice, AreCombined) {
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists lists = memory.offsets(offsets_of_three());
    const upsweep_array offsets = memory.array({7, 7, 7, 7});
    const upsweep_array out[] = {memory.array(Numbers(13)), memory.array(Numbers(13))};
    const int status = upsweep_combinations(&memory.place, &lists, 8, 2, 0, &offsets, out, nullptr, &memory.result);
    memory.fetch(offsets);
    memory.fetch(out[0]);
    memory.fetch(out[1]);
    return status;
  });
  expect_same("ok", [&](Memory& memory) {
    const upsweep_lists inputs[] = {memory.offsets(offsets_of_three()), memory.offsets({0, 1, 2, 4})};
    const std::int64_t contents[] = {8, 4};
    const upsweep_array offsets = memory.array({7, 7, 7, 7});
    const upsweep_array out[] = {memory.array(Numbers(13)), memory.array(Numbers(13))};
    const int status = upsweep_cartesian(&memory.place, inputs, contents, 2, &offsets, out, nullptr, &memory.result);
    memory.fetch(offsets);
    memory.fetch(out[0]);
    memory.fetch(out[1]);
    return status;
  });
}

TEST_F(CListsOnDevice, AreRunsOfKeys) {
  expect_same("ok", [&](Memory& memory) {
    const upsweep_array keys = memory.bytes({2, 2, 5, 5, 5, 7, 2});
    const upsweep_array offsets = memory.array({7, 7, 7, 7, 7});
    std::int64_t runs = 0;
    const int counted = upsweep_key_offsets(&memory.place, keys, nullptr, &runs, nullptr);
    memory.fetched.push_back(runs);
    const int status = upsweep_key_offsets(&memory.place, keys, &offsets, &runs, &memory.result);
    memory.fetched.push_back(runs);
    memory.fetch(offsets);
    return counted + status;
  });
}

TEST_F(CListsOnDevice, HostMemoryIsRefusedThere) {
  Memory host(UPSWEEP_HOST);
  const upsweep_lists lists = host.offsets(offsets_of_three());
  host.place.device = 0;
  EXPECT_EQ(upsweep_segmented_reduce(&host.place, "add", nullptr, &lists, host.array(content()), nullptr,
                                     host.array({7, 7, 7}), &host.result),
            2);
  EXPECT_STREQ(host.result.code, "invalid_argument");
}

}  // namespace
}  // namespace upsweep
